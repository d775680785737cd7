"""What may look at the bytes that pass, and the guard around it.

Invariant: a fault in the tap costs the user nothing: it is dropped, the bytes go on unchanged, the shell lives.
"""

from __future__ import annotations

from typing import Protocol


class Tap(Protocol):
    """What looks at the bytes that pass. Called on the main thread; must be quick; may raise (then it is dropped)."""

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """While an answer waits for a prompt: (before, our words, after) if its place is in `data`, else None."""
        ...

    def output(self, data: bytes) -> None:
        """Bytes of the child, after they were written."""
        ...

    def input(self, data: bytes) -> bytes:
        """Bytes of the user; what it returns goes to the child (normally `data`)."""
        ...

    def resized(self, rows: int, cols: int) -> None:
        """The terminal has a new size."""
        ...

    def tick(self) -> float | None:
        """Do what is due; seconds until the next call is wanted, None for not at all.

        Called at every wake-up, but only every 10 ms (`pump.TICK_SEC`) while output streams.
        """
        ...


class TapGuard:
    """The tap's own methods, which never raise. `error` is why the tap was dropped."""

    def __init__(self, tap: Tap | None) -> None:
        self.tap = tap
        self.error: Exception | None = None

    def _drop(self, error: Exception) -> None:
        self.tap = None
        self.error = error

    def with_our_words(self, data: bytes) -> bytes:
        """What to write for `data`: itself, or with our words put in."""
        divided = self._divided(data)
        return data if divided is None else b"".join(divided)

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes]:
        """The same in three pieces, for who must know which is ours: the middle one, often empty."""
        return self._divided(data) or (data, b"", b"")

    def _divided(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        if self.tap is not None:
            try:
                return self.tap.divide(data)
            except Exception as error:
                self._drop(error)
        return None

    def output(self, data: bytes) -> None:
        """See `Tap.output`."""
        if self.tap is not None:
            try:
                self.tap.output(data)
            except Exception as error:
                self._drop(error)

    def input(self, data: bytes) -> bytes:
        """See `Tap.input`."""
        if self.tap is not None:
            try:
                return bytes(self.tap.input(data))
            except Exception as error:
                self._drop(error)
        return data

    def resized(self, rows: int, cols: int) -> None:
        """See `Tap.resized`."""
        if self.tap is not None:
            try:
                self.tap.resized(rows, cols)
            except Exception as error:
                self._drop(error)

    def tick(self) -> float | None:
        """See `Tap.tick`."""
        if self.tap is not None:
            try:
                return self.tap.tick()
            except Exception as error:
                self._drop(error)
        return None
