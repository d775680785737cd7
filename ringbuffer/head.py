"""The beginning of a stretch of the stream, kept apart, so that it is still there when the ring has gone round.

Invariant: what is kept is the bytes from `start` on without a gap, at most `limit` of them.
"""

from __future__ import annotations

from ringbuffer.utf8 import trimmed_end

HEAD_LIMIT = 64 << 10  # holds the first errors of a long build; little enough to keep for several commands


class HeadKeeper:
    """Keeps the first `limit` bytes that follow `begin`. Belongs to one thread."""

    def __init__(self, limit: int = HEAD_LIMIT) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.start = 0
        self.wanting = True  # False: later bytes are of no interest any more

    def begin(self, start: int) -> None:
        """Forget what was kept; the stretch begins at the absolute offset `start`."""
        self._kept = bytearray()
        self.start = start
        self.wanting = True

    def append(self, data: bytes, offset: int) -> None:
        """Take what follows the kept bytes out of `data`, which begins at `offset`; the same bytes may come again."""
        end = self.start + len(self._kept)
        skip = end - offset
        if 0 <= skip < len(data) and len(self._kept) < self._limit:
            self._kept += data[skip : skip + self._limit - len(self._kept)]
            self.wanting = len(self._kept) < self._limit

    def read(self, end: int) -> bytes:
        """The kept bytes before the absolute offset `end`; a character that the limit cuts is left out."""
        length = max(0, end - self.start)
        if length <= len(self._kept):
            return bytes(self._kept[:length])
        kept = bytes(self._kept)
        return kept[: trimmed_end(kept)]
