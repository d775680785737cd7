"""The part of a log worth reading: head, tail and windows around failures. Invariants: one pass, memory bounded by the
limit and a block, whole lines only, and every edge where something is left out has a margin beyond it that is only
there for the redactor to see secrets whole.

Offsets count bytes of the blocks fed.
"""

from __future__ import annotations

from typing import NamedTuple

from neocode.logs import errorlines
from neocode.logs.ends import Head, Tail
from neocode.logs.fold import Run

HEAD_SHARE = 0.2
TAIL_SHARE = 0.3
# Lines and bytes around a failing line; below it stand the notes and the stack, above it the command.
LINES_BEFORE = 4
LINES_AFTER = 10
BYTES_BEFORE = 600
BYTES_AFTER = 1400
# Windows remembered: the first ones often hold the cause, the last ones weigh most.
FIRST_WINDOWS = 3
LAST_WINDOWS = 48


class Segment(NamedTuple):
    """Lines that follow each other. The first `lead` and last `trail` ones are margin. Bytes [start, end)."""

    lines: list[bytes]
    lead: int
    trail: int
    start: int
    end: int


class _Window(NamedTuple):
    start: int
    data: bytes
    lead: int
    trail: int
    grade: int

    @property
    def end(self) -> int:
        return self.start + len(self.data)


class Reducer:
    """Feed blocks of whole lines, then `finish`. `limit`: bytes to keep; `margin`: bytes beyond each edge;
    `tail_kept`: share of the limit that the tail may take when failures leave room."""

    def __init__(self, limit: int, margin: int, tail_kept: float = TAIL_SHARE) -> None:
        self._limit = limit
        self._margin = margin
        self._head = Head(limit * HEAD_SHARE + margin)
        self._tail = Tail(limit * tail_kept + margin)
        self._first: list[_Window] = []
        self._last: dict[bytes, _Window] = {}
        self._carry = b""
        self._scanned = 0  # bytes of the carry that were searched already
        self._offset = 0  # of the end of the carry

    def feed(self, block: bytes) -> None:
        """Take in one block; every line in it ends in a newline, the last one of the log need not."""
        if not block.endswith(b"\n"):
            block += b"\n"
        self._head.feed(block, self._offset)
        self._tail.feed(block, self._offset)
        self._search(self._carry + block, final=False)
        self._offset += len(block)

    def finish(self) -> list[Segment]:
        """What is kept, in order, not overlapping."""
        self._search(self._carry, final=True)
        head, head_margin = _take(self._head.runs, self._limit * HEAD_SHARE, self._margin)
        head_end = head[-1].end if head else 0
        tail, _ = self._take_tail(self._limit * TAIL_SHARE, head_end)
        windows, room = self._windows(head_end, tail[0].start if tail else self._offset)
        floor = windows[-1].end if windows else head_end
        tail, tail_margin = self._take_tail(self._limit * TAIL_SHARE + room, floor)
        segments = [_segment(head, 0, head_margin)] if head else []
        segments += windows
        if tail:
            segments.append(_segment(tail, tail_margin, 0))
        return _seams(segments, self._offset)

    def _take_tail(self, want: float, floor: int) -> tuple[list[Run], int]:
        """The last runs up to `want` bytes and their margin, not before `floor`; how many the margin has."""
        back, margin = _take(self._tail.runs[::-1], want, self._margin)
        tail = [run for run in back[::-1] if run.start >= floor]
        return tail, min(margin, len(tail))

    def _search(self, data: bytes, final: bool) -> None:
        """Search what is new in `data` (the carry and a block), leave what needs the next block's lines."""
        base = self._offset - len(self._carry)
        end = len(data) if final else data.rfind(b"\n", 0, max(0, len(data) - BYTES_AFTER - self._margin)) + 1
        if end > self._scanned:
            low = data[self._scanned : end].lower()
            for at, mark in errorlines.find(low):
                self._remember(data, base, self._scanned + at, mark)
        else:
            end = self._scanned
        keep = data.rfind(b"\n", 0, max(0, end - BYTES_BEFORE - self._margin)) + 1
        self._carry = data[keep:]
        self._scanned = end - keep

    def _remember(self, data: bytes, base: int, at: int, mark: int) -> None:
        start = _lines_back(data, at, LINES_BEFORE, BYTES_BEFORE)
        end = _lines_on(data, at, LINES_AFTER, BYTES_AFTER)
        outer_start = _lines_back(data, start, self._margin, self._margin)
        outer_end = _lines_on(data, end, self._margin, self._margin) if end < len(data) else end
        window = _Window(
            base + outer_start,
            data[outer_start:outer_end],
            data.count(b"\n", outer_start, start),
            data.count(b"\n", end, outer_end),
            mark,
        )
        if len(self._first) < FIRST_WINDOWS and (not self._first or window.start >= self._first[-1].end):
            self._first.append(window)
        line_end = data.find(b"\n", at)
        key = errorlines.shape(data[at:line_end])
        self._last.pop(key, None)
        self._last[key] = window
        if len(self._last) > LAST_WINDOWS:
            del self._last[next(iter(self._last))]

    def _windows(self, floor: int, ceiling: int) -> tuple[list[Segment], float]:
        """The windows that fit, best first: the last grave one, the first grave one, then grave before mild and late
        before early; in the order of the log. And the room they leave."""
        late = sorted(self._last.values(), key=lambda w: (w.grade, w.start), reverse=True)
        early = sorted(self._first, key=lambda w: (-w.grade, w.start))
        room = self._limit * (1 - HEAD_SHARE - TAIL_SHARE)
        chosen: list[Segment] = []
        for window in [*late[:1], *early[:1], *late[1:], *early[1:]]:
            segment = _clip(window, floor, ceiling, chosen)
            if segment is None:
                continue
            size = sum(len(line) + 1 for line in segment.lines[segment.lead : len(segment.lines) - segment.trail])
            if size <= room:
                room -= size
                chosen.append(segment)
        return sorted(chosen, key=lambda segment: segment.start), room


