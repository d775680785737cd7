"""The pump where reads and writes can only block: `pump.Pump`'s surface, with a thread per end of each direction.

Invariants: those of `pump`: neither direction ever blocks the other (a console in which text is selected takes no
output for minutes), what waits is bounded, a tap that fails is dropped. The main thread alone runs the tap.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from conpty.backend import CLOSE_WAIT_SEC, LATE_OUTPUT_LIMIT_SEC, signed
from conpty.queries import ConsoleQueries
from ptyproxy.platform.windows_end_of_input import EndOfInput
from ptyproxy.platform.windows_threads import Inbox, Lane, Outlet
from ptyproxy.pump_base import PumpBase
from ptyproxy.tap_guard import Tap

if TYPE_CHECKING:
    from ptyproxy.platform.windows import ConsoleEvents, Terminal, WindowsPty

BATCH_BYTES = 16 * 1024  # of output between two looks at the keys
SIZE_SEC = 0.5  # some hosts send no event when their window changes
# after the child's exit; the backend says the end of its output itself, and this is for one that does not
DRAIN_LIMIT_SEC = LATE_OUTPUT_LIMIT_SEC + CLOSE_WAIT_SEC
GRACE_SEC = 0.9  # from the hang-up to the kill; Windows ends us 5 s after the window was closed
JOIN_SEC = 0.5  # for a thread that has nothing left to do
INTERRUPT = b"\x03"
EXIT_HUNG_UP = 0xC000013A  # STATUS_CONTROL_C_EXIT: what a console program ends with when its window is closed


class WindowsPump(PumpBase):
    """One child, one terminal. `run` returns the exit status; the caller restores the terminal."""

    def __init__(self, pty: WindowsPty, terminal: Terminal, tap: Tap | None = None, *, signals: ConsoleEvents) -> None:
        """`signals`: installed already and closed by the caller."""
        super().__init__(pty, terminal.exact_size(), tap)
        self.pty = pty
        self.terminal = terminal
        self._signals = signals
        self._inbox = Inbox()
        self._output, self._input = Lane(), Lane()
        self._screen = Outlet(terminal.write, "neocode-screen", self.wake)
        self._child = Outlet(pty.write, "neocode-child-input", self.wake)
        self._queries = ConsoleQueries(headless=not terminal.answers)
        self._end_of_input: EndOfInput | None = None
        self._last_output = time.monotonic()
        self._hung_up = False
        self._status: int | None = None
        self._ended = False
        self._size_due = 0.0
        terminal.resized = self._resized
        signals.notify = self.wake
        signals.restore = terminal.restore

    # -- for the rest of the proxy, on the main thread unless said otherwise

    def wake(self) -> None:
        """Make the loop call `tap.tick` soon. From any thread."""
        self._inbox.wake()

    def show(self, data: bytes) -> None:
        """Queue our own words for the terminal, behind what the child has written; after `run`, write them."""
        if not self._ended:
            self._screen.put(data, self.terminal.show)
        elif not self.terminal.gone:
            with suppress(OSError):
                self.terminal.show(data)

    def send(self, data: bytes) -> None:
        """Queue input of our own (the widget's key) for the child."""
        self._child.put(data)

    # -- the loop

    def run(self) -> int:
        """Move bytes until the shell ends or the terminal is gone; return the exit status (as ExitProcess takes it)."""
        keys = self._start(self._read_terminal, "neocode-keys")
        self._start(self._read_child, "neocode-child-output")
        self._start(self._await_exit, "neocode-child-exit")
        try:
            while self._status is None and not (self._hung_up or self._screen.gone):
                self._turn()
            return signed(self._end())
        finally:
            self._ended = True
            self._inbox.close()
            self._child.close(0)
            if not self._screen.close(JOIN_SEC):
                self.terminal.gone = True
            self.terminal.stop()
            if self.terminal.is_tty:
                keys.join(JOIN_SEC)

    def _start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def _turn(self) -> None:
        """One wake-up: what is there of each direction once, so that neither can starve the other."""
        timeout = self._timeout()
        lanes = [self._output] if self._screen.has_room else []
        if self._takes_keys:
            lanes.append(self._input)
        self._inbox.wait(lanes, timeout)
        self._take_events()
        if self._screen.has_room:
            self._take_output()
        if self._takes_keys:
            self._take_input()

    @property
    def _takes_keys(self) -> bool:
        return self._child.has_room and not self.input_held

    def _timeout(self) -> float | None:
        """Do what is due; how long nothing else will be."""
        waits = [self._tap.tick()]
        if self.terminal.has_console:
            now = time.monotonic()
            if now >= self._size_due:
                self._size_due = now + SIZE_SEC
                self._take_size(self.terminal.exact_size())
            waits.append(self._size_due - now)
        if self._end_of_input is not None:
            waits.append(self._end_of_input.tick(self._last_output))
            self._hung_up = self._hung_up or self._end_of_input.over
        due = [wait for wait in waits if wait is not None]
        return min(due) if due else None

    # -- bytes

    def _take_output(self) -> None:
        data = self._inbox.take(self._output, BATCH_BYTES)
        if not data:
            return
        self._last_output = time.monotonic()
        data, answers = self._queries.feed(data)
        if answers:
            self._child.put(answers)
        if data:
            before, ours, behind = self._tap.divide(data)
            self._screen.put(before)
            self._screen.put(ours, self.terminal.show)
            self._screen.put(behind)
            self._tap.output(data)

    def _take_input(self) -> None:
        data = self._inbox.take(self._input, BATCH_BYTES)
        if data:
            self._child.put(self._tap.input(data))
        elif self._end_of_input is None and self._inbox.ended(self._input):
            if self.terminal.is_tty:
                self._hung_up = True
            else:
                self._end_of_input = EndOfInput(self.pty.has_children, self.send)

    # -- events, sizes, the end

    def _take_events(self) -> None:
        if self._signals.interrupted:
            self._signals.interrupted = False
            self.send(INTERRUPT)
        self._hung_up = self._hung_up or self._signals.closed

    def _resized(self) -> None:
        """The console's reader saw a size event."""
        self._size_due = 0.0
        self.wake()

    def _end(self) -> int:
        if self._status is not None:
            self._drain()
            return self._status
        return self._dismiss()

    def _drain(self) -> None:
        """Pass on what the child and its children left, then what waits for the terminal."""
        deadline = time.monotonic() + DRAIN_LIMIT_SEC
        while not self._inbox.ended(self._output) and not (self._screen.gone or self._signals.closed):
            left = deadline - time.monotonic()
            if not self._screen.has_room:
                self._inbox.wait((), None)
                deadline = time.monotonic() + left  # the limit is on reading the child, not on a slow terminal
            elif left > 0:
                self._inbox.wait((self._output,), left)
                self._take_output()
            else:
                break
        self._screen.put(self._queries.flush())
        while not self._signals.closed and not self._screen.flush(SIZE_SEC):
            pass

    def _dismiss(self) -> int:
        """The terminal is gone, or a script's input is at its end: hang up, grace, kill."""
        ended = self._end_of_input is not None and self._end_of_input.over
        self.terminal.gone = not ended
        self._inbox.close()
        threading.Thread(target=self.pty.close, name="neocode-hang-up", daemon=True).start()
        status = self.pty.wait(GRACE_SEC)
        if status is None:
            self.pty.kill()
            status = self.pty.wait(GRACE_SEC)
        return 0 if ended else EXIT_HUNG_UP

    # -- the threads

    def _read_child(self) -> None:
        try:
            while data := self.pty.read():
                self._inbox.put(self._output, data)
        finally:
            self._inbox.end(self._output)

    def _read_terminal(self) -> None:
        try:
            while data := self.terminal.read():
                self._inbox.put(self._input, data)
        finally:
            self._inbox.end(self._input)

    def _await_exit(self) -> None:
        self._status = self.pty.wait(None)
        self.wake()
