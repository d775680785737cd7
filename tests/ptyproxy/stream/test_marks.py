"""Marks: what they say, who may say it, and that no cut of the stream changes them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal_streams import NONCE, OUTPUT_PIECES, A, B, command, done

from ptyproxy.stream.marks import Mark, MarkParser, PartsJoiner
from ptyproxy.stream.osc import MARK_LIMIT, ST, build_mark, build_marks, decode_value, encode_value
from ptyproxy.stream.scan import MAX_BODY, Scanner

STREAMS = st.lists(st.one_of(st.sampled_from(OUTPUT_PIECES), st.binary(max_size=12)), max_size=8).map(b"".join)


def marks(*reads: bytes) -> list[Mark]:
    parser = MarkParser()
    return [mark for read in reads for mark in parser.feed(read)]


def only(stream: bytes) -> Mark:
    (mark,) = marks(stream)
    return mark


@settings(deadline=None)
@given(STREAMS, st.lists(st.integers(0, 400)))
def test_any_cut_gives_the_same_marks(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert marks(*(stream[low:high] for low, high in itertools.pairwise(edges))) == marks(stream)


@pytest.mark.parametrize("piece", OUTPUT_PIECES, ids=lambda piece: repr(piece[:24]))
def test_a_cut_at_every_byte_gives_the_same_tokens(piece: bytes) -> None:
    """The upstream proxy missed `ESC ] 13` + `3;D;1 BEL`, a mark that two reads share."""
    stream = b"x\x1b" + piece + A + piece + b"\x1b\\" + done(3) + piece
    whole = Scanner().feed(stream)
    for cut in range(min(len(stream), 600)):
        scanner = Scanner()
        assert scanner.feed(stream[:cut]) + scanner.feed(stream[cut:]) == whole
    scanner = Scanner()
    assert [token for at in range(len(stream)) for token in scanner.feed(stream[at : at + 1])] == whole


@settings(deadline=None)
@given(STREAMS, st.integers(0, 7))
def test_nothing_before_a_mark_hides_it(stream: bytes, cut: int) -> None:
    mark = done(1)
    reads = (stream + mark[:cut], mark[cut:])
    assert marks(*reads)[-1] == only(mark)._replace(start=len(stream), end=len(stream) + len(mark))


@settings(deadline=None)
@given(STREAMS)
def test_what_is_kept_of_unfinished_sequences_is_bounded(stream: bytes) -> None:
    scanner = Scanner()
    for _ in range(4):
        scanner.feed(stream)
        assert scanner.carried <= MAX_BODY + 16


def test_a_program_that_leaves_a_string_open_hides_nothing() -> None:
    for opener in (
        b"\x1b]0;",
        b"\x1b]133;C;cmdline=",
        b"\x1bPq",
        b"\x1b_",
        b"\x1b^",
        b"\x1bX",
        b"\x1bPtmux;\x1b\x1b]52;c;",
    ):
        for filler in (b"", b"text", b"\n", b"z" * 9000):
            assert marks(opener + filler, done(1))[-1].exit_code == 1
            assert marks(opener + filler + done(1))[-1].exit_code == 1


def test_marks_know_where_they_are() -> None:
    mark = only(b"\xe6\x9c\xacab" + A + b"tail")
    assert (mark.kind, mark.ours, mark.start, mark.end) == ("A", True, 5, 5 + len(A))


def test_a_byte_of_utf_8_text_ends_no_mark() -> None:
    """atuinsh/atuin: 0x9C as string terminator cuts `本` (E6 9C AC)."""
    assert only("\x1b]133;C;cmdline_url=本\x07".encode()).fields["cmd"] == "本"


def test_marks_wrapped_for_tmux_are_read() -> None:
    """tmux/tmux#3618: inside tmux an OSC gets through only as a DCS with every ESC doubled."""
    bell = b"\x1bPtmux;\x1b" + done(2) + b"\x1b\\"
    string = b"\x1bPtmux;" + (build_mark("D", NONCE, end=ST, exit="2")).replace(b"\x1b", b"\x1b\x1b") + b"\x1b\\"
    assert only(bell).exit_code == only(string).exit_code == 2


@pytest.mark.parametrize("stream", [b"\x1b]7781;neocode;A\n\x07", b"\x1b]7781;neocode;A", b"\x9d7781;neocode;A\x07"])
def test_what_is_not_well_formed_is_no_mark(stream: bytes) -> None:
    assert marks(stream) == []


