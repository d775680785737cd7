"""What a Windows console says was typed -> the bytes that a terminal would have sent. Sans-IO.

Invariants: the same bytes however the records are cut over two reads; every character once, in order; what is no
character (a released key, a modifier, focus, the mouse of a console without VT input) gives nothing.
Source: KEY_EVENT_RECORD and "Console Virtual Terminal Sequences", learn.microsoft.com/windows/console.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

VK_MENU = 0x12  # Alt; its release carries the character of Alt and a number
NULL_KEYS = (0x20, 0x32)  # Ctrl with Space or 2: the one character that looks like none
CTRL_PRESSED = 0x0004 | 0x0008
ALT_PRESSED = 0x0001 | 0x0002
_HIGH, _LOW, _SURROGATES_END = 0xD800, 0xDC00, 0xE000


class KeyRecord(NamedTuple):
    """A KEY_EVENT_RECORD. `unit`: one UTF-16 code unit, 0 for none; `control`: dwControlKeyState."""

    down: bool
    repeat: int
    virtual_key: int
    unit: int
    control: int


class KeyDecoder:
    """Joins surrogate halves, which come as records of their own."""

    def __init__(self) -> None:
        self._high = 0

    def feed(self, records: Iterable[KeyRecord]) -> bytes:
        """UTF-8; a half surrogate that stays alone is U+FFFD, one at the end waits for its other half."""
        out: list[str] = []
        for record in records:
            if _is_character(record):
                self._take(record.unit, max(1, record.repeat), out)
        return "".join(out).encode("utf-8")

    def _take(self, unit: int, repeat: int, out: list[str]) -> None:
        if self._high:
            high, self._high = self._high, 0
            if _LOW <= unit < _SURROGATES_END:
                out.append(chr(0x10000 + ((high - _HIGH) << 10) + (unit - _LOW)))
                return
            out.append("\ufffd")
        if _HIGH <= unit < _LOW:
            self._high = unit
        elif _LOW <= unit < _SURROGATES_END:
            out.append("\ufffd")
        else:
            out.append(chr(unit) * repeat)


def _is_character(record: KeyRecord) -> bool:
    if record.unit:
        return record.down or record.virtual_key == VK_MENU
    ctrl = record.control & CTRL_PRESSED and not record.control & ALT_PRESSED
    return record.down and bool(ctrl) and record.virtual_key in NULL_KEYS