def _take(runs: list[Run], want: float, margin: int) -> tuple[list[Run], int]:
    """The first runs up to `want` bytes and those of the margin after them; how many the margin has."""
    size = 0
    taken = 0
    while taken < len(runs) and (size + runs[taken].size() <= want or not taken):
        size += runs[taken].size()
        taken += 1
    last = taken
    size = 0
    while last < len(runs) and size < margin:
        size += runs[last].size()
        last += 1
    return runs[:last], last - taken


def _segment(runs: list[Run], lead: int, trail: int) -> Segment:
    folded = [run.lines() for run in runs]
    return Segment(
        [line for lines in folded for line in lines],
        sum(len(lines) for lines in folded[:lead]),
        sum(len(lines) for lines in folded[len(folded) - trail :]),
        runs[0].start,
        runs[-1].end,
    )


def _clip(window: _Window, floor: int, ceiling: int, others: list[Segment]) -> Segment | None:
    """The window's lines in [floor, ceiling) that no other segment has."""
    lines = window.data[:-1].split(b"\n") if window.data.endswith(b"\n") else window.data.split(b"\n")
    start, end, lead, trail = window.start, window.end, window.lead, window.trail
    for other in others:
        if other.start <= start < other.end:
            floor = max(floor, other.end)
        elif start < other.start < end:
            ceiling = min(ceiling, other.start)
    while lines and start < floor:
        start += len(lines.pop(0)) + 1
        lead = max(0, lead - 1)
    while lines and end > ceiling:
        end -= len(lines.pop()) + 1
        trail = max(0, trail - 1)
    if len(lines) <= lead + trail or start >= end:
        return None
    return Segment(lines, lead, trail, start, end)


def _seams(segments: list[Segment], total: int) -> list[Segment]:
    """Segments without margin where nothing is left out between them or at the log's ends."""
    result = []
    for i, segment in enumerate(segments):
        lead = 0 if segment.start == (segments[i - 1].end if i else 0) else segment.lead
        trail = 0 if segment.end == (segments[i + 1].start if i + 1 < len(segments) else total) else segment.trail
        result.append(segment._replace(lead=lead, trail=trail))
    return result


def _lines_back(data: bytes, at: int, lines: int, limit: int) -> int:
    """The offset of the line at most `lines` lines and `limit` bytes before the line at `at`."""
    floor = max(0, at - limit)
    for _ in range(lines):
        newline = data.rfind(b"\n", floor, max(floor, at - 1))
        if newline < 0:
            return 0 if floor == 0 else at
        at = newline + 1
    return at


def _lines_on(data: bytes, at: int, lines: int, limit: int) -> int:
    """The offset after at most `lines` lines and `limit` bytes from `at`, at least one line."""
    end = data.find(b"\n", at) + 1 or len(data)
    for _ in range(lines):
        following = data.find(b"\n", end, at + limit) + 1
        if not following:
            break
        end = following
    return end
