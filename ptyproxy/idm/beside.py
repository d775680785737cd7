"""What the child prints while our editor has the screen: a background job, a prompt that is drawn late.

Invariant: it stands on rows of its own; our line follows it, drawn anew, and nothing of the old drawing after it.
"""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.idm.prompt import shows_anything

SETTLE_SEC = 0.03  # what a shell draws behind its prompt (right prompt, modes) comes within it, a job's line too
REDRAW_SEC = 0.3  # our line is drawn again so often while a job prints without a pause


class Beside:
    """`redrawing`: the editor was told to draw anew and has not begun."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = 0.0
        self._line_open = False
        self.redrawing = False

    @property
    def voids_drawing(self) -> bool:
        """Whether what the editor draws now belongs to a line that is not there any more."""
        return self.redrawing or self._since is not None

    def printed(self, data: bytes, now: float) -> None:
        """The child printed, at `now` (monotonic seconds)."""
        if shows_anything(data):
            self._since = now if self._since is None else self._since
            self._last = now
            self._line_open = not data.endswith(b"\n")

    def due_in(self, now: float) -> float | None:
        """Seconds until our line is to be drawn again, 0.0 for now; None: nothing was printed."""
        if self._since is None:
            return None
        return max(0.0, min(self._last + SETTLE_SEC, self._since + REDRAW_SEC) - now)

    def look_after(self, now: float, show: Callable[[bytes], None], redraw: Callable[[], None]) -> float | None:
        """Let our line follow what was printed, when that is due; seconds until it is, None: not to be expected."""
        left = self.due_in(now)
        if left == 0.0:
            show(self.go_below())
            self.redrawing = True
            redraw()
            return None
        return left

    def go_below(self) -> bytes:
        """Brings the cursor to a row of our own."""
        data = b"\r\n" if self._since is not None and self._line_open else b""
        self._since = None
        return data
