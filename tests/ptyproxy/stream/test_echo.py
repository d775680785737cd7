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


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_survived(echo: bytes, absolute: bool) -> None:
    typed_line(echo, absolute=absolute)


@pytest.mark.parametrize(
    ("echo", "line"),
    [
        (b"\x1b[6;5H@\x1b[6;6H\x1b[6;6Hai\x1b[6;8H\x1b[6;8H x\x1b[6;10H\r\n", "@ai x"),
        (b"\x1b[6;5Hgtix\x1b[6;9H\x1b[6;8H \x1b[6;8H\r\n", "gti"),  # Backspace
        (b"\x1b[6;5Hgi\x1b[6;7H\x1b[6;6H\x1b[6;6Hti\x1b[6;7H\r\n", "gti"),  # Left, and t in the middle
        (b"\x1b[6;5Hdir /s\x1b[6;11H\x1b[6;5Hcls   \x1b[6;8H\r\n", "cls"),  # the history
        (b"\x1b[6;5Hdir\x1b[6;8H\x1b[6;5H\x1b[J\x1b[6;5H\r\n", ""),  # Escape
        (b"\x1b[6;5H secret\x1b[6;12H\r\n", " secret"),
        (b"gti\r\n", "gti"),  # before 1.22
        # another row, a column that is in the prompt, a place before anything is known of it
        (b"\x1b[6;5Hgti\x1b[7;1H\r\n", None),
        (b"\x1b[6;5Hgti\x1b[6;4H\r\n", None),
        (b"gti\x1b[6;8H\r\n", None),
    ],
)
def test_a_line_that_a_windows_console_reads_is_drawn_by_places(echo: bytes, line: str | None) -> None:
    assert typed_line(echo, absolute=True) == line


def test_a_place_on_the_screen_is_understood_of_a_windows_console_only() -> None:
    assert typed_line(b"\x1b[1;70H12:00\x1b[6;5Hgti\r\n") is None


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20), st.data())
def test_inserting_by_places_in_the_middle_is_followed(text: str, data: st.DataObject) -> None:
    """As conhost does: where the line has changed, its rest from there, the cursor's place."""
    line, echo = "", ""
    for char in text:
        at = data.draw(st.integers(0, len(line)))
        line = line[:at] + char + line[at:]
        echo += f"\x1b[3;{10 + at}H{line[at:]}\x1b[3;{11 + at}H"
    assert typed_line(f"{echo}\r\n".encode(), absolute=True) == line


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
