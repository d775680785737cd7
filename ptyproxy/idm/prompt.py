"""How much room the shell's prompt takes, from the bytes that drew it.

Invariant: only rows that the prompt alone fills are ever called free to be cleared; when in doubt they are not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptyproxy.wrap import cell_width
from ringbuffer.ring import RingBuffer

BEFORE_BYTES = 512  # of output ahead of a prompt, to know whether it began at the first column
BELOW = b"\r\n"

MAX_PROMPT_BYTES = 8 * 1024
_STRING = rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
# what neither moves the cursor nor draws: marks and titles, colours, erasing to the right, modes, charsets, keypad
_SILENT = re.compile(
    _STRING + rb"|\x1b\[[0-9;:]*m|\x1b\[[0-9]?[JK]|\x1b\[[?>=<][0-9;]*[hlmu]|\x1b[()][0-9A-B]|\x1b[=>]|\x0f|\x01|\x02"
)
_TEXT = re.compile(rb"[^\x00-\x1f\x7f]+")
_PLACED_TEXT = re.compile(rb"(?:\x1b\[[0-9]+;[0-9]+H)?[^\x00-\x1f\x7f]+")


class Room(NamedTuple):
    """`rows`: between the prompt's first row and the cursor's. `clear`: these rows hold nothing but the prompt."""

    rows: int
    clear: bool


def prompt_room(before: bytes, prompt: bytes, after: bytes, cols: int) -> Room:
    """`before`: the end of what was printed ahead of the prompt's begin mark. `after`: what came behind its end mark
    (a right prompt, modes). `cols`: the terminal's width."""
    starts = _SILENT.sub(b"", before)
    at_start = not starts or starts.endswith((b"\n", b"\r"))
    plain = _SILENT.sub(b"", prompt)
    if b"\x1b" in plain or len(prompt) > MAX_PROMPT_BYTES or b"\n" in after:
        return Room(plain.count(b"\n"), False)
    lines = plain.split(b"\n")
    rows = len(lines) - 1 + sum(_extra_rows(line, cols) for line in lines)
    return Room(rows, at_start)


def _extra_rows(line: bytes, cols: int) -> int:
    """Rows that a line needs beyond its first; a carriage return goes back to the start of the line's last row."""
    width = max(cell_width(part.decode("utf-8", "replace")) for part in line.split(b"\r"))
    return (width - 1) // cols if width > 0 else 0


def shows_anything(data: bytes) -> bool:
    """Whether any of it is seen on the screen."""
    return bool(_SILENT.sub(b"", data))


def shows_typed_text(after: bytes, *, by_place: bool = False) -> bool:
    """Whether text stands right behind the prompt: the shell has read keys that were typed ahead. A right prompt does
    not count, because the cursor is moved to its place first; but `by_place`, so is the text (see `stream.echo`)."""
    return bool((_PLACED_TEXT if by_place else _TEXT).match(_SILENT.sub(b"", after)))


def behind_prompt(ring: RingBuffer, span: tuple[int, int]) -> bytes:
    """What was printed behind the prompt at `span` of the stream."""
    return ring.snapshot(span[1]).data


def take_off(ring: RingBuffer, span: tuple[int, int], cols: int) -> tuple[bytes, int]:
    """What takes the shell's prompt off the screen when that can be done exactly, else goes below it; and its rows."""
    begin, end = span
    before = ring.snapshot(max(0, begin - BEFORE_BYTES), begin).data
    room = prompt_room(before, ring.snapshot(begin, end).data, behind_prompt(ring, span), cols)
    up = b"\x1b[%dA" % room.rows if room.rows else b""
    return (up + b"\r\x1b[J" if room.clear else BELOW), room.rows
