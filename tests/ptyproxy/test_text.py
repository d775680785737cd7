"""Control sequences leave, text stays, however the stream is cut and whoever wrote it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptyproxy import text as text_module
from ptyproxy.text import strip_sequences

ESC = "\x1b"
PIECES = st.sampled_from(
    f"{ESC}|{ESC}[|{ESC}]|{ESC}P|{ESC}\\|\x07|\r|\n|\x08|\x9b|\x9d|\x9c|0;|5C|3D|K|2K|1K|9G|P|m|38;5;1m|tmux;|(B|AKIA"
    "|word |中|\u200b|\u200d|\ud800|\x18".split("|")
)
TEXT = st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=40))


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain\n\ttext\n", "plain\n\ttext\n"),
        (f"{ESC}[1;31merror{ESC}[0m: x", "error: x"),
        (f"{ESC}[38:2::255:0:0mred{ESC}[m", "red"),
        (f"AKIA{ESC}[0mIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        (f"{ESC}]0;title\x07text", "text"),
        (f"{ESC}]8;;https://x{ESC}\\link{ESC}]8;;{ESC}\\", "link"),
        (f"{ESC}]7781;neocode;A\x07$ ", "$ "),
        (f"{ESC}]0;“quoted” œ\x07x", "x"),
        (f"{ESC}]0;never ends\nnext", "0;never ends\nnext"),
        (f"{ESC}Pq#0;2;0{ESC}\\x", "x"),
        (f"{ESC}Ptmux;{ESC}{ESC}]52;c;bW91c2U=\x07{ESC}\\x", "x"),
        (f"{ESC}_Gi=1;AAAA{ESC}\\{ESC}^pm{ESC}\\{ESC}Xsos{ESC}\\x", "x"),
        ("\x9b31mred\x9d0;t\x9cx", "redx"),
        (f"{ESC}(B{ESC})0{ESC}%G{ESC}7{ESC}8{ESC}={ESC}cx", "x"),
        (f"{ESC}[?25l{ESC}[?2004hx{ESC}[>4;1m{ESC}[!p", "x"),
        (f"cut{ESC}[31", "cut"),
        (f"cut{ESC}", "cut"),
        ("a\x00b\x07c\x0e\x0fd\x7f", "abcd"),
        ("one\r\ntwo\r\r\n", "one\ntwo\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("downloading\rdone", "doneloading"),
        (f"downloading\rdone{ESC}[K", "done"),
        (f"downloading{ESC}[2K\rdone", "done"),
        (f"[#  ]{ESC}[1G[## ]{ESC}[5D[###]", "[###]"),
        (f"a{ESC}[3Cb", "a   b"),
        (f"a{ESC}[999999999999Cb", "a" + " " * 999 + "b"),
        ("typo\x08\x08\x08\x08text", "text"),
        ("b\x08bo\x08ol\x08ld\x08d _\x08x", "bold x"),
        ("abc\x08 \x08", "ab "),
        ("xxxxIOSFODNN7EXAMPLE\rAKIA", "AKIAIOSFODNN7EXAMPLE"),
        ("进度 10%\r进度 99%", "进度 99%"),
        ("AKIA\u200bIOS\u00adFOD\u2060NN7\u200dEX\ufe0fAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("می‌خواهم", "می‌خواهم"),
        ("hidden\U000e0049\U000e0067 \u202etxt", "hidden txt"),
        ("\udce9 lone", "\ufffd lone"),
        ("a\u2028b", "a b"),
    ],
)
def test_what_a_person_saw(raw: str, seen: str) -> None:
    assert strip_sequences(raw) == seen


@settings(deadline=None)
@given(TEXT)
def test_nothing_that_acts_on_a_terminal_is_left(text: str) -> None:
    seen = strip_sequences(text)
    assert all(c in "\n\t" or c >= " " for c in seen)
    assert not set(seen) & set(map(chr, range(0x7F, 0xA0)))
    assert seen.count("\n") == text.count("\n")
    seen.encode()


@settings(deadline=None)
@given(st.lists(TEXT))
def test_lines_do_not_depend_on_each_other(texts: list[str]) -> None:
    assert strip_sequences("\n".join(texts)) == "\n".join(map(strip_sequences, texts))


def test_a_line_beyond_the_limit_keeps_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "LINE_LIMIT", 10)
    assert strip_sequences("abcdefg" * 100) == "abcdefg" * 100


CONTROL_STRINGS = f"{ESC}] {ESC}P{ESC} {ESC}P{ESC}{ESC}x \x9d {ESC}]0;a\x07\r"
MOVES = f"{ESC}[ {ESC}[1;1 {ESC}( a\r a\x08 {ESC}[999C {ESC}[999Cx\r"


@pytest.mark.parametrize("unit", [*CONTROL_STRINGS.split(" "), *MOVES.split(" "), "\r" + "x" * 50])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    small, large = unit * (20_000 // len(unit)), unit * (200_000 // len(unit))
    started = time.process_time()
    strip_sequences(small)
    middle = time.process_time()
    strip_sequences(large)
    assert time.process_time() - middle < 40 * max(middle - started, 0.01)
