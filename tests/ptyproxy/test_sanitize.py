"""What foreign text may do to a terminal: nothing. And what a reader of another script may expect: to read it."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptyproxy.sanitize import Sanitizer, clean_command, sanitize, sanitize_line

ESC = "\x1b"
JOINERS = "\u200b\u200d\u200c\ufe0f\ufe0e"
NASTY = st.sampled_from(
    f"{ESC}\r\n\t\x7f\x9b\u202e{JOINERS}a1\u20e3é中👩💻🏽❤میकष\ud83d\ude00\udc9b\U000e0041\U000e0101"
)
TEXT = st.one_of(st.text(NASTY, max_size=30), st.text(max_size=30))


@pytest.mark.parametrize(
    "payload",
    [
        f"before{ESC}]52;c;SGVsbG8=\x07after",
        f"{ESC}]0;title\x07",
        f"{ESC}]8;;http://x{ESC}\\link{ESC}]8;;{ESC}\\",
        f"{ESC}Pq#0{ESC}\\",
        f"{ESC}_Gf=32{ESC}\\",
        f"{ESC}[10A",
        f"{ESC}[2J",
        f"{ESC}[6n",
        f"{ESC}]unterminated",
        f"{ESC}c",
        "\x9b2J \x9d0;t\x07 \x90q\x9c \x98 \x9e \x9f",
        "over\rwrite \x08 \x00 \x7f \x0b \x0c",
    ],
)
def test_terminal_commands_in_foreign_text_are_shown_not_sent(payload: str) -> None:
    """langchain-ai/openwiki#540, vercel/ai#20052, topcheer/ggcode#2478: model text reached the terminal raw."""
    shown = sanitize(payload)
    assert all(c in "\n\t" or unicodedata.category(c) != "Cc" for c in shown)
    assert shown.startswith(payload[: payload.index(next(c for c in payload if ord(c) < 32 or ord(c) > 126))])


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (ESC, "\\x1b"),
        ("\x9b", "\\x9b"),
        ("\udc9b", "\\x9b"),
        ("\ud800", "\\u{d800}"),
        ("a\r\nb\n\tc", "a\nb\n\tc"),
        ("a\rb", "a\\rb"),
        ("a\r\r\nb", "a\\r\nb"),
        ("\u202ecod.exe", "\\u{202e}cod.exe"),
        ("x\u200by\u2060z\ufeff", "x\\u{200b}y\\u{2060}z\\u{feff}"),
        ("x\u00ady", "x\\xady"),
        ("x\u2028y", "x\\u{2028}y"),
        ("\ufff9a\ufffab\ufffb", "\\u{fff9}a\\u{fffa}b\\u{fffb}"),
        ("a\U000e0041", "a\\u{e0041}"),
        ("a\U000e0121\ufe01", "a\\u{e0121}\\u{fe01}"),
        ("a\u3164b\u115f", "a\\u{3164}b\\u{115f}"),
        ("naïve 中文 ﷺ العربية", "naïve 中文 ﷺ العربية"),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_what_is_invisible_is_named(raw: str, shown: str) -> None:
    """sharkdp/bat#3889: bidi controls and zero-width characters hide content."""
    assert sanitize(raw) == shown


@pytest.mark.parametrize(
    "text",
    ["👩‍💻", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "❤️", "1️⃣ #️⃣", "می‌خواهم", "क्‍ष", "නි‍ය", "👨‍👩‍👧‍👦 ok", "⚠️ warning", "☎︎"],
)
def test_joiners_stay_where_a_script_or_an_emoji_needs_them(text: str) -> None:
    assert sanitize(text) == text


@pytest.mark.parametrize(
    "text",
    ["a\u200db", "a\ufe0fb", "1\ufe0f", "👩\u200d", "\u200d👩", "م\u200c\u200cی", "pass\u200cword", "👩\u200c💻"],
)
def test_joiners_elsewhere_are_shown(text: str) -> None:
    assert "\\u{" in sanitize(text)


@settings(deadline=None)
@given(TEXT)
def test_the_result_is_inert_and_stable(text: str) -> None:
    once = sanitize(text)
    assert sanitize(once) == once
    for char in once:
        assert char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}
        assert char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff"


@settings(deadline=None)
@given(TEXT, st.lists(st.integers(0, 30)))
@example("❤\ufe0f\u200d\ud83d\udd25", [1, 2, 3, 4])
@example("a\r\nb\r", [2, 3])
def test_the_sanitiser_does_not_care_where_the_text_is_cut(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    stream = Sanitizer()
    out = [stream.feed(text[a:b]) for a, b in pairwise(edges)]
    assert "".join(out) + stream.flush() == sanitize(text)


def test_a_flushed_sanitiser_starts_a_new_text() -> None:
    stream = Sanitizer()
    assert stream.feed("👩") + stream.feed("\u200d") + stream.flush() == "👩\\u{200d}"
    assert stream.feed("\u200d💻") == "\\u{200d}💻"


@pytest.mark.parametrize(
    "command", ["npm install left-pad", "echo 'naïve 中文'", "git commit -m \"a 'b'\"", "ls | wc -l"]
)
def test_an_ordinary_command_is_clean(command: str) -> None:
    assert clean_command(command) == (command, False)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls\r", "ls\\r"),
        ("ls\nrm -rf ~", "ls\\nrm -rf ~"),
        ("ls\t", "ls\\t"),
        ("rm\u00a0-rf", "rm\\u{a0}-rf".replace("\\u{a0}", "\\xa0")),
        ("echo \u202etxt", "echo \\u{202e}txt"),
        ("می\u200cخواهم", "می\\u{200c}خواهم"),
        (f"echo {ESC}[2J", "echo \\x1b[2J"),
    ],
)
def test_a_command_that_needed_cleaning_is_marked(command: str, shown: str) -> None:
    assert clean_command(command) == (shown, True)


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("two\nlines\t here", 40, "two lines here"),
        ("a" * 10, 5, "aaaa…"),
        ("a" * 5, 5, "aaaaa"),
        (ESC + "c", 9, "\\x1bc"),
        ("", 3, ""),
    ],
)
def test_a_line_is_one_line_within_its_limit(text: str, limit: int, line: str) -> None:
    assert sanitize_line(text, limit) == line
