"""Keeps the rows of the user's console where the child's pseudo console believes them to be.

The child's console sees its child's bytes only, and addresses rows by their number (ESC [ row ; column H). So after
words of ours the cursor goes back to where the child left it, and what it would then write over is scrolled up first.
Invariant: before a byte of the child's is printed, the cursor is where the child's last byte left it.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The cursor's row in the window, and its column, from 0."""

    row: int
    col: int


HOME = Place(0, 0)  # where a new pseudo console has its cursor, whatever is on the user's screen


class ChildRows:
    """Call `ours` before each write of our own, `theirs` before each of the child's.

    `now`: the cursor; None: it is not to be seen just now, or nobody tells.
    """

    def __init__(self) -> None:
        self._left: Place | None = HOME  # by the child; None: the cursor is there
        self._begun = False

    def ours(self, now: Place | None) -> None:
        """The cursor may move now; remember where the child left it."""
        if self._left is None:
            self._left = now

    @property
    def may_differ(self) -> bool:
        """Whether `theirs` has anything to do."""
        return self._left is not None

    def theirs(self, now: Place | None, rows: int) -> str:
        """What brings the cursor back to where the child has it, in a window of `rows` rows; mostly nothing.

        Rows that hold something of ours go up, out of the child's way, with all that was above them.
        """
        left, self._left = self._left, None
        clear = "" if self._begun else "\x1b[J"  # a new pseudo console is empty
        self._begun = True
        if left is None or now is None or now == left:
            return ""
        row = min(left.row, rows - 1)  # the window may have become smaller
        begun = now.col not in (0, left.col)  # with something of ours; in the child's own column, it is its line again
        below = now.row + begun - row  # rows that end where the child's line is to be, or below
        up = f"\x1b[{rows};1H" + "\n" * below if below > 0 else ""
        return f"{up}\x1b[{row + 1};{left.col + 1}H{clear}"
