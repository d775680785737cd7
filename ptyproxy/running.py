"""The command whose output passes now, as `commands.CommandTracker` builds its record up.

Invariant: nothing here decides when a command begins or ends; the tracker does.
"""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.records import CommandRecord, Source
from ptyproxy.stream.marks import Mark, PartsJoiner


class Running:
    """What is known so far. Offsets are the stream's; `started` is what the tracker's clock said."""

    def __init__(self, number: int, source: Source, started: float, start: int, cwd: str | None) -> None:
        self.number = number
        self.source = source
        self.started = started
        self.start = start
        self.cwd = cwd
        self.command: str | None = None
        self.exact = False
        self.aid: str | None = None
        self.alternate_screen = False
        self.input_span: tuple[int, int] | None = None
        self.announced = False
        self.parts: PartsJoiner | None = None
        self.sure = True  # the shell vouches for the command line
        self.told: tuple[int, int] | None = None  # where marks with the command line came after output
        self.prompt_since: int | None = None  # an A that nobody vouched for: the end, if D turns out to be lost

    def record(self) -> CommandRecord:
        """The record of a command that has not ended."""
        return CommandRecord(
            self.number, self.command, self.exact, self.cwd, None, self.started, None, self.start, None, self.source,
            self.source == "enter", self.alternate_screen, self.input_span,
        )  # fmt: skip

    def part(self, mark: Mark) -> bool:
        """A part of the command line, in C; whether it was the last one. Output may lie before it."""
        if mark.start == self.start:
            self.start = mark.end
        else:
            adjacent = self.told is not None and self.told[1] == mark.start
            self.told = (self.told[0] if adjacent and self.told else mark.start, mark.end)
        return self.first_part(mark)

    def first_part(self, mark: Mark) -> bool:
        """The same of the part that began the command, which is no output."""
        self.sure = self.sure and mark.fields.get("sure") != "0"
        return self.parts is not None and self.parts.add(mark)

    def late_part(self, mark: Mark) -> None:
        """A part of the line of a command that Enter began and that has ended."""
        if self.parts is None:
            self.parts = PartsJoiner("cmd")
            self.told = (mark.start, mark.end)
        elif self.told is not None:
            self.told = (self.told[0], mark.end)
        if self.parts.add(mark):
            self.command, self.exact = self.parts.value()
            self.parts = None

    def take_line(self, typed: Callable[[tuple[int, int]], str | None]) -> None:
        """The line is told: the screen's (`typed` at a span) counts where the shell only supposes it."""
        if self.parts is None:
            return
        self.command, self.exact = self.parts.value()
        self.parts = None
        if not self.sure:
            shown = typed(self.input_span) if self.input_span is not None else None
            if shown is None or shown != self.command:
                self.command, self.exact = shown or None, False
