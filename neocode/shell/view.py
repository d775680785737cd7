"""An answer for the terminal of a wrapped shell: rendered by blocks, destructive commands flagged where they stand.

Invariant: what is shown has passed the sanitiser; SGR is added after it and only by us.
"""

from __future__ import annotations

from collections.abc import Callable

from neocode.render.answer import Diagnosis, may_insert
from neocode.render.markdown import CODE_INDENT, MarkdownStream
from neocode.render.sections import FenceTracker
from neocode.render.wrap import styled
from ptyproxy.policy import insertable, is_destructive
from ptyproxy.sanitize import sanitize

MAX_WIDTH = 100  # columns; longer lines of prose are hard to read
DEFAULT_WIDTH = 80
MAX_PENDING_CHARS = 4096  # of a line that has not ended; the renderer cuts there too
FLAG = "^ destructive: shown only"
DIM = "2"


class AnswerView:
    """Feed it the deltas of one answer; `show` gets whole lines with their LF, a block at a time."""

    def __init__(self, cols: int, color: bool, show: Callable[[str], None]) -> None:
        self._color = color
        self._show = show
        self._lines: list[str] = []
        width = min(cols - 1, MAX_WIDTH) if cols > 1 else DEFAULT_WIDTH
        self._stream = MarkdownStream(width, color, self._lines.append)
        self._fence = FenceTracker()
        self._pending = ""
        self._flagged: set[str] = set()

    def feed(self, delta: str) -> None:
        """Take the next piece; what it completes is shown."""
        *lines, self._pending = (self._pending + delta).split("\n")
        for line in lines:
            self._line(line)
        if len(self._pending) > MAX_PENDING_CHARS:
            self._stream.feed(self._pending)
            self._pending = ""
        self._hand_over()

    def finish(self) -> None:
        """Show the rest. Feed nothing afterwards."""
        if self._pending:
            self._line(self._pending)
            self._pending = ""
        self._stream.finish()
        self._hand_over()

    def flag_others(self, diagnosis: Diagnosis) -> None:
        """Name the destructive commands of the answer that had no line of their own to be flagged at."""
        for command in diagnosis.fix_commands:
            if is_destructive(command) and not any(command in line for line in self._flagged):
                self._flagged.add(command)
                self._lines.append(styled(f"{FLAG[2:]}: {command}", DIM, color=self._color) + "\n")
        self._hand_over()

    def _line(self, line: str) -> None:
        self._stream.feed(line + "\n")
        shown = sanitize(line.rstrip("\r"))
        command = shown.strip()
        if self._fence.step(shown) == "code" and not command.startswith("#") and is_destructive(command):
            self._flagged.add(command)
            self._lines.append(CODE_INDENT + styled(FLAG, DIM, color=self._color) + "\n")

    def _hand_over(self) -> None:
        if self._lines:
            text = "".join(self._lines)
            self._lines.clear()
            self._show(text)


def insertable_fixes(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The fix commands that may be put into the user's line: safe, short, and nothing is lost by them."""
    return tuple(command for command in diagnosis.fix_commands if may_insert(command) and insertable(command))
