"""The row on which a program stopped printing, as bytes that draw it again: a prompt of a shell without marks.

Invariant: nothing but text, colours and movements within a row comes back; anything else gives nothing.
"""

from __future__ import annotations

import re

LAST_LINE_BYTES = 1024  # a prompt and a line half typed; of a longer one the beginning is not known
_STRINGS = re.compile(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x07|\x1b\[\?2004[hl]")
_ROW = re.compile(rb"(?:[\x08\r\x20-\x7e\x80-\xff]|\x1b\[[0-9;:]{0,40}[CDKm])*")


def line_to_draw(tail: bytes) -> bytes:
    """The bytes after the last line end in `tail`, without titles, marks and bells; empty if they are not so simple."""
    _, end, row = tail.rpartition(b"\n")
    row = _STRINGS.sub(b"", row)
    return row if (end or len(tail) < LAST_LINE_BYTES) and _ROW.fullmatch(row) else b""