@settings(deadline=None)
@given(st.text())
def test_values_come_back_and_cannot_end_a_mark(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    raw = encode_value(text)
    assert decode_value(raw) == (text, True)
    assert all(0x20 <= ord(character) < 0x7F and character != ";" for character in raw)


@settings(deadline=None)
@given(st.text(max_size=900), st.sampled_from([b"\x07", ST]))
def test_a_command_line_of_any_length_comes_in_marks_of_200_bytes(text: str, end: bytes) -> None:
    """microsoft/terminal#15551: an OSC of more than 255 characters is dropped."""
    text = text.encode("utf-8", "replace").decode()
    sent = build_marks("C", NONCE, "cmd", text, end=end)
    assert max(map(len, sent)) <= MARK_LIMIT
    joiner = PartsJoiner("cmd")
    complete = [joiner.add(mark) for mark in marks(b"".join(sent))]
    assert complete == [False] * (len(sent) - 1) + [True]
    assert joiner.value() == (text, True)


def test_a_command_line_that_is_too_long_says_that_it_is_cut() -> None:
    text = "x" * 50_000
    joiner = PartsJoiner("cmd")
    for mark in marks(b"".join(build_marks("C", NONCE, "cmd", text))):
        joiner.add(mark)
    value, exact = joiner.value()
    assert text.startswith(value)
    assert len(value) > 8000
    assert not exact


def test_a_lost_part_makes_the_command_inexact() -> None:
    sent = build_marks("C", NONCE, "cmd", "abc" * 200)
    joiner = PartsJoiner("cmd")
    for mark in marks(sent[0], *sent[2:]):
        joiner.add(mark)
    assert joiner.value()[1] is False


def test_a_part_may_end_within_an_escape() -> None:
    joiner = PartsJoiner("cmd")
    for mark in marks(build_mark("C", NONCE, part="1/2", cmd="a%E6%9"), build_mark("C", NONCE, part="2/2", cmd="C%AC")):
        joiner.add(mark)
    assert joiner.value() == ("a本", True)


@pytest.mark.parametrize(
    ("stream", "kind", "fields"),
    [
        (b"133;A", "A", {}),
        (b"133;A;cl=m;aid=12", "A", {"aid": "12"}),
        (b"133;P;k=i", "A", {"k": "i"}),
        (b"133;N;aid=3", "A", {"aid": "3"}),
        (b"133;B", "B", {}),
        (b"133;C", "C", {}),
        (b"133;C;cmdline=echo\\ a\\;b;c", "C", {"cmd": "echo a;b;c"}),
        (b"133;C;cmdline=$'a\\nb\\'' 'c d'", "C", {"cmd": "a\nb' c d"}),
        (b"133;C;cmdline_url=ls%20%3B%E6%9C%AC", "C", {"cmd": "ls ;本"}),
        (b"133;D", "D", {}),
        (b"133;D;127", "D", {"exit": "127"}),
        (b"133;D;1;aid=12", "D", {"exit": "1", "aid": "12"}),
        (b"633;A", "A", {}),
        (b"633;C", "C", {}),
        (b"633;D;130", "D", {"exit": "130"}),
        (b"633;E;echo \\\\ \\x3b \\x0a;nonce", "command", {"cmd": "echo \\ ; \n"}),
        (b"633;E;;", "command", {"cmd": ""}),
        (b"633;P;Cwd=/a\\x3bb", "cwd", {"cwd": "/a;b"}),
        (b"7;file://h/a%20b", "cwd", {"cwd": "/a b", "host": "h"}),
        (b"7;file:///C:/x", "cwd", {"cwd": "C:/x", "host": ""}),
        (b"7;kitty-shell-cwd://h/a%20b", "cwd", {"cwd": "/a%20b", "host": "h"}),
        (b'9;9;"C:\\Users\\x"', "cwd", {"cwd": "C:\\Users\\x"}),
        (b"1337;CurrentDir=/x y", "cwd", {"cwd": "/x y"}),
    ],
)
def test_the_marks_of_others_are_read(stream: bytes, kind: str, fields: dict[str, str]) -> None:
    for end in (b"\x07", b"\x1b\\"):
        mark = only(b"\x1b]" + stream + end)
        assert (mark.kind, mark.ours, mark.fields) == (kind, False, fields)


@pytest.mark.parametrize(
    "stream",
    [b"133;A;k=s", b"133;A;k=r", b"133;P;k=c", b"133;L", b"133;", b"633;F", b"633;P;IsWindows=True", b"7;junk",
     b"9;text", b"1337;SetUserVar=a=Yg==", b"0;title", b"7781;neocode;Q", b"7781;someone;A"],
)  # fmt: skip
def test_other_prompts_and_other_codes_are_no_marks(stream: bytes) -> None:
    assert marks(b"\x1b]" + stream + b"\x07") == []


@pytest.mark.parametrize(
    ("text", "code"), [("0", 0), ("255", 255), ("-1073741510", -1073741510), ("", None), ("1x", None), ("9" * 40, None)]
)
def test_an_exit_code_is_a_number_or_unknown(text: str, code: int | None) -> None:
    assert only(build_mark("D", NONCE, exit=text)).exit_code == code


def test_prompt_marks_carry_no_nonce() -> None:
    assert [mark.nonce for mark in marks(A + B + command("ls") + done(0))] == [None, None, NONCE, NONCE]


def test_a_string_without_end_in_small_reads_is_not_kept() -> None:
    scanner = Scanner()
    scanner.feed(b"\x1b]133;C;cmdline=")
    for _ in range(500):
        scanner.feed(b"y" * 40)
        assert scanner.carried <= MAX_BODY + 16
    assert scanner.carried == 0
