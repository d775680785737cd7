"""The first and the last lines of a stream of blocks, repeats folded. Invariant: per block a bounded part is looked at
line by line, and equal lines that follow each other are counted in big steps.

Equal lines are always folded, with their exact count. Lines that differ in numbers only are folded where that lets the
tail reach back to other lines; where it does not, they are what there is to show.
"""

from __future__ import annotations

from neocode.logs.fold import Run, fold, leading_repeats, size_of, trailing_repeats

# How far the tail looks back over a block at first; four times as far when what it sees folds to too little.
REACH = 12 * 1024
# How far it looks back over similar lines.
SIMILAR_REACH = 64 * 1024


class Head:
    """The first `want` bytes of lines."""

    def __init__(self, want: float) -> None:
        self.runs: list[Run] = []
        self._want = want
        self._open = True

    def feed(self, block: bytes, offset: int) -> None:
        """Take from the block that begins at `offset` what is still wanted."""
        at = 0
        while self._open and at < len(block):
            if self.runs and self.runs[-1].equal:
                times = leading_repeats(block, at, self.runs[-1].last + b"\n")
                self.runs[-1].repeat(times)
                at += times * (len(self.runs[-1].last) + 1)
                if at == len(block):
                    return
            end = block.find(b"\n", min(at + REACH, len(block) - 1)) + 1
            fold(block[at : end - 1].split(b"\n"), offset + at, False, self.runs)
            at = end
            self._open = size_of(self.runs[:-1]) <= self._want


class Tail:
    """The last `want` bytes of lines."""

    def __init__(self, want: float) -> None:
        self.runs: list[Run] = []
        self._want = want

    def feed(self, block: bytes, offset: int) -> None:
        """Let the block that begins at `offset` push out what is no longer wanted."""
        runs = self._last_runs(block, offset)
        if runs[0].start == offset:
            if self.runs and self.runs[-1].join(runs[0]):
                runs = runs[1:]
            runs = self.runs + runs
        size = 0
        keep = len(runs)
        while keep and size <= self._want:
            keep -= 1
            size += runs[keep].size()
        self.runs = runs[keep:]

    def _last_runs(self, block: bytes, offset: int) -> list[Run]:
        last = block[block.rfind(b"\n", 0, len(block) - 1) + 1 :]
        times = trailing_repeats(block, last)
        end = len(block) - times * len(last)
        if len(block) - end > REACH:
            repeated = Run(last[:-1], offset + end)
            repeated.repeat(times - 1)
            return [*(self._last_runs(block[:end], offset) if end else []), repeated]
        runs = self._look_back(block, offset, True, SIMILAR_REACH)
        if size_of(runs[1:]) <= self._want:
            runs = self._look_back(block, offset, False, len(block))
        return runs

    def _look_back(self, block: bytes, offset: int, similar: bool, limit: int) -> list[Run]:
        """The last runs of the block: enough of them, or those within `limit` bytes."""
        reach = min(REACH, limit)
        while True:
            at = block.rfind(b"\n", 0, max(0, len(block) - reach)) + 1
            runs = fold(block[at:-1].split(b"\n"), offset + at, similar)
            if at == 0 or reach >= limit or size_of(runs[1:]) > self._want:
                return runs
            reach = min(4 * reach, limit)
