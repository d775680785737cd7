"""Repeated lines as one line and a count. Invariant: lines that are no part of a long run stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from neocode.logs.errorlines import shape

# Runs of so many lines are folded: equal ones, and ones that differ in numbers only.
EQUAL_RUN = 3
SIMILAR_RUN = 5
# Bytes compared at once when equal lines are counted.
_STEP = 32 * 1024


class Run:
    """Equal or similar lines in a row: the first four, the last, how many; bytes [start, end) of the stream."""

    __slots__ = ("_shape", "count", "end", "equal", "first", "last", "start")

    def __init__(self, line: bytes, start: int) -> None:
        self.first = [line]
        self.last = line
        self.count = 1
        self.equal = True
        self.start = start
        self.end = start + len(line) + 1
        self._shape: bytes | None = None

    def take(self, line: bytes, similar: bool) -> bool:
        """Add `line` if it continues the run: an equal one, or also one of the same shape."""
        if line != self.last:
            if not similar or shape(line) != self.shape():
                return False
            self.equal = False
        self.last = line
        self.count += 1
        self.end += len(line) + 1
        if self.count < SIMILAR_RUN:
            self.first.append(line)
        return True

    def repeat(self, times: int) -> None:
        """Add the last line `times` more times."""
        self.first = [*self.first, *[self.last] * min(times, SIMILAR_RUN)][: SIMILAR_RUN - 1]
        self.count += times
        self.end += times * (len(self.last) + 1)

    def join(self, other: Run) -> bool:
        """Add the run `other` that follows directly, if both are of the same equal lines."""
        if not (self.equal and other.equal and other.last == self.last):
            return False
        self.repeat(other.count)
        return True

    def shape(self) -> bytes:
        """What all its lines have in common."""
        if self._shape is None:
            self._shape = shape(self.last)
        return self._shape

    def lines(self) -> list[bytes]:
        """What stands for the run in the text."""
        if self.equal and self.count >= EQUAL_RUN:
            return _repeated(self.last, self.count)
        if self.count >= SIMILAR_RUN:
            return [self.first[0], b"[... %d similar lines ...]" % (self.count - 2), self.last]
        return self.first

    def size(self) -> int:
        """Bytes of `lines()` with their newlines."""
        return self.end - self.start if self.count == 1 else sum(len(line) + 1 for line in self.lines())


def fold(lines: Iterable[bytes], start: int, similar: bool, runs: list[Run] | None = None) -> list[Run]:
    """Append `lines`, which begin at offset `start`, to `runs`. `similar`: numbers may differ within a run."""
    runs = [] if runs is None else runs
    for line in lines:
        if not runs or not runs[-1].take(line, similar):
            runs.append(Run(line, start))
        start += len(line) + 1
    return runs


def size_of(runs: Iterable[Run]) -> int:
    """Bytes of the runs' lines."""
    return sum(run.size() for run in runs)


def fold_equal(lines: Iterable[bytes]) -> list[bytes]:
    """`lines` with runs of equal ones folded."""
    result: list[bytes] = []
    for line, group in groupby(lines):
        count = sum(1 for _ in group)
        result += _repeated(line, count) if count >= EQUAL_RUN and line.strip() else [line] * count
    return result


def _repeated(line: bytes, count: int) -> list[bytes]:
    return [line, b"[... the line above repeated %d more times ...]" % (count - 1)]


def leading_repeats(block: bytes, at: int, unit: bytes) -> int:
    """How often `unit` stands in `block` from `at` on, one after the other; in big steps, not line by line."""
    count = 0
    step = max(1, _STEP // len(unit))
    while step:
        many = unit * step
        while block.startswith(many, at):
            at += len(many)
            count += step
        step = step // 8 or step > 1
    return count


def trailing_repeats(block: bytes, unit: bytes) -> int:
    """How many whole lines `unit` end `block`."""
    end = len(block)
    count = 0
    step = max(1, _STEP // len(unit))
    while step:
        many = unit * step
        while block.endswith(many, 0, end):
            end -= len(many)
            count += step
        step = step // 8 or step > 1
    starts_line = end == 0 or block[end - 1 : end] == b"\n"
    return count if starts_line else count - 1
