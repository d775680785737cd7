"""The head keeper: the first bytes of a stretch, however they come."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from ringbuffer.head import HEAD_LIMIT, HeadKeeper


def test_it_keeps_the_first_64_kib() -> None:
    head = HeadKeeper()
    head.begin(10)
    head.append(b"?" * 10 + b"ab" * HEAD_LIMIT, 0)
    assert not head.wanting
    assert head.read(1 << 30) == b"ab" * (HEAD_LIMIT // 2)


def test_a_new_stretch_forgets_the_old_one() -> None:
    head = HeadKeeper()
    head.begin(0)
    head.append(b"old", 0)
    head.begin(3)
    assert head.read(99) == b""


def test_the_limit_does_not_halve_a_character() -> None:
    head = HeadKeeper(limit=4)
    head.begin(0)
    head.append("本本".encode(), 0)
    assert head.read(6) == "本".encode()


def test_invalid_bytes_at_the_limit_are_kept() -> None:
    head = HeadKeeper(limit=4)
    head.begin(0)
    head.append(b"ab\x9c\x9c\x9c", 0)
    assert head.read(5) == b"ab\x9c\x9c"


@settings(deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(0, 60)), st.integers(0, 60), st.integers(0, 60))
def test_any_cut_keeps_the_same(stream: bytes, cuts: list[int], start: int, end: int) -> None:
    start = min(start, len(stream))
    end = max(start, min(end, len(stream)))
    head = HeadKeeper(limit=1000)
    head.begin(start)
    edges = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    for low, high in itertools.pairwise(edges):
        head.append(stream[low:high], low)
        head.append(stream[low:high], low)
    assert head.read(end) == stream[start:end]
