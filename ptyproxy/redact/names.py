"""Secrets that show by the name before them: `name=value`, `name: value`, `"name":"value"`, `--name value`.
Invariant: code, prose, types, versions, paths and positions after such a name stay; the value decides with the name.

Patterns run over a lower-case copy (no IGNORECASE: three times as fast) and start at a literal keyword, so they are
linear; name, quotes and value are then read from the text around the match.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ptyproxy.redact.finder import FILLER, Span, compiled
from ptyproxy.redact.places import ascii_lower, is_placeholder
from ptyproxy.redact.words import name_kind

KEYWORDS = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "jwt", "session", "cookie", "sid")
_STEM = r"(?:pass|pwd|secret|token|key|auth|cred|jwt|session|cookie|sid)[\w.-]{0,48}"
_ASSIGNED = _STEM + r"(?P<close>\\{0,4}[\"'`]?\]?)(?P<sep>[ \t]*(?:=>|:=|=(?![=~>])|:(?![:/]))[ \t]*)"
_FLAG = r"(?<![\w-])--?[\w-]{0,30}?" + _STEM + r"(?P<close>)(?P<sep>[ =])[ ]*(?=[^\s-])"
_ELEMENT = r"<" + r"(?:[\w.:-]{0,40}?)" + _STEM + r"(?P<close>)(?P<sep>>)(?=[^<\s])"
# a pair of name and value in two fields: Kubernetes `name`/`value`, .NET `<add key= value=/>`, JSON of both
_PAIR = (
    r"[\"']?\b(?:name|key)[\"']?\s?[:=]\s?[\"']?(?P<name>[\w.-]{0,48}(?:pass|pwd|secret|token|key|cred)[\w.-]{0,48})"
    r"[\"']?"
    r"(?:,\s*|\s*\n\s*|\s+)[\"']?value[\"']?(?P<close>)(?P<sep>\s?[:=]\s?)"
)
_NAME_BEFORE = 64
SHORTEST_KEY = 4
# Characters of a value that decide; a longer one is masked whole all the same.
_JUDGED = 512
_VALUE = r"[^\s\"'`,;&<>|)}\]]+"
_WHOLE_VALUE = r"[^\s]+"
_CONNECTION_VALUE = r"[^\n;\"']+"  # Server=..;Password=..;
_QUOTE = r"[brfu@$]?(?P<quote>\\{0,4}[\"'`])"
_LINE_STARTS = (
    r"(?:[-+>*#$%\d|. \t]|export |set |setx |env |arg |declare -x |-e |\$env:|\w+@[\w.-]+:\S*[$#] )*[\"'\[{(]{0,2}"
)
_POSITION = r"[\^~<>=]{0,2}v?\d+(?:[.:]\d+)+(?:[-+:,)].*)?|0x[0-9a-f]+"
_CODE = (
    r"(?:await |new )?[a-zA-Z_]\w*(?:(?:\.|->|::)[a-zA-Z_]\w*)*[(\[].*"
    r"|(?:self|this|cls|args|config|cfg|settings|options|opts|params|process|os|env|ctx|req|request|secrets|vars|data)"
    r"(?:\.|->)[a-zA-Z_][\w.]*"
)
_PATH = r"(?:[a-zA-Z]:[\\/]|~?/|\.{1,2}/)(?:[\w.@ -]+[\\/])*[\w.@-]*"
_PROSE_WORDS = """a an and any are as at bad be boolean bool bytes by can cannot changed class contains could
default denied detected does empty error expected expired failed field file for found function has have header
if in incorrect int integer invalid is it length less list long mandatory manipulation may missing mismatch more
must no not null number object of on one only optional or provided read rejected required revoked set should
short string str succeeded success than that the this to too type unable unexpected unknown unset updated using
value via was were when which will with without write wrong you your"""
_FAULT_WORDS = """cannot could denied expired failed incorrect invalid missing must not rejected required
unexpected wrong"""
_PROSE = frozenset(_PROSE_WORDS.split())
_FAULTS = frozenset(_FAULT_WORDS.split())
_PARSER_WORDS = ("unexpected", "invalid", "unknown", "unrecognized", "illegal", "expected", "missing", "near", "bad")


class _Value(NamedTuple):
    """A value as found: its span, whether it was quoted, and how sure the place is that it is one."""

    start: int
    end: int
    quoted: bool
    tight: bool
    fills_line: bool


def find(text: str) -> Iterator[Span]:
    """Spans of values whose name says that they are secret."""
    low = ascii_lower(text)
    if not any(word in low for word in KEYWORDS):
        return
    patterns = [_ASSIGNED]
    if "-" in low:
        patterns.append(_FLAG)
    if "</" in low:
        patterns.append(_ELEMENT)
    for pattern in patterns:
        done = 0
        for match in compiled(pattern).finditer(low):
            if match.start() >= done:
                name = _name(text, match.start(), match.start("close"))
                for span in _judge(text, low, name, match, flag=pattern is _FLAG):
                    done = span[1]
                    yield span
    if "value" in low:
        for match in compiled(_PAIR).finditer(low):
            yield from _judge(text, low, text[match.start("name") : match.end("name")], match, flag=True)


def _name(text: str, start: int, end: int) -> str:
    """The whole name of which a keyword was found in [start, end)."""
    before = compiled(r"[\w.-]*\Z").search(text[max(0, start - _NAME_BEFORE) : start])
    return (before.group() if before else "") + text[start:end]


def _judge(text: str, low: str, name: str, match: re.Match[str], flag: bool) -> Iterator[Span]:
    kind = name_kind(name)
    if not kind:
        return
    value = _value(text, low, name, match, flag)
    if value is None:
        return
    word = text[value.start : min(value.end, value.start + _JUDGED)]
    if (
        is_placeholder(word)
        or word.lower() == name.rsplit(".", 1)[-1].strip("-").lower()
        or not _is_secret(word, kind, value)
    ):
        return
    before = low[max(0, match.start() - 24) : match.start()].split()
    if before and before[-1].strip("\"'(") in _PARSER_WORDS and not _looks_random(word):
        return
    yield value.start, value.end, kind


def _value(text: str, low: str, name: str, match: re.Match[str], flag: bool) -> _Value | None:
    at = match.end()
    sep = match.group("sep")
    line_start = text.rfind("\n", 0, match.start()) + 1
    name_start = match.start("sep") - len(match.group("close")) - len(name)
    prefix = low[max(line_start, name_start - 200) : max(line_start, name_start)]
    leads = bool(compiled(_LINE_STARTS).fullmatch(prefix[-120:]))
    header = "-" in name and not match.group("close") and bool(compiled(r".*[\"'><] ?").fullmatch(prefix[-80:]))
    tight = flag or sep == "=" or header
    quote = compiled(_QUOTE).match(text, at)
    if quote:
        return _quoted(text, quote)
    pattern = _VALUE
    if sep == "=" and not match.group("close"):
        if leads and (name.isupper() or not prefix):
            pattern = _WHOLE_VALUE
        elif prefix.rstrip().endswith(";"):
            pattern = _CONNECTION_VALUE
    found = compiled(pattern).match(text, at)
    if not found:
        return None
    alone = compiled(r"[ \t\r,;]*(?:\n|\Z)").match(text, found.end())
    return _Value(found.start(), found.end(), False, tight, leads and bool(alone))


def _quoted(text: str, quote: re.Match[str]) -> _Value | None:
    """The inside of a quoted value; one that does not close goes to the end of its line."""
    mark = quote.group("quote")
    body = rf"(?:[^\\{mark}\n]|\\[^\n])*" if len(mark) == 1 else rf"(?:(?!{re.escape(mark)})[^\n])*"
    match = compiled(body).match(text, quote.end())
    if not match or not match.group():
        return None
    return _Value(match.start(), match.end(), True, True, False)


def _is_secret(word: str, kind: str, value: _Value) -> bool:
    words = re.split(r"[^a-z']+", word.lower())
    if not value.quoted and words[0] in _PROSE and len(word) == len(words[0]):
        return False
    if value.quoted and " " in word and (words[0] in _FAULTS or len(_PROSE.intersection(words)) > 1):
        return False
    if word.isdigit():
        return len(word) >= (4 if kind == "password" else 8) and (value.tight or value.fills_line)
    if compiled(_POSITION).fullmatch(word) or (kind != "password" and compiled(_PATH).fullmatch(word)):
        return _looks_random(word) and "." not in word
    if not value.quoted and compiled(_CODE).fullmatch(word):
        return False
    if kind == "key":
        return _looks_random(word)
    if kind == "api-key" and len(word) < SHORTEST_KEY:  # the accesskey="n" of HTML
        return False
    if value.tight:
        return any(c.isalnum() or c == FILLER for c in word)
    return _looks_strong(word) or (kind == "password" and value.fills_line)


def _looks_strong(word: str) -> bool:
    """Digits and letters mixed, odd characters, or odd capitals: no word of a language or of an interface."""
    if len(word) < 6:
        return False
    if compiled(r".*[0-9].*").match(word) and compiled(r".*[A-Za-z].*").match(word):
        return True
    if not word.isascii():
        return False
    return bool(compiled(r".*[^\w.\-:/()\[\]{}].*|.*[a-z][A-Z][a-z]*[A-Z].*").match(word))


def _looks_random(word: str) -> bool:
    """Long, and letters of both cases or hex with digits throughout."""
    if len(word) < 16:
        return False
    digits = sum(c.isdigit() for c in word)
    mixed = any(c.isupper() for c in word) and any(c.islower() for c in word)
    return digits >= 2 and (mixed or bool(compiled(r"[0-9a-f-]{24,}").fullmatch(word.lower())))
