"""A command line that is told after its command began, or that only the screen can vouch for."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.capture import Capture
from ptyproxy.records import CommandRecord

NONCE = "0123456789abcdef0123456789abcdef"


def mark(kind: str, fields: str = "") -> bytes:
    secret = f";nc={NONCE}" if kind in "CDK" else ""
    return f"\x1b]7781;neocode;{kind}{secret}{fields}\x07".encode()


def session(typed: bytes, told: bytes, output: bytes = b"out\r\n") -> bytes:
    prompt = mark("D", ";exit=0;cwd=/") + mark("A") + b"$ " + mark("B")
    return prompt + typed + b"\r\n" + mark("C", ";part=1/2;cmd=") + output + told + mark("D", ";exit=1;cwd=/")


def record_of(stream: bytes) -> tuple[CommandRecord, Capture]:
    capture = Capture(NONCE, clock=lambda: 0.0)
    capture.feed(stream)
    (record,) = capture.records
    return record, capture


def test_a_line_told_at_the_end_names_the_command_and_is_no_output() -> None:
    record, capture = record_of(session(b"make", mark("C", ";part=2/2;cmd=make")))
    assert (record.command, record.exact, record.exit_code) == ("make", True, 1)
    assert capture.output(record).tail == b"out\r\n"
    assert record.head == b"out\r\n"


def test_a_line_told_at_once_moves_the_beginning_of_the_output() -> None:
    record, capture = record_of(session(b"make", b"", mark("C", ";part=2/2;cmd=make") + b"out\r\n"))
    assert (record.command, capture.output(record).tail) == ("make", b"out\r\n")


def test_parts_at_the_end_are_joined() -> None:
    told = mark("C", ";part=2/3;cmd=echo %E6") + mark("C", ";part=3/3;cmd=%97%A5")
    record, capture = record_of(session(b"x", told))
    assert (record.command, record.exact, capture.output(record).tail) == ("echo 日", True, b"out\r\n")


def test_a_command_whose_line_is_never_told_is_a_record_all_the_same() -> None:
    record, capture = record_of(session(b"make", b""))
    assert (record.exit_code, record.exact, capture.output(record).tail) == (1, False, b"out\r\n")


@pytest.mark.parametrize(
    ("typed", "supposed", "command", "exact"),
    [
        (b"false", "false", "false", True),
        (b" echo secret", "false", " echo secret", False),
        (b" false", "false", " false", False),
        (b"echo x", "", "echo x", False),
        (b"one\r\n> two", "false", None, False),
        (b"a\r$ b", "false", None, False),
    ],
)
def test_a_line_that_the_shell_only_supposes_is_held_against_the_screen(typed, supposed, command, exact) -> None:
    record, _ = record_of(session(typed, mark("C", f";part=2/2;sure=0;cmd={supposed}")))
    assert (record.command, record.exact) == (command, exact)


def test_facts_of_an_authenticated_mark_are_kept_and_of_another_are_not() -> None:
    capture = Capture(NONCE)
    capture.feed(b"\x1b]7781;neocode;D;nc=" + b"0" * 32 + b";shell=forged\x07")
    assert capture.facts == {}
    capture.feed(mark("D", ";shell=bash 5.2.15;hotkey=ours") + mark("D", ";exit=0;cwd=/"))
    assert capture.facts == {"shell": "bash 5.2.15", "hotkey": "ours"}
    capture.feed(b"".join(mark("D", f";k{number}=v") for number in range(100)))
    assert len(capture.facts) == 16


STREAM = session(b"make", mark("C", ";part=2/2;cmd=make")) + session(b" false", mark("C", ";part=2/2;sure=0;cmd=false"))


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_any_cut_gives_the_same_records(cuts: list[int]) -> None:
    whole = Capture(NONCE, clock=lambda: 0.0)
    whole.feed(STREAM)
    cut = Capture(NONCE, clock=lambda: 0.0)
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, end in itertools.pairwise(edges):
        cut.feed(STREAM[start:end])
    assert cut.records == whole.records
    assert [cut.output(record) for record in cut.records] == [whole.output(record) for record in whole.records]
    assert cut.faults == 0
