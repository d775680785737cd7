"""The ring against a model that keeps everything: the plain bytes of the stream."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringbuffer.ring import DEFAULT_CAPACITY, MAX_CAPACITY, MIN_CAPACITY, RingBuffer, Snapshot

CHUNKS = st.one_of(
    st.binary(max_size=40),
    st.text(alphabet="a\n本é😀", max_size=20).map(str.encode),
    st.tuples(st.binary(min_size=1, max_size=3), st.integers(1, MIN_CAPACITY)).map(lambda pair: pair[0] * pair[1]),
)


def whole_characters(stream: bytes, start: int, end: int) -> tuple[int, int]:
    """The span without the characters that its edges halve, by decoding the stream up to each edge."""

    def edge(at: int) -> tuple[int, int]:
        for lead in range(max(0, at - 3), at):
            for length in range(2, 5):
                if lead + length > at:
                    sequence = stream[lead : lead + length]
                    try:
                        if len(sequence.decode()) == 1 and len(sequence) == length:
                            return lead, lead + length
                    except UnicodeDecodeError as error:
                        if error.start == 0 and error.reason == "unexpected end of data" and len(sequence) < length:
                            return lead, len(stream)
        return at, at

    first = min(edge(start)[1], end)
    return first, max(edge(end)[0], first)


def model_tail(kept: bytes, lines: int) -> tuple[bytes, bool]:
    """The last lines, and whether there are none before them."""
    parts = kept.split(b"\n")
    pieces = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    return b"".join(pieces[len(pieces) - min(lines, len(pieces)) :]), 0 < len(pieces) <= lines


OPERATIONS = st.lists(st.one_of(CHUNKS, st.integers(MIN_CAPACITY, MIN_CAPACITY + 9)), min_size=1, max_size=6)


@settings(deadline=None)
@given(
    st.sampled_from([0, MIN_CAPACITY - 5, 2 * MIN_CAPACITY + 2]),
    OPERATIONS,
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
)
def test_after_any_appends_and_resizes_spans_and_tails_are_those_of_the_stream(
    before: int, operations: list[bytes | int], numbers: list[int]
) -> None:
    ring = RingBuffer(MIN_CAPACITY)
    stream = b"." * before
    ring.append(stream)
    oldest = max(0, before - MIN_CAPACITY)
    for operation in operations:
        if isinstance(operation, int):
            ring.resize(operation)
        else:
            stream += operation
            assert ring.append(operation) == len(stream)
        oldest = max(oldest, len(stream) - ring.capacity)
    assert (ring.start, ring.end) == (oldest, len(stream))

    near_start, near_end, back, lines = numbers
    for start in (min(max(0, oldest - 15 + near_start), len(stream)), max(0, len(stream) - near_start)):
        for end in (min(len(stream), start + near_end), max(start, len(stream) - back)):
            got = ring.snapshot(start, end)
            if end <= oldest:
                assert got == Snapshot(b"", end, end, start < end)
            else:
                first, last = whole_characters(stream, max(start, oldest), end)
                assert got == Snapshot(stream[first:last], first, last, start < oldest)

    end = max(oldest, len(stream) - back)
    wanted, all_of_it = model_tail(stream[oldest:end], lines)
    first, last = whole_characters(stream, end - len(wanted), end)
    got = ring.tail(lines, 0, end)
    assert got.data == stream[first:last]
    if wanted:
        assert got.truncated == (oldest > 0 and all_of_it)


def test_the_default_is_one_mebibyte() -> None:
    assert RingBuffer().capacity == DEFAULT_CAPACITY == 1 << 20


@pytest.mark.parametrize("capacity", [0, MIN_CAPACITY - 1, MAX_CAPACITY + 1])
def test_a_capacity_outside_the_limits_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match="capacity"):
        RingBuffer(capacity)
    with pytest.raises(ValueError, match="capacity"):
        RingBuffer().resize(capacity)


def test_a_chunk_larger_than_the_ring_leaves_its_end() -> None:
    ring = RingBuffer(MIN_CAPACITY)
    ring.append(b"a")
    stream = bytes(range(32, 127)) * 5000
    ring.append(stream)
    assert ring.snapshot(1).data == stream[-MIN_CAPACITY:]
    assert ring.snapshot(1).truncated
    assert not ring.snapshot(ring.start).truncated


def test_a_character_whose_beginning_was_overwritten_is_left_out() -> None:
    """jupyter/terminado#183: a character cut by a buffer's edge must not turn into an error or a wrong one."""
    ring = RingBuffer(MIN_CAPACITY)
    ring.append("本".encode() + b"x" * (MIN_CAPACITY - 1))
    assert ring.snapshot().data == b"x" * (MIN_CAPACITY - 1)


def test_stray_continuation_bytes_at_the_oldest_edge_are_kept() -> None:
    ring = RingBuffer(MIN_CAPACITY)
    ring.append(b"\x9c" * (MIN_CAPACITY + 10))
    assert ring.snapshot().data == b"\x9c" * MIN_CAPACITY


def test_an_unfinished_character_waits_for_its_end() -> None:
    ring = RingBuffer()
    ring.append(b"a\xe6\x9c")
    assert ring.snapshot().data == b"a"
    ring.append(b"\xac")
    assert ring.snapshot().data == "a本".encode()


def test_an_unfinished_character_that_never_ends_is_kept() -> None:
    ring = RingBuffer()
    ring.append(b"a\xe6\x9cb")
    assert ring.snapshot(0, 3).data == b"a\xe6\x9c"


@pytest.mark.parametrize(
    ("stream", "lines", "tail"),
    [
        (b"", 3, b""),
        (b"one", 1, b"one"),
        (b"one\n", 1, b"one\n"),
        (b"one\ntwo\n", 1, b"two\n"),
        (b"one\ntwo\n$ ", 2, b"two\n$ "),
        (b"\n\n\n", 2, b"\n\n"),
        (b"one\ntwo", 9, b"one\ntwo"),
        (b"one\ntwo", 0, b""),
    ],
)
def test_the_tail_counts_an_unfinished_line_as_one(stream: bytes, lines: int, tail: bytes) -> None:
    ring = RingBuffer(MIN_CAPACITY)
    ring.append(b"-" * (MIN_CAPACITY - 2))  # so that the stream goes round the end of memory
    begin = ring.end
    ring.append(stream)
    assert ring.tail(lines, begin).data == tail


def test_reads_on_other_threads_see_whole_states_only() -> None:
    ring = RingBuffer(MIN_CAPACITY)
    block = bytes(range(256)) * 4
    stop = threading.Event()
    wrong: list[Snapshot] = []

    def read() -> None:
        while not stop.is_set():
            shot = ring.snapshot()
            # offset n of the stream is byte n % 256, and 0x00-0x7F only so that no character is cut
            if shot.data != (ascii_block * 130)[shot.start % 128 :][: shot.end - shot.start]:
                wrong.append(shot)

    ascii_block = block[:128] * 8
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(3000):
        ring.append(ascii_block[: 128 * (turn % 8 + 1)])
    stop.set()
    for reader in readers:
        reader.join(10)
    assert wrong == []


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30)))
def test_any_cut_of_a_stream_gives_the_same_ring(chunks: list[bytes]) -> None:
    cut, whole = RingBuffer(MIN_CAPACITY), RingBuffer(MIN_CAPACITY)
    for chunk in chunks:
        cut.append(chunk)
    whole.append(b"".join(chunks))
    assert cut.snapshot() == whole.snapshot()
    assert cut.tail(3) == whole.tail(3)
