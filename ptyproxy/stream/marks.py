"""Reads shell marks: where a prompt, a command line, a command's output begin and end, and the working directory.

Rules: a mark is one token of the scanner, so no cut of the stream and nothing before it changes it; a mark that is not
well formed is no mark; nothing here decides whom to believe (`nonce` is handed on, not checked).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ptyproxy.stream import foreign, osc
from ptyproxy.stream.scan import Scanner, Token

Kind = Literal["A", "B", "C", "D", "K", "command", "cwd"]
_OURS: dict[str, Kind] = {"A": "A", "B": "B", "C": "C", "D": "D", "K": "K"}


class Mark(NamedTuple):
    """One mark at absolute offsets `start` to `end` (past its last byte).

    `kind`: A prompt begins, B prompt ends and input begins, C output begins, D command ended, K the hotkey was
    pressed, `command` the command line of the next C, `cwd` the directory. `ours` tells our own marks from foreign
    ones. Keys of `fields`: `nc` nonce, `cmd`, `cwd`, `host`, `exit`, `aid`, `part`, `cut`; ours are still encoded.
    """

    kind: Kind
    ours: bool
    fields: dict[str, str]
    start: int
    end: int

    @property
    def nonce(self) -> str | None:
        """The nonce of one of our marks, as it was sent."""
        return self.fields.get("nc") if self.ours else None

    @property
    def exit_code(self) -> int | None:
        """The exit status that D says, or None: 0 to 255, on Windows up to 32 bits, signed or not."""
        text = self.fields.get("exit", "")
        digits = text[1:] if text.startswith("-") else text
        return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else None

    def text(self, key: str) -> tuple[str, bool] | None:
        """A decoded value, and whether nothing of it was lost; None when the mark does not have it."""
        raw = self.fields.get(key)
        if raw is None:
            return None
        text, exact = osc.decode_value(raw) if self.ours else (raw, True)
        return text, exact and "cut" not in self.fields


def read_mark(token: Token) -> Mark | None:
    """The mark that an `osc` token is, or None."""
    if token.kind != "osc":
        return None
    body = token.body
    if not body.startswith(b"7781;"):
        found = foreign.read(body)
        return found and Mark(found[0], False, found[1], token.start, token.end)
    text = body.decode("latin-1")
    if not text.startswith(osc.PREFIX):
        return None
    letter, *pairs = text[len(osc.PREFIX) :].split(";")
    kind = _OURS.get(letter)
    if kind is None:
        return None
    fields: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if equals:
            fields.setdefault(key, value)
    return Mark(kind, True, fields, token.start, token.end)


class MarkParser:
    """Bytes in, marks out, for those who need nothing else of the stream."""

    def __init__(self, offset: int = 0) -> None:
        self._scanner = Scanner(offset)

    def feed(self, data: bytes) -> list[Mark]:
        """The marks that the next bytes complete."""
        return [mark for token in self._scanner.feed(data) if (mark := read_mark(token))]


class PartsJoiner:
    """Joins the numbered parts of one value. Bounded by `osc.PARTS_LIMIT`; a part that is lost makes it inexact."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._parts: list[str] = []
        self._whole = True
        self._complete = False

    def add(self, mark: Mark) -> bool:
        """Take one mark; whether the value is complete now."""
        number, total = _part_of(mark.fields.get("part"))
        if number == 1:
            self._parts, self._whole = [], True
        if number != len(self._parts) + 1 or "cut" in mark.fields:
            self._whole = False
        if len(self._parts) < osc.PARTS_LIMIT:
            self._parts.append(mark.fields.get(self._key, ""))
        self._complete = number >= total
        return self._complete

    def value(self) -> tuple[str, bool]:
        """What has come, decoded, and whether it is all."""
        text, exact = osc.decode_value("".join(self._parts))
        return text, exact and self._whole and self._complete


def is_first_part(mark: Mark) -> bool:
    """Whether a mark stands alone or is the first of its parts."""
    return _part_of(mark.fields.get("part"))[0] == 1


def _part_of(text: str | None) -> tuple[int, int]:
    """`2/3` as numbers; a mark without a part, or with a bad one, is the only one."""
    number, _, total = (text or "").partition("/")
    if number.isascii() and number.isdigit() and total.isascii() and total.isdigit() and len(number + total) <= 6:
        return max(1, int(number)), int(total)
    return 1, 1
