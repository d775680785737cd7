"""Remembers what the terminal showed and which command each part of it belongs to.

Invariants: nothing raises, whatever the bytes; the result is the same however they are cut; memory is bounded by the
ring, the records and one unfinished sequence. On plain output a read costs an append and a search for one byte.
Belongs to the pump's thread, but for `ring` and `output`, which any thread may use.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ptyproxy.commands import CommandTracker, State
from ptyproxy.records import CommandRecord, Event, Output, ScreenSwitched
from ptyproxy.stream.marks import read_mark
from ptyproxy.stream.modes import ModeTracker
from ptyproxy.stream.scan import Scanner, Token
from ringbuffer.head import HeadKeeper
from ringbuffer.ring import DEFAULT_CAPACITY, RingBuffer

PROMPT_BYTES = 1024  # of marks and a directory's name, in front of a prompt


class Capture:
    """`feed` it every read of the child's output, in order; it tells what happened."""

    def __init__(
        self,
        nonce: str | None = None,
        *,
        capacity: int = DEFAULT_CAPACITY,
        clock: Callable[[], float] = time.monotonic,
        hostname: str | None = None,
        cwd: str | None = None,
    ) -> None:
        """`nonce`: what C, D and K of our integration carry. `capacity`: the ring's, in bytes.

        `hostname`: directories that a foreign mark reports for another host are ignored. `cwd`: where the shell began.
        """
        self.ring = RingBuffer(capacity)
        self.modes = ModeTracker()
        self.faults = 0  # errors of our own that were survived; 0 unless there is a bug
        self._scanner = Scanner()
        self._head = HeadKeeper()
        self._tracker = CommandTracker(nonce, clock, hostname, self._finished, self._typed, self._echo)
        self._tracker.cwd = cwd

    @property
    def state(self) -> State:
        """`idle` after a command or before the first prompt, `prompt` while it is drawn, `input`, or `output`."""
        return self._tracker.state

    @property
    def authenticated(self) -> bool:
        """Whether a mark with the nonce was ever seen: the integration works."""
        return self._tracker.authenticated

    @property
    def cwd(self) -> str | None:
        """The shell's directory, as far as anybody said it."""
        return self._tracker.cwd

    @property
    def facts(self) -> dict[str, str]:
        """What the integration said of itself: `shell`, `hotkey` (ours, user, none), `hooks`."""
        return dict(self._tracker.facts)

    @property
    def records(self) -> list[CommandRecord]:
        """The commands that ended, oldest first, `commands.RECORDS_KEPT` at most."""
        return list(self._tracker.records)

    @property
    def running(self) -> CommandRecord | None:
        """The command that runs, so far; without marks, the window since the last Enter."""
        running = self._tracker.running
        return None if running is None else running.record()._replace(head=self._head.read(self.ring.end))

    def feed(self, data: bytes) -> list[Event]:
        """Take one read of any size; what it completes, in order. Never raises."""
        base = self.ring.append(data) - len(data)
        events: list[Event] = []
        try:
            for token in self._scanner.feed(data):
                events += self._token(token, data, base)
            if self._tracker.running is not None and self._head.wanting:
                self._head.append(data, base)
        except Exception:  # a fault here may cost a record, never the user's shell
            self.faults += 1
            self._scanner = Scanner(self.ring.end)
        return events

    def _token(self, token: Token, data: bytes, base: int) -> list[Event]:
        if token.kind != "osc":
            switch = self.modes.apply(token)
            if switch is None:
                return []
            self._tracker.screen_switched(switch.alternate)
            return [ScreenSwitched(*switch)]
        mark = read_mark(token)
        if mark is None:
            return []
        if self._tracker.running is not None:
            self._head.append(data, base)  # all that this mark may turn out to end
        events = self._tracker.mark(mark)
        self._follow()
        return events

    def _follow(self) -> None:
        """When the output that runs has another beginning than the kept head, begin a new head."""
        running = self._tracker.running
        if running is not None and running.start != self._head.start:
            self._head.begin(running.start)
            running.alternate_screen = running.alternate_screen or self.modes.alternate

    def enter(self, *, typed: bool) -> list[Event]:
        """The user pressed Enter; `typed`: after typing something. Matters only where the shell gives no C marks."""
        events = self._tracker.enter(self.ring.end, typed=typed)
        self._follow()
        return events

    def _typed(self, span: tuple[int, int]) -> str | None:
        from ptyproxy.stream.echo import typed_line

        shot = self.ring.snapshot(*span)
        return None if shot.truncated else typed_line(shot.data, absolute=self.console_line)

    def _echo(self, start: int, end: int) -> tuple[str | None, int] | None:
        from ptyproxy.stream.echo import ECHO_LIMIT, typed_line

        shot = self.ring.snapshot(start, min(end, start + ECHO_LIMIT))
        past = shot.data.find(b"\n") + 1
        line = typed_line(shot.data[:past], absolute=self.console_line)
        return None if shot.truncated or not past else (line, start + past)

    def prompt_so_far(self) -> bytes:
        """The end of what was printed, for a shell that prints its prompt by pieces; else nothing."""
        return self.ring.snapshot(max(0, self.ring.end - PROMPT_BYTES)).data if self.console_line else b""

    @property
    def console_line(self) -> bool:
        """Whether it is the console that reads the shell's line, as for CMD."""
        return self._tracker.facts.get("starts") == "enter"

    def _finished(self, record: CommandRecord) -> CommandRecord:
        end = record.start if record.end is None else record.end
        late = record.start - self._head.start  # the screen told only now where the output begins
        head = self._head.read(end)[late:] if late >= 0 else b""
        return record._replace(head=head, truncated=end - record.start > self.ring.capacity)

    def output(self, record: CommandRecord) -> Output:
        """The output of a command, as much of it as is kept: whole, or its head and its tail."""
        shot = self.ring.snapshot(record.start, record.end)
        if not shot.truncated:
            return Output(b"", 0, shot.data)
        head_end = record.start + len(record.head)
        if head_end >= shot.start:
            return Output(b"", 0, record.head + shot.data[head_end - shot.start :])
        return Output(record.head, shot.start - head_end, shot.data)
