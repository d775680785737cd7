"""The last bytes that the terminal showed, in fixed memory, addressed by their absolute offset in the stream.

Invariant: byte `n` of the stream sits at `memory[n % len(memory)]` as long as it is kept, so an append moves no old
byte, whatever its size, and an offset stays good for ever: a span that was overwritten is said to be, never mistaken.
One lock guards it: one thread appends, any thread reads.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from ringbuffer.utf8 import MARGIN, split_at

DEFAULT_CAPACITY = 1 << 20  # a day of ordinary commands, or the end of one long build
MIN_CAPACITY = 64 << 10  # less does not hold one screen of a large terminal in colour
MAX_CAPACITY = 64 << 20  # more is a log file's task


class Snapshot(NamedTuple):
    """Bytes `start` to `end` of the stream; `truncated` when bytes that were asked for before `start` are lost."""

    data: bytes
    start: int
    end: int
    truncated: bool


class RingBuffer:
    """Keeps the last `capacity` bytes. `start` and `end` are the absolute offsets of what is kept."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        """Raise ValueError unless `MIN_CAPACITY <= capacity <= MAX_CAPACITY` (bytes)."""
        self._lock = threading.Lock()
        self._end = 0
        self._origin = 0  # the offset before which nothing is kept, though memory may still hold it
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        if not MIN_CAPACITY <= capacity <= MAX_CAPACITY:
            raise ValueError(f"ring capacity must be {MIN_CAPACITY} to {MAX_CAPACITY} bytes, not {capacity}")
        self._capacity = capacity
        # the margin tells whether the oldest kept byte is the middle of a character that began before it
        self._size = capacity + MARGIN
        self._memory = bytearray(self._size)
        self._view = memoryview(self._memory)

    @property
    def capacity(self) -> int:
        """How many bytes are kept at most."""
        return self._capacity

    @property
    def end(self) -> int:
        """How many bytes have ever been appended: the offset of the next one."""
        return self._end

    @property
    def start(self) -> int:
        """The offset of the oldest byte that is kept."""
        return max(self._origin, self._end - self._capacity)

    def append(self, data: bytes) -> int:
        """Add `data` at the end, over the oldest bytes; return the new `end`. O(len(data))."""
        with self._lock:
            end = self._end
            at = end % self._size
            past = at + len(data)
            if past <= self._size:
                self._view[at:past] = data
            else:
                self._put_around(data, at)
            self._end = end = end + len(data)
            return end

    def _put_around(self, data: bytes, at: int) -> None:
        """Write `data`, which goes past the end of memory, from index `at` on."""
        size = self._size
        lost = max(0, len(data) - size)
        at = (at + lost) % size
        view = memoryview(data)[lost:]
        room = size - at
        self._view[at:] = view[:room]
        self._view[: len(view) - room] = view[room:]

    def _copy(self, start: int, end: int) -> bytes:
        """Bytes that memory still holds, margin included."""
        if start >= end:
            return b""
        low, high = start % self._size, end % self._size
        if low < high:
            return bytes(self._view[low:high])
        return b"".join((self._view[low:], self._view[:high]))

    def snapshot(self, start: int = 0, end: int | None = None) -> Snapshot:
        """What is kept of the span `start` to `end` (default: all), never beginning or ending within a character.

        A character cut by the span's start is left out, one cut by its end (or not complete yet at the end of the
        stream) too; bytes that are no UTF-8 are kept as they are. A span that is lost wholly gives no bytes.
        """
        with self._lock:
            return self._snapshot(start, self._end if end is None else end)

    def _snapshot(self, start: int, end: int) -> Snapshot:
        oldest = self.start
        end = max(0, min(end, self._end))
        start = max(0, min(start, end))
        truncated = start < min(oldest, end)
        first = min(max(start, oldest), end)
        if end <= oldest:
            return Snapshot(b"", end, end, truncated)
        first = min(self._character_edge(first, forward=True), end)
        last = max(self._character_edge(end, forward=False), first)
        return Snapshot(self._copy(first, last), first, last, truncated)

    def _character_edge(self, offset: int, *, forward: bool) -> int:
        """`offset`, or the edge of the character it lies in."""
        low = max(0, offset - MARGIN, self._end - self._size)
        around = self._copy(low, min(self._end, offset + MARGIN))
        split = split_at(around, offset - low)
        if split is None:
            return offset
        return low + split[1] if forward else low + split[0]

    def tail(self, lines: int, start: int = 0, end: int | None = None) -> Snapshot:
        """The last `lines` lines of the span `start` to `end`; a line ends with LF, the last one may lack it.

        Searches backwards in place, so the cost goes with the lines returned. `truncated` when fewer lines than asked
        for were found because the span's start is lost.
        """
        with self._lock:
            end = self._end if end is None else max(0, min(end, self._end))
            low = min(max(start, self.start, 0), end)
            at = end
            if lines > 0 and at > low and self._memory[(at - 1) % self._size] == 0x0A:
                at -= 1
            for _ in range(lines):
                found = self._newline_before(at, low)
                if found < 0:
                    return self._snapshot(min(start, end), end)
                at = found
            return self._snapshot(min(at + 1, end) if lines > 0 else end, end)

    def _newline_before(self, at: int, low: int) -> int:
        """The offset of the last LF in `low` to `at`, or -1."""
        if at <= low:
            return -1
        first, past = low % self._size, at % self._size
        if first < past:
            found = self._memory.rfind(b"\n", first, past)
            return -1 if found < 0 else at - (past - found)
        found = self._memory.rfind(b"\n", 0, past)
        if found >= 0:
            return at - (past - found)
        found = self._memory.rfind(b"\n", first)
        return -1 if found < 0 else low + (found - first)

    def resize(self, capacity: int) -> None:
        """Keep `capacity` bytes from now on, and of the present ones the newest that fit. Offsets stay the same."""
        with self._lock:
            oldest = self.start
            low = max(oldest - MARGIN, 0, self._end - self._size, self._end - capacity - MARGIN)
            kept = self._copy(low, self._end)
            self._allocate(capacity)
            self._origin = max(oldest, self._end - capacity)
            self._end = low + len(kept)
            at = low % self._size
            if at + len(kept) <= self._size:
                self._view[at : at + len(kept)] = kept
            else:
                self._put_around(kept, at)
