"""Finds, in what the child writes, the few control sequences that mean something to us, in order and with offsets.

Rules: a sequence begins at its own ESC whatever came before, since a terminal ends any unfinished string at an ESC; so
nothing a program leaves open can hide what follows. C1 bytes (0x9C, 0x9D) are text: they occur inside UTF-8. Strings
hold no control characters. What is not finished at the end of a read is carried, at most `MAX_BODY` bytes of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_BODY = 4096  # the longest mark we read is a foreign one with a command line; more is data (images, clipboard)

# OSC numbers that say something about the shell: ours, FinalTerm/kitty, VS Code, cwd, ConEmu/Windows Terminal, iTerm2
_NUMBERS = rb"(?:7781|133|633|7|9|1337)"
_TEXT = rb"[^\x00-\x1f\x7f]"
# inside tmux's DCS passthrough the ESC of the string terminator comes doubled
_SEQUENCE = (
    rb"\x1b(?:"
    rb"\](%(numbers)s;%(text)s{0,%(most)d})(?:\x07|\x1b{1,2}\\)"
    rb"|\[([<=>?][0-9;:]{0,64}[@-~]|[0-9]? q|!p)"
    rb"|([c=>]|[()*+](?:[ -/][0-~]|[0-AC-~]))"
    rb")"
) % {b"numbers": _NUMBERS, b"text": _TEXT, b"most": MAX_BODY}
_MATCH = re.compile(_SEQUENCE).match
_MATCH_OR_SHIFT = re.compile(_SEQUENCE + rb"|([\x0e\x0f])").match

# the beginnings of the above, to be carried; `]7` may become `]7;` or `]7781;`, an ESC behind a string its terminator
_PARTIAL = re.compile(
    rb"\x1b(?:"
    rb"\](?:7(?:7(?:81?)?)?|1(?:3(?:37?)?)?|6(?:33?)?|9)?"
    rb"|\]%(numbers)s;%(text)s{0,%(most)d}\x1b{0,2}"
    rb"|\[(?:[<=>?][0-9;:]{0,64}|[0-9]? ?|!)"
    rb"|[()*+][ -/]?"
    rb")?" % {b"numbers": _NUMBERS, b"text": _TEXT, b"most": MAX_BODY}
).fullmatch
_OPEN_STRING = re.compile(rb"\x1b\]%s;%s{0,%d}" % (_NUMBERS, _TEXT, MAX_BODY)).fullmatch

_ONLY_TEXT = re.compile(_TEXT + rb"*").fullmatch

# where a sequence may be that means something: colour and cursor movement, most of what programs write, are passed over
# in one go, without any work of ours per sequence; so is the return to ASCII (`ESC ( B`), which terminfo puts before
# every reset of colours and which is no token
_SEARCH = re.compile(rb"\x1b(?!\[\d[^ ])(?!\[[mKHJABCDG])(?!\(B)").search
_SEARCH_OR_SHIFT = re.compile(rb"\x1b(?!\[\d[^ ])(?!\[[mKHJABCDG])(?!\(B)|[\x0e\x0f]").search

ESC, SHIFT_OUT, SHIFT_IN = 0x1B, 0x0E, 0x0F


class Token(NamedTuple):
    """One sequence at absolute offsets `start` to `end`; `body` lacks introducer and terminator.

    `kind`: `osc` (number and text), `csi` (private marker, parameters, final), `esc` (the rest), `shift` (SO or SI).
    """

    kind: str
    body: bytes
    start: int
    end: int


_KINDS = ("", "osc", "csi", "esc", "shift")
_Matcher = Callable[[bytes, int], "re.Match[bytes] | None"]


class Scanner:
    """`feed` it every byte of the stream, in order; it gives the tokens that are complete."""

    def __init__(self, offset: int = 0) -> None:
        """`offset` is the absolute offset of the first byte that will be fed."""
        self._offset = offset
        self._carry = b""
        self._in_string = False  # the carry is a string that any text goes on with

    @property
    def carried(self) -> int:
        """How many bytes wait for the rest of their sequence; bounded by `MAX_BODY` and a little."""
        return len(self._carry)

    def feed(self, data: bytes) -> list[Token]:
        """Take the next bytes."""
        start = self._offset
        self._offset = start + len(data)
        carry = self._carry
        if carry:
            if self._in_string and len(carry) + len(data) <= MAX_BODY and _ONLY_TEXT(data):
                self._carry = carry + data
                return []
            data = carry + data
            start -= len(carry)
            self._carry = b""
        # the whole cost of plain text: three searches for one byte each
        if SHIFT_OUT in data or SHIFT_IN in data:
            return self._tokens(data, start, _SEARCH_OR_SHIFT, _MATCH_OR_SHIFT)
        return self._tokens(data, start, _SEARCH, _MATCH) if ESC in data else []

    def _tokens(self, data: bytes, start: int, search: _Matcher, match: _Matcher) -> list[Token]:
        """The tokens of `data`, which begins at `start`; what it ends in the middle of is carried."""
        tokens: list[Token] = []
        found = search(data, 0)
        while found is not None:
            at = found.start()
            token = match(data, at)
            if token is not None:
                index = token.lastindex or 0
                at = token.end()
                tokens.append(Token(_KINDS[index], token[index], start + found.start(), start + at))
            elif _PARTIAL(data, at):
                self._carry = rest = data[at:]
                self._in_string = _OPEN_STRING(rest) is not None
                break
            else:
                at += 1
            found = search(data, at)
        return tokens
