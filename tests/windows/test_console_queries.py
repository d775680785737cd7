"""ConPTY's own words in the child's output: stripped or answered, the same at any cut."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conpty.queries import ConsoleQueries

PRELUDE = b"\x1b[1t\x1b[c\x1b[?1004h\x1b[?9001h"
OWN_MODES = [b"\x1b[?9001h", b"\x1b[?9001l", b"\x1b[?1004h", b"\x1b[?1004l"]
PIECES = [
    *OWN_MODES,
    *(b"\x1b[c", b"\x1b[0c", b"\x1b[6n", b"\x1b[?25h", b"\x1b[?2004h", b"\x1b[?1004;25h", b"\x1b[?10049h", b"\x1b[5n"),
    *(b"\x1b", b"\x1b[", b"\x1b[?", b"\x1b[?100", b"\x1b[?9001", b"text", b"\xe4\xbd\xa0", b"\r\n"),
]
streams = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=4)), max_size=12).map(b"".join)


def run(headless: bool, chunks: list[bytes]) -> tuple[bytes, bytes]:
    filter_ = ConsoleQueries(headless)
    forward, answers = b"", b""
    for chunk in chunks:
        more, answer = filter_.feed(chunk, 5, 7)
        forward, answers = forward + more, answers + answer
    return forward + filter_.flush(), answers


@given(streams, st.booleans(), st.data())
def test_any_cut_gives_the_same(stream: bytes, headless: bool, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    bounds = [0, *cuts, len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(bounds)]
    assert run(headless, chunks) == run(headless, [stream])
    assert run(headless, [stream[at : at + 1] for at in range(len(stream))]) == run(headless, [stream])


@given(streams)
def test_with_a_terminal_nothing_but_its_own_modes_is_taken_out(stream: bytes) -> None:
    kept = re.split(b"|".join(map(re.escape, OWN_MODES)), stream)
    assert run(False, [stream]) == (b"".join(kept), b"")


def test_what_a_conpty_begins_with_is_passed_to_a_terminal_without_its_modes() -> None:
    """openwong2kim/wmux#1381, psmux/psmux#313: key records that nobody asked for."""
    assert run(False, [PRELUDE]) == (b"\x1b[1t\x1b[c", b"")


def test_without_a_terminal_its_questions_are_answered_and_kept() -> None:
    """andfoy/pywinpty#545: a console that nobody answers shows nothing for 3 s, or ever."""
    assert run(True, [PRELUDE]) == (b"\x1b[1t", b"\x1b[?61;22c")
    assert run(True, [b"a\x1b[6nb"]) == (b"ab", b"\x1b[5;7R")
    assert run(True, [b"\x1b[6", b"n", b"\x1b", b"[c"]) == (b"", b"\x1b[5;7R\x1b[?61;22c")


@pytest.mark.parametrize(
    "other", [b"\x1b[?1004;25h", b"\x1b[?10049h", b"\x1b[5n", b"\x1b[?6n", b"\x1b[>c", b"\x1b[?2004h"]
)
def test_nothing_similar_is_touched(other: bytes) -> None:
    assert run(True, [other]) == (other, b"")


def test_a_lone_escape_at_the_end_is_given_out_by_flush() -> None:
    filter_ = ConsoleQueries(headless=False)
    assert filter_.feed(b"x\x1b") == (b"x", b"")
    assert filter_.flush() == b"\x1b"
    assert filter_.flush() == b""
