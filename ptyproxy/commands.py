"""Decides from the marks which commands ran: IDLE -> (A) PROMPT -> (B) INPUT -> (C) OUTPUT -> (D) IDLE.

Rules: C, D and K count only with our nonce; once one had it, no foreign mark counts. A and B have none, so inside an
authenticated command they end nothing: only D does, or the next C when a D was lost. Repeated A and B are one prompt.
A D where nothing ran makes no record. The command line may follow C as late as right before D; where the shell is not
sure of it (`sure=0`), the echo on the screen decides. Without C the Enter key stands in for it, and the span is called
approximate; a shell that can mark its prompts only says `starts=enter` in D, and what was run is read off the screen,
or told right before D (`late=1`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from ptyproxy.records import (
    CommandEnded,
    CommandRecord,
    CommandStarted,
    Event,
    HotkeyPressed,
    PromptBegan,
    PromptEnded,
    Source,
)
from ptyproxy.running import Running
from ptyproxy.stream.marks import Mark, PartsJoiner, is_first_part

FACTS_KEPT = 16
_OWN_KEYS = frozenset({"nc", "exit", "cwd", "cmd", "part", "cut"})
INTERRUPTED = "^C"  # what a console shows of the key
RECORDS_KEPT = 50  # with 64 KiB of head each at most 3.2 MiB; more than a person looks back

State = Literal["idle", "prompt", "input", "output"]


class CommandTracker:
    """Give `mark` every mark in order. `finish` is called to complete a record with what only the capture has."""

    def __init__(
        self,
        nonce: str | None,
        clock: Callable[[], float],
        hostname: str | None,
        finish: Callable[[CommandRecord], CommandRecord],
        typed: Callable[[tuple[int, int]], str | None] = lambda span: None,
        echo: Callable[[int, int], tuple[str | None, int] | None] = lambda start, end: None,
    ) -> None:
        """`typed`: the line that the screen shows at a span of the stream, None when it cannot be told.

        `echo`: the line that is echoed at an offset, and where the next one begins; None when none ends before `end`.
        """
        self._nonce = nonce
        self._clock = clock
        self._hosts = {"", "localhost", hostname}
        self._any_host = hostname is None
        self._finish = finish
        self._typed = typed
        self._echo = echo
        self._number = 0
        self._announced_command: str | None = None  # a foreign command line that came before its C
        self._cwd_authenticated = False
        self._marked_commands = False  # C was seen: Enter says nothing new
        self._marked_prompts = False
        self._input_start: int | None = None
        self._amendable = False
        self.authenticated = False
        self.facts: dict[str, str] = {}
        self.state: State = "idle"
        self.cwd: str | None = None
        self.running: Running | None = None
        self.records: deque[CommandRecord] = deque(maxlen=RECORDS_KEPT)

    def mark(self, mark: Mark) -> list[Event]:
        """What one mark changes."""
        if mark.kind == "cwd":
            self._foreign_cwd(mark)
            return []
        if mark.ours and mark.kind in ("C", "D", "K"):
            if self._nonce is None or mark.nonce != self._nonce:
                return []
            self._authenticate()
        elif not mark.ours and (self.authenticated or self._nested(mark)):
            return []
        if mark.kind == "A":
            return self._prompt_begins(mark)
        if mark.kind == "B":
            return self._prompt_ends(mark)
        if mark.kind == "C":
            return self._our_command(mark) if mark.ours else self._foreign_command(mark)
        if mark.kind == "D":
            return self._command_ends(mark)
        if mark.kind == "K":
            fields = {key: value[0] for key in mark.fields if key != "nc" and (value := mark.text(key))}
            return [HotkeyPressed(fields, mark.start, mark.end)]
        self._announced_command = mark.fields["cmd"]
        return []

    def enter(self, offset: int, *, typed: bool) -> list[Event]:
        """Enter was pressed when the stream stood at `offset`; `typed`: on a line that was not empty."""
        if self._marked_commands or (self.authenticated and not self._enter_starts):
            return []
        if self.state == "output" and self._marked_prompts:
            return []  # input of the command that runs; the next A ends it
        if not typed:
            if self._marked_prompts:
                self.state = "idle"  # nothing runs, and the next A is a new prompt
            return []
        events = self._close(None, offset)
        running = self._begin("enter", offset)
        if self._enter_starts and running.input_span is not None:
            running.command = self._typed(running.input_span) or None
        return events + self._announce()

    def screen_switched(self, alternate: bool) -> None:
        """The alternate screen was entered or left."""
        if self.running is not None and alternate:
            self.running.alternate_screen = True

    @property
    def _enter_starts(self) -> bool:
        """The integration can mark prompts only, and no other told when a command begins."""
        return self.facts.get("starts") == "enter" and not self._marked_commands

    def _authenticate(self) -> None:
        """From the first mark with the nonce on, what others said of the running command is void."""
        if not self.authenticated:
            self.authenticated = True
            self.running = None
            self._amendable = False
            if self.state == "output":
                self.state = "input"

    def _nested(self, mark: Mark) -> bool:
        """Whether a foreign mark comes from another shell than the running command's (kitty's `aid`)."""
        theirs, running = mark.fields.get("aid"), self.running
        return running is not None and theirs is not None and running.aid is not None and theirs != running.aid

    def _foreign_cwd(self, mark: Mark) -> None:
        if not self._cwd_authenticated and (self._any_host or mark.fields.get("host", "") in self._hosts):
            self.cwd = mark.fields["cwd"]

    def _prompt_begins(self, mark: Mark) -> list[Event]:
        events: list[Event] = []
        self._marked_prompts = True
        if self.running is not None:
            if self.authenticated:
                self.running.prompt_since = mark.start
                return []
            events = self._close(None, mark.start)
        new = self.state == "idle"
        self.state = "prompt"
        self._input_start = None
        self._amendable = False
        return [*events, PromptBegan(new, mark.start, mark.end)]

    def _prompt_ends(self, mark: Mark) -> list[Event]:
        if self.running is not None:
            return []
        self.state = "input"
        self._input_start = mark.end
        return [PromptEnded(mark.start, mark.end)]

    def _our_command(self, mark: Mark) -> list[Event]:
        if "late" in mark.fields:
            self._late_command(mark)
            return []
        if self.running is not None and self.running.source == "enter":
            self.running = None  # what Enter had guessed at
        events: list[Event] = []
        running = self.running
        if running is None or running.parts is None or is_first_part(mark):
            if running is not None:
                events += self._close(None, mark.start if running.prompt_since is None else running.prompt_since)
            running = self._begin("neocode", mark.start)
            running.parts = PartsJoiner("cmd")
            running.start = mark.end
            complete = running.first_part(mark)
        else:
            complete = running.part(mark)
        return events + self._announce() if complete else events

    def _late_command(self, mark: Mark) -> None:
        """The command that began with Enter, and has ended: its line."""
        running = self.running
        if running is None:  # it was typed ahead
            running = self._begin("enter", mark.start if self._input_start is None else self._input_start)
        running.late_part(mark)

    def _read_screen(self, end: int) -> None:
        """What ran between the last prompt and this one, as the screen tells it: the line, and where output begins."""
        running = self.running
        if self._input_start is None or (running is not None and running.told is not None):
            return
        echo = self._echo(self._input_start, end)
        if echo is None:
            return
        line, past = echo
        if line is not None and (not line.strip() or line.endswith(INTERRUPTED)):
            self.running = None  # an empty line, or one that was given up
            return
        if running is None:
            if line is None:
                return
            running = self._begin("enter", past)  # typed ahead, or a batch file that shows what it runs
        running.start = past
        running.command = line or running.command

    def _foreign_command(self, mark: Mark) -> list[Event]:
        command = mark.fields.get("cmd", self._announced_command)
        self._announced_command = None
        running = self.running
        if running is not None and running.source == "foreign":
            # two integrations speak of one command: the first C has its place, either may have its text
            running.command = running.command if running.command is not None else command
            return []
        self.running = None  # what Enter had guessed at
        running = self._begin("foreign", mark.start)
        running.start = mark.end
        running.command = command
        running.exact = command is not None
        running.aid = mark.fields.get("aid")
        return self._announce()

    def _begin(self, source: Source, at: int) -> Running:
        """A command begins to run when the stream stands at `at`."""
        self._number += 1
        self._amendable = False
        self._marked_commands = self._marked_commands or source != "enter"
        self.state = "output"
        self.running = Running(self._number, source, self._clock(), at, self.cwd)
        if self._input_start is not None:
            self.running.input_span = (self._input_start, at)
        return self.running

    def _announce(self) -> list[Event]:
        running = self.running
        if running is None or running.announced:
            return []
        running.take_line(self._typed)
        running.announced = True
        return [CommandStarted(running.record())]

    def _learn(self, mark: Mark) -> None:
        """What else an authenticated D says: the shell's version, who has the hotkey."""
        for key in mark.fields.keys() - _OWN_KEYS:
            value = mark.text(key)
            if value is not None and (key in self.facts or len(self.facts) < FACTS_KEPT):
                self.facts[key] = value[0]

    def _command_ends(self, mark: Mark) -> list[Event]:
        code = mark.exit_code
        directory = mark.text("cwd") if mark.ours else None
        if mark.ours:
            self._learn(mark)
            if self._enter_starts:
                self._read_screen(mark.start)
        events: list[Event] = []
        if self.running is not None:
            bare = not mark.ours and "exit" not in mark.fields and mark.start <= self.running.start
            nothing_ran = self.running.command == "" or (bare and self.running.command is None)
            if nothing_ran:
                self.running = None
            else:
                amendable = not mark.ours and code is None
                told = self.running.told
                events = self._close(code, told[0] if told and told[1] == mark.start else mark.start)
                self._amendable = amendable
        elif self._amendable and code is not None:
            self._amendable = False
            self.records[-1] = self.records[-1]._replace(exit_code=code)
            events = [CommandEnded(self.records[-1], amended=True)]
        if directory is not None:
            self.cwd = directory[0]
            self._cwd_authenticated = True
        self.state = "idle"
        self._input_start = None
        return events

    def _close(self, code: int | None, end: int) -> list[Event]:
        running = self.running
        if running is None:
            return []
        events = self._announce()
        self.running = None
        self.state = "idle"
        record = running.record()._replace(exit_code=code, ended=self._clock(), end=max(end, running.start))
        record = self._finish(record)
        self.records.append(record)
        return [*events, CommandEnded(record)]
