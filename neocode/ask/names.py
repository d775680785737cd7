"""The names in a text that a later question may refer to: hosts, ports, packages, paths, error codes, variables.

Invariant: linear in the text (no nested repetition in a pattern), and the same text gives the same names, in one order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from neocode.ask.turn import Turn

NAMES_PER_TURN = 32
NAME_CHARS = 160  # longer "names" are data

_TOKEN = re.compile(
    r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s'"`<>|()，。；（）“”‘’]+"""  # a URL or a connection string
    r"""|(?:[A-Za-z]:\\|\\\\|~?/|\.{1,2}/)[^\s'"`<>|,;()，。；（）“”‘’]+"""  # a path, in any script
    r"""|\[[0-9A-Fa-f:]{2,45}\](?::[0-9]{1,5})?"""  # IPv6 in brackets
    r"""|[A-Za-z0-9_@%+=:.~/\\-]+"""
)
# `No module named x`, `package "x"`, `install x`, `port 5432`: the word after these is a name by its place.
_INTRODUCERS = re.compile(
    "packages?|modules?|named|crate|image|container|service|unit|hosts?|ports?|branch|database|command|program|install"
    "|add|import|require|from|user|pod|table"
)
_INTRODUCED_CJK = re.compile(
    r"(端口|软件包|模块|主机|镜像|服务|容器)[\s:：'\"`‘“]{0,4}([A-Za-z0-9@][A-Za-z0-9_@./+-]*)"
)
_QUOTED_PATH = re.compile(r"""(?:'([^'\n]{3,160})'|"([^"\n]{3,160})")""")
_ADDRESS = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{1,5})?")
_JOINED = re.compile(r"[A-Za-z0-9][._@:=+-]+[A-Za-z0-9]")
_LETTER_DIGIT = re.compile(r"[A-Za-z]{2}[A-Za-z-]*[0-9]")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]{3,}")
_STAMP_OR_HASH = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9A-Fa-f-]{16,}|(?i:sha[0-9]+):.*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]+")
_TROUBLE = (
    "error",
    "fail",
    "fatal",
    "denied",
    "refused",
    "not found",
    "cannot",
    "unable",
    "exception",
    "panic",
    "err!",
)
_TROUBLE_CJK = ("错误", "失败", "无法", "拒绝", "找不到")
_EDGE = ".,:;=-"
_COMMON = re.compile("an?|th(?:e|is|at|ese|ose)|your?|it|is|are|was|in|on|at|of|to|and|or|not?|with|be|for")


def names_of(turn: Turn, scan_chars: int) -> list[str]:
    """Up to NAMES_PER_TURN names of `turn`, the likeliest to be asked about first; reads `scan_chars` of each text."""
    context = turn.context
    found: dict[str, None] = {}
    for text in (turn.question, context.command, context.cwd):
        _collect(found, text[:scan_chars], plain_words=text is context.command or bool(_CJK.search(text[:scan_chars])))
    log = context.log if len(context.log) <= scan_chars else context.log[-scan_chars:]
    trouble, rest = split_trouble(log)
    for text in (trouble, turn.answer[:scan_chars], rest):
        _collect(found, text)
    return list(found)[:NAMES_PER_TURN]


def split_trouble(log: str) -> tuple[str, str]:
    """The lines of `log` that speak of a failure, and the others, each in order."""
    words = _TROUBLE if log.isascii() else _TROUBLE + _TROUBLE_CJK
    halves: tuple[list[str], list[str]] = ([], [])
    for line in log.splitlines():
        halves[not any(map(line.lower().__contains__, words))].append(line)
    return "\n".join(halves[0]), "\n".join(halves[1])


def _collect(found: dict[str, None], text: str, *, plain_words: bool = False) -> None:
    if len(found) >= NAMES_PER_TURN or not text:
        return
    for name in _names(text, plain_words):
        if name not in found:
            found[name] = None
            if len(found) >= NAMES_PER_TURN:
                return


def _names(text: str, plain_words: bool) -> Iterator[str]:
    """Every name of `text`: the introduced ones, then those that look like one, then (for a command) its words."""
    tokens = _TOKEN.findall(text)
    yield from _introduced(tokens)
    if not text.isascii():
        yield from (match.group(0) for match in _INTRODUCED_CJK.finditer(text))
    for match in _QUOTED_PATH.finditer(text):
        quoted = match.group(1) or match.group(2)
        if " " in quoted and ("/" in quoted or "\\" in quoted):
            yield quoted
    for token in dict.fromkeys(tokens):
        stripped = token.strip(_EDGE) if token[0] not in "./" else token.rstrip(_EDGE)
        if 3 <= len(stripped) <= NAME_CHARS and _looks_like_name(stripped):
            yield stripped
    if plain_words:
        yield from (word for word in _WORD.findall(text) if len(word) <= NAME_CHARS)


def _introduced(tokens: list[str]) -> Iterator[str]:
    for before, token in itertools.pairwise(tokens):
        introducer = before.rstrip(_EDGE).lower()
        if not _INTRODUCERS.fullmatch(introducer):
            continue
        word = token.strip(_EDGE)
        if word.isdigit():
            yield f"{introducer} {word}"
        elif 1 < len(word) <= NAME_CHARS and word[0].isalnum() and not _COMMON.fullmatch(word.lower()):
            yield word


def _looks_like_name(token: str) -> bool:
    if _STAMP_OR_HASH.fullmatch(token):
        return False
    if _ADDRESS.fullmatch(token):
        return True
    if token.isalpha():
        return _CONSTANT.fullmatch(token) is not None
    if "/" in token or "\\" in token or token[0] == "[":
        return any(char.isalnum() for char in token)
    has_letter = any(char.isalpha() for char in token)
    return has_letter and bool(_JOINED.search(token) or _LETTER_DIGIT.match(token) or _CONSTANT.fullmatch(token))
