"""What a line editor's echo leaves on the screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.stream.echo import ECHO_LIMIT, typed_line

END = b"\r\n\x1b[?2004l\r"


@pytest.mark.parametrize(
    ("echo", "line"),
    [
        (b"echo hi" + END, "echo hi"),
        (b" secret" + END, " secret"),
        (b"" + END, ""),
        (b"wrd\x08\x08\x1b[1@o\x1b[C\x1b[C more" + END, "word more"),
        (b"abc\x08\x08\x1b[1P\x1b[C!" + END, "ac!"),
        (b"abc\x1b[2D\x1b[Kx" + END, "ax"),
        (b"\x1b[1mbold\x1b[m\x1b]7781;neocode;K;nc=1;line=other\x07!" + END, "bold!"),
        ("语\x08\x08言 é".encode() + END, "言 é"),
        (b"x" * 200 + END, "x" * 200),
        # what cannot be told apart from here: another row, the first column, a second line, more than was drawn
        (b"abc\x1b[A" + END, None),
        (b"abc\r$ abd" + END, None),
        (b"one\r\n> two" + END, None),
        (b"ab\x1b[5C" + END, None),
        (b"\x08\x08" + END, None),
        (b"a\x00b" + END, None),
        (b"a" * (ECHO_LIMIT + 1), None),
    ],
)
def test_the_line_is_read_off_or_not_told(echo: bytes, line: str | None) -> None:
    assert typed_line(echo) == line


@given(st.binary(max_size=60))
def test_any_bytes_are_survived(echo: bytes) -> None:
    typed_line(echo)


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40),
    st.integers(0, 40),
    st.text("ab", max_size=5),
)
def test_inserting_in_the_middle_is_followed(text: str, back: int, new: str) -> None:
    """As readline draws it: back by backspaces, room by ICH, the text, and forward again."""
    back = min(back, len(text))
    echo = text + "\x08" * back + (f"\x1b[{len(new)}@{new}" if new else "")
    at = len(text) - back
    assert typed_line(echo.encode() + END) == text[:at] + new + text[at:]
