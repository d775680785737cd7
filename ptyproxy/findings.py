"""What is known of a command, put together for whoever is to explain it. Invariant: a snapshot; nothing is kept."""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.capture import Capture
from ptyproxy.ports import Finding
from ptyproxy.records import CommandRecord, Output
from ptyproxy.typed_ahead import TypedAhead

NEAR_COMMANDS = 5  # what a first `@ai` turn is told of the past
SCREEN_BYTES = 32 * 1024  # "the recent screen" when there is no record
ASK_WORD = "@ai"


class Findings:
    """Makes findings from `capture`; `cols` is the terminal's width, `kind` the shell's."""

    def __init__(self, capture: Capture, kind: str, cols: Callable[[], int]) -> None:
        self._capture = capture
        self._kind = kind
        self._cols = cols
        self.typed_ahead = TypedAhead()

    def find(self, record: CommandRecord | None, automatic: bool) -> Finding:
        """What is known of a command now, its output included; without one the recent screen."""
        return self._finding(record, [] if automatic else self._before(record), automatic)

    def latest(self) -> Finding:
        """The newest command that is not ours, and those before it."""
        others = self._others()
        return self.find(others[-1] if others else None, False)

    def since(self, number: int | None) -> Finding | None:
        """The commands after record `number`, None when there are none; without a number the recent past."""
        if number is None:
            return self.latest()
        records = [one for one in self._others() if one.number > number]
        return None if not records else self._finding(records[-1], records[:-1][-NEAR_COMMANDS:])

    def running(self, is_ours: Callable[[str], bool]) -> CommandRecord | None:
        """The command that runs now, a shell inside the shell, say, or `ssh`; neither ours nor unknown."""
        running = self._capture.running
        command = running and self._command(running)
        return running if command and not is_ours(command) else None

    def before_ours(self, is_ours: Callable[[str], bool]) -> CommandRecord | None:
        """The command before `neocode diag`, when that is what was typed here and runs now."""
        running = self._capture.running
        if running is None or not is_ours(self._command(running)):
            return None
        others = [one for one in self._capture.records if not is_ours(one.command or "")]
        return others[-1] if others else None

    def _finding(self, record: CommandRecord | None, before: list[CommandRecord], automatic: bool = False) -> Finding:
        output = self._output(record) if record is not None else self._screen()
        near = tuple((other, self._output(other)) for other in before)
        return Finding(record, output, self._cols(), self._kind, automatic, near)

    def _command(self, running: CommandRecord) -> str:
        """The line of a running command: what the shell said or, as bash says it at the end, what the screen shows."""
        if running.command is not None or running.input_span is None:
            return running.command or ""
        from ptyproxy.stream.echo import typed_line

        shot = self._capture.ring.snapshot(*running.input_span)
        return "" if shot.truncated else typed_line(shot.data) or ""

    def _output(self, record: CommandRecord) -> Output:
        return self.typed_ahead.without_echo(self._capture.output(record), record.start)

    def _screen(self) -> Output:
        ring = self._capture.ring
        return Output(b"", 0, ring.snapshot(max(0, ring.end - SCREEN_BYTES)).data)

    def _others(self) -> list[CommandRecord]:
        """The commands that are not ours."""
        return [one for one in self._capture.records if (one.command or "").split(None, 1)[:1] != [ASK_WORD]]

    def _before(self, record: CommandRecord | None) -> list[CommandRecord]:
        number = record.number if record else 1 << 62
        return [one for one in self._others() if one.number < number][-NEAR_COMMANDS:]
