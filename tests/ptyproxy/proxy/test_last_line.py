"""The row of a prompt that no mark tells of."""

from __future__ import annotations

import pytest

from ptyproxy.last_line import LAST_LINE_BYTES, line_to_draw


@pytest.mark.parametrize(
    ("tail", "row"),
    [
        (b"out\r\n$ ", b"$ "),
        (b"$ ", b"$ "),
        (b"out\r\n\x1b]0;title\x07\x1b[1;32m$\x1b[m \x07\x1b[?2004hls -l\x08\x08", b"\x1b[1;32m$\x1b[m ls -l\x08\x08"),
        ("\r\n→ ".encode(), "→ ".encode()),
        (b"out\r\n", b""),
        (b"", b""),
    ],
)
def test_a_simple_row_is_drawn_as_it_was(tail: bytes, row: bytes) -> None:
    assert line_to_draw(tail) == row


@pytest.mark.parametrize(
    "row",
    [b"a\x1b[2J", b"a\x1b[3A", b"\x1bc", b"\x1b]52;unfinished", b"\x1b[6n", b"\x1bPq", b"a\x0e"],
)
def test_any_other_row_is_not_drawn(row: bytes) -> None:
    assert line_to_draw(b"\n" + row) == b""


def test_a_row_whose_beginning_is_not_known_is_not_drawn() -> None:
    assert line_to_draw(b"x" * LAST_LINE_BYTES) == b""
