"""What a person saw of an output, from hand-made streams of what programs really send."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptyproxy.screen import screen_text

ESC = "\x1b"
UP = f"{ESC}[1A"
PIECES = (
    f"{ESC}|{ESC}[|{ESC}]0;|{ESC}P|{ESC}\\|\x07|\r|\n|\r\n|\x08|\t|\x9b|\x84|\x0b|{ESC}[A|{ESC}[9B|{ESC}[3C|{ESC}[2D|{ESC}[H"
    f"|{ESC}[5;3H|{ESC}[2J|{ESC}[J|{ESC}[3J|{ESC}[K|{ESC}[1K|{ESC}[L|{ESC}[2M|{ESC}[4P|{ESC}[3@|{ESC}[2X|{ESC}[S|{ESC}[T"
    f"|{ESC}[4h|{ESC}[4l|{ESC}[?7l|{ESC}[?7h|{ESC}[?6h|{ESC}[2;9r|{ESC}[r|{ESC}7|{ESC}8|{ESC}M|{ESC}D|{ESC}E|{ESC}c|{ESC}[Z"
    f"|{ESC}[2I|{ESC}[9b|{ESC}[3d|{ESC}[?1049h|{ESC}[?1049l|{ESC}[?47h|{ESC}[?1047;25l|{ESC}(0|{ESC}(B|{ESC}[31m"
    f"|{ESC}[38:2::1:2:3m|{ESC}[;H|{ESC}[999999999999A|{ESC}[?999h|{ESC}[>c|\x00|\x7f|\ufffd|q|word |中"
    "|é|e\u0301|👩\u200d💻|\u200b"
).split("|")
STREAM = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=50).map(lambda parts: "".join(parts).encode()), st.binary()
)


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain\r\n\tindented\r\n", "plain\n\tindented"),
        (f"{ESC}[1;31merror{ESC}[0m: no{ESC}[K\r\n", "error: no"),
        ("one\ntwo\n", "one\ntwo"),
        ("trailing   \r\n\r\n\r\n", "trailing"),
        # the last state of a bar, the last frame of a spinner
        ("".join(f"\r{n}% done" for n in range(101)) + "\r\nend", "100% done\nend"),
        ("".join(f"\r{ESC}[2K   {'━' * n} {n}/9 MB" for n in range(10)), "   ━━━━━━━━━ 9/9 MB"),
        ("".join(f"{ESC}[1G{ESC}[0K{c} reify" for c in "⠋⠙⠹") + f"{ESC}[1G{ESC}[0Kadded 1\r\n", "added 1"),
        ("".join(f"{c}\x08" for c in "|/-\\") + " \x08done", "done"),
        (f"working...\r{ESC}[Jdone", "done"),
        # several bars below each other (docker, yarn, cargo): up, erase, down
        (f"a 0%\r\nb 0%\r\n{UP}{UP}{ESC}[2Ka ok\r\n{ESC}[2Kb 9%\r\n{UP}{ESC}[2Kb ok\r\nend", "a ok\nb ok\nend"),
        (f"first\r\n{ESC}[1F{ESC}[Ksecond\r\n", "second"),
        ("Password: \r\nsorry", "Password:\nsorry"),
        # wide and combining characters
        ("进度 10%\r进度 99%", "进度 99%"),
        ("中文\rab", "ab文"),
        ("中文\ra", "a 文"),
        ("ab\x08中", "a中"),
        ("e\u0301a\rxy", "xy"),
        ("xe\u0301\x08y", "xy"),
        (f"a\tb\rX{ESC}[C{ESC}[C", "X       b"),
        # nothing of a full-screen program, and of the shell's marks
        (f"before\r\n{ESC}[?1049h{ESC}[H{ESC}[2Jvim\r\n~\r\n{ESC}[?1049lafter", "before\nafter"),
        (f"a{ESC}[?47hX{ESC}[?47lb{ESC}[?1049;25hY{ESC}[?25;1049lc", "abc"),
        (f"gone{ESC}[?1049hstill in it", "gone"),
        (f"{ESC}[?1049lstray", "stray"),
        (f"in{ESC}[?1049hX{ESC}cout", "out"),
        (f"{ESC}]7781;neocode;C;nc=00;cmd=ls\x07out{ESC}]133;D;0{ESC}\\{ESC}]7;file://h/tmp\x07", "out"),
        (f"{ESC}P0;1q\n#0;2;0;0;0\n{ESC}\\text{ESC}_Gi=1;AAAA{ESC}\\", "text"),
        (f"{ESC}(0lqqk{ESC}(B box", "┌──┐ box"),
        # since the last clear, if anything was written then
        (f"old\r\n{ESC}[H{ESC}[2J{ESC}[3Jnew\r\n", "new"),
        (f"old\r\n{ESC}cnew", "new"),
        (f"the error\r\n{ESC}[2J{ESC}[H", "the error"),
        (f"{ESC}[H{ESC}[2Jframe 1{ESC}[H{ESC}[Jframe 2", "frame 2"),
        # an editor's forced wrap in a nested shell
        (f"$ {'x' * 18} \ryy\r\nok", f"$ {'x' * 18}yy\nok"),
        ("unended \x1b]0;title", "unended 0;title"),
        ("\x1b", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_what_a_person_saw(raw: str, seen: str) -> None:
    assert screen_text(raw.encode(), 20) == seen


@pytest.mark.parametrize("move", ["", f"{ESC}[B{ESC}[A"], ids=["forward", "replayed"])
def test_a_line_wider_than_the_terminal_stays_one_line(move: str) -> None:
    """Broken pieces of a token would not be recognised as a secret."""
    token = "ghp_" + "a1B2" * 9
    for cols in (10, 11, 20, 79, 80):
        assert screen_text(f"{move}key={token}中文中文中文\r\nnext".encode(), cols) == f"key={token}中文中文中文\nnext"


def test_a_line_that_just_fills_the_terminal_is_not_joined() -> None:
    assert screen_text(f"{'x' * 20}\r\nyy\r\n{UP}{ESC}[2Kzz".encode(), 20) == f"{'x' * 20}\nzz"


def test_a_wrapped_line_that_was_erased_and_rewritten_is_not_joined() -> None:
    raw = f"{'x' * 30}\r{UP}{ESC}[Kshort\r\n{ESC}[Kother\r\n"
    assert screen_text(raw.encode(), 20) == "short\nother"


def test_a_bare_newline_goes_to_the_line_start_and_gaps_are_blanks() -> None:
    """microsoft/inshellisense#435, #116"""
    assert screen_text(f"one\ntwo{ESC}[3Cend\n{UP}{ESC}[4Cx".encode(), 20) == "one\ntwo x end"


