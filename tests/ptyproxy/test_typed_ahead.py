"""What was typed ahead is taken out of the output that it stands in, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.records import Output
from ptyproxy.typed_ahead import TypedAhead

START = 1000


@pytest.mark.parametrize(
    ("keys", "before", "after"),
    [
        ([("text", b"git st", 0)], b"git stls: no such file\r\n", b"ls: no such file\r\n"),
        ([("text", b"a", 0), ("text", b"b", 1)], b"abls: no\r\n", b"ls: no\r\n"),
        ([("text", b"a", 0), ("text", b"b", 0)], b"abls: no\r\n", b"ls: no\r\n"),  # faster than the echo
        ([("text", b"ab\x7fc", 0)], b"ab\b \bcls: no\r\n", b"ls: no\r\n"),
        ([("key", b"\x1b[A", 4)], b"out\n^[[Aerror: no\r\n", b"out\nerror: no\r\n"),
        ([("text", b"next", 6)], b"first\nnextsecond\r\n", b"first\nsecond\r\n"),
        # no echo there: a password, an editor
        ([("text", b"secret", 0)], b"ls: no\r\n", b"ls: no\r\n"),
        # entered: a line of its own, which somebody read
        ([("text", b"1/0", 4), ("enter", b"\r", 7)], b">>> 1/0\r\nZeroDivisionError\r\n", None),
        ([("text", b"1", 0), ("enter", b"\r", 1), ("text", b"ab", 3)], b"1\r\nabbad\r\n", b"1\r\nbad\r\n"),
    ],
)
def test_an_unfinished_line_is_taken_out(keys, before: bytes, after: bytes | None) -> None:
    typed = TypedAhead()
    typed.typed("text", b"before", START - 3)
    for kind, data, offset in keys:
        typed.typed(kind, data, START + offset)
    output = Output(b"", 0, before)
    assert typed.without_echo(output, START) == Output(b"", 0, before if after is None else after)


def test_an_output_with_a_gap_keeps_it() -> None:
    typed = TypedAhead()
    typed.typed("text", b"ab", START)
    typed.typed("text", b"cd", START + 50)
    output = Output(b"abhead\n", 43, b"cdtail\n")
    assert typed.without_echo(output, START) == Output(b"head\n", 43, b"tail\n")


@given(st.lists(st.tuples(st.binary(max_size=4), st.integers(0, 30)), max_size=8), st.binary(max_size=40))
def test_nothing_is_added_and_no_key_makes_it_raise(keys: list[tuple[bytes, int]], data: bytes) -> None:
    typed = TypedAhead()
    for key, offset in keys:
        typed.typed("text", key, START + offset)
    left = iter(data)
    assert all(byte in left for byte in typed.without_echo(Output(b"", 0, data), START).tail)
