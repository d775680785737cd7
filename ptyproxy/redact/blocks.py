"""Secrets of many lines: private keys in PEM, OpenSSH, PGP and PuTTY form, and the data of a Kubernetes Secret.
Invariant: a key block goes as a whole, also when the text has lost its beginning or its end; certificates stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptyproxy.redact.finder import Span, compiled

_LABEL = r"(?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?"
BEGIN = rf"-{{4,5}} ?BEGIN (?P<begin>{_LABEL}) ?-{{4,5}}"
END = rf"-{{4,5}} ?END {_LABEL} ?-{{4,5}}"
# A key's line: base64 or an armour header at the line's end, whatever a log put before it (time, service, quote).
# In one line of JSON the newlines are the two characters `\n`.
_PREFIX = r"[^\n]{0,120}[\s|>:\]\"']"
BODY = (
    rf"(?:{_PREFIX})?"
    r"(?:[A-Za-z0-9+/=\\]{12,}(?:-{1,5}[A-Z ]{0,24})?|(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\n]*)[\"',\\]*"
)
BASE64 = r"(?:[A-Za-z0-9+/=]|\\r?\\n|\\r|\\\\n)"
_INLINE_REACH = 64 * 1024  # characters looked back for a key within one line; the longest keys have 13,000

_YAML_DATA = r"(?m)^([ ]*)(?:- )?(?:data|stringData):[ ]*\n((?:\1[ ]+\S[^\n]*(?:\n|\Z))+)"


def find(text: str) -> Iterator[Span]:
    """Spans of key blocks and of Secret values."""
    if "PRIVATE KEY" in text:
        yield from _pem(text)
    if "PuTTY-User-Key-File" in text:
        for match in compiled(r"Private-Lines: \d+((?:\r?\n[A-Za-z0-9+/=]+)+)").finditer(text):
            yield match.start(1), match.end(1), "private-key"
    if "Secret" in text and "ata" in text:
        yield from _kubernetes(text)


def _pem(text: str) -> Iterator[Span]:
    borders = list(compiled(f"{BEGIN}|{END}").finditer(text))
    floor = 0
    for i, border in enumerate(borders):
        if border.start() < floor:
            continue
        if border.group("begin") is None:
            yield _body_before(text, floor, border.start()), border.end(), "private-key"
            floor = border.end()
            continue
        following = borders[i + 1] if i + 1 < len(borders) else None
        closes = following is not None and following.group("begin") is None
        floor = following.end() if following and closes else _body_after(text, border.end())
        yield border.start(), floor, "private-key"


def _body_after(text: str, at: int) -> int:
    """Where the key's text stops that has no end line: at the first line that cannot belong to it."""
    at = _end_of(BASE64 + "*", text, at)
    newline = compiled(r"[^\S\n]*\n")
    body = compiled(BODY + r"[^\S\n]*(?=\n|\Z)|[^\S\n]*(?=\n\S*[A-Za-z0-9+/=]{40})")
    while True:
        gap = newline.match(text, at)
        line = body.match(text, gap.end()) if gap else None
        if not line:
            return at
        at = line.end()


def _end_of(pattern: str, text: str, at: int) -> int:
    match = compiled(pattern).match(text, at)
    return match.end() if match else at


def _body_before(text: str, floor: int, end: int) -> int:
    """Where the key's text starts that has no begin line."""
    start = text.rfind("\n", floor, end) + 1 or floor
    inline = compiled(BASE64 + r"+\Z").search(text[max(start, end - _INLINE_REACH) : end])
    if inline:
        start = end - (inline.end() - inline.start())
        if start and text[start - 1] != "\n":
            return start
    body = compiled(rf"(?:{BODY})[^\S\n]*\Z")
    last = compiled(rf"(?:{_PREFIX})?=?[A-Za-z0-9+/=]+[^\S\n]*\Z")  # as short as it comes, or a checksum
    nearest = True
    while start > floor:
        above = max(floor, text.rfind("\n", floor, start - 1) + 1)
        line = text[above : start - 1]
        if not body.match(line) and not (nearest and last.match(line)):
            break
        nearest = nearest and line.lstrip().startswith("=")
        start = above
    return start


def _kubernetes(text: str) -> Iterator[Span]:
    """Values under `data:` and `stringData:` of a Secret, in YAML and JSON, whatever their names."""
    if compiled(r"(?m)^\s*kind: Secret\s*$").search(text):
        for block in compiled(_YAML_DATA).finditer(text):
            for line in compiled(r"(?m)^[ ]*[\w.-]+:[ ]+(\S[^\n]*?)[ ]*$").finditer(text, block.start(2), block.end(2)):
                if line.group(1) not in {"|", ">", "|-", ">-", '""', "''", "null"}:
                    yield line.start(1), line.end(1), "kubernetes-secret"
    if compiled(r'"kind":\s*"Secret"').search(text):
        for block in compiled(r'"(?:data|stringData)":\s*\{([^{}]*)\}').finditer(text):
            for value in compiled(r'":\s*"([^"\n]+)"').finditer(text, block.start(1), block.end(1)):
                yield value.start(1), value.end(1), "kubernetes-secret"