def test_where_line_ends_have_their_cr_a_bare_one_keeps_the_column() -> None:
    assert screen_text(f"ab\ncd\r\n{ESC}[Aef".encode(), 20) == "ab\nefcd"


def test_clearing_is_harmless() -> None:
    """microsoft/inshellisense#210, #228"""
    assert screen_text(f"x\r\n{ESC}[3J{ESC}[H{ESC}[2J$ y".encode(), 80) == "$ y"


def test_a_package_manager_with_a_bar_in_the_last_row_leaves_its_messages() -> None:
    """apt's Dpkg::Progress-Fancy: a scrolling region, the bar below it in an addressed row."""
    bar = f"{ESC}7{ESC}[24;0f{ESC}[42m{ESC}[30mProgress: [{{:3}}%]{ESC}[49m{ESC}[39m [####....]{ESC}8"
    raw = f"Reading lists...\r\n\n{ESC}7{ESC}[0;23r{ESC}8{ESC}[1A"
    for n in range(40):
        raw += f"Unpacking package-{n} ...\r\n" + bar.format(n)
    raw += f"E: Sub-process returned an error code (1)\r\n\n{ESC}7{ESC}[0;24r{ESC}8{ESC}[1A{ESC}[J"
    assert screen_text(raw.encode(), 80).split("\n") == [
        "Reading lists...",
        *(f"Unpacking package-{n} ..." for n in range(40)),
        "E: Sub-process returned an error code (1)",
    ]


def test_a_wide_character_that_does_not_fit_goes_to_the_next_row_whole() -> None:
    assert screen_text(f"{UP}{'中' * 9}".encode(), 7) == "中" * 9


def test_a_wide_character_in_a_single_column_does_no_harm() -> None:
    """doy/vt100-rust#37"""
    screen_text(f"{UP}⺀⺀".encode(), 1)


def test_a_log_with_one_move_at_its_end_keeps_its_beginning() -> None:
    lines = [f"line {n} of a long build log with some words in it" for n in range(9000)]
    text = screen_text(("\r\n".join(lines) + f"\r\n50%\r\n{UP}{ESC}[2K100%\r\n").encode(), 80)
    assert text.split("\n") == [*lines, "100%"]


def test_a_screenful_that_is_redrawn_for_minutes_is_seen_once() -> None:
    frame = f"{ESC}[2A{ESC}[2Klayer a {{0}}\r\n{ESC}[2Klayer b {{0}}\r\n"
    raw = "pulling\r\n\r\n\r\n" + "".join(map(frame.format, range(5000)))
    assert screen_text(raw.encode(), 80) == "pulling\nlayer a 4999\nlayer b 4999"


@given(STREAM, st.integers(-1, 200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise_and_nothing_that_acts_on_a_terminal_is_left(data: bytes, cols: int) -> None:
    text = screen_text(data, cols)
    assert all(c in "\n\t" or c >= " " for c in text)
    assert not set(text) & set(map(chr, range(0x7F, 0xA0)))
    text.encode()


LINES = st.lists(st.text(st.characters(categories=("L", "N", "P", "S"), max_codepoint=0x2FF), max_size=50), max_size=9)


@given(LINES, st.integers(2, 60))
@settings(deadline=None)
def test_plain_lines_are_the_same_on_the_fast_path_and_replayed(lines: list[str], cols: int) -> None:
    raw = "".join(line.replace("\xad", "") + "\r\n" for line in lines)
    assert screen_text(raw.encode(), cols) == screen_text(f"{raw}{UP}".encode(), cols)


@pytest.mark.parametrize(
    "piece", [f"{ESC}[L", f"x{ESC}[999b", f"{ESC}[999S", f"{ESC}D", f"{ESC}[2J", f"{ESC}P{ESC}", "\n"]
)
def test_hostile_output_takes_bounded_time(piece: str) -> None:
    data = (piece * 20_000).encode()[: 64 * 1024] + UP.encode()
    started = time.process_time()
    screen_text(data, 200)
    assert time.process_time() - started < 5


def test_an_ordinary_log_takes_under_50_ms() -> None:
    line = "\x1b[32m[{0}]\x1b[0m 2024-05-01 12:00:{0:02} INFO \x1b[1mCompiling\x1b[0m src/pkg/file{0}.c in {0} ms\r\n"
    data = "".join(map(line.format, range(4000))).encode()[: 256 * 1024]
    screen_text(data, 80)
    taken = []
    for _ in range(5):
        started = time.process_time()
        screen_text(data, 80)
        taken.append(time.process_time() - started)
    assert min(taken) < 0.05
