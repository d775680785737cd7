"""The loop between the user's terminal and the child's pty, and nothing else.

Invariants: neither direction ever blocks the other; what waits is bounded (the side that cannot take more is simply
not read); every drain of a descriptor is bounded; a tap that fails is dropped and the shell goes on.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from ptyproxy.platform.base import SIGNAL_EXIT_BASE
from ptyproxy.platform.unix_poller import READ, WRITE, Poller
from ptyproxy.pump_base import PumpBase
from ptyproxy.tap_guard import Tap

if sys.platform != "win32":
    from ptyproxy.child_input import ChildInput
    from ptyproxy.child_output import MORE_BYTES, ChildOutput
    from ptyproxy.platform.unix import Terminal, UnixPty
    from ptyproxy.platform.unix_signals import ENDING, SignalPipe
    from ptyproxy.platform.unix_writer import TerminalWriter
    from ptyproxy.shell_end import DRAIN_LIMIT_SEC, DRAIN_SILENCE_SEC, ShellEnd

assert sys.platform != "win32"

TICK_SEC = 0.01  # while output streams the tap need not be asked with every batch what is due
REOPEN_SEC = 0.1  # nobody has the child's terminal open: look again, a process may open it by name
# a terminal that is not raw yet, or not any more, makes signals of these keys
KEYS = {signal.SIGINT: b"\x03", signal.SIGQUIT: b"\x1c"}


class Pump(PumpBase):
    """One child, one terminal. `run` returns the exit status; the caller restores the terminal."""

    def __init__(
        self, pty: UnixPty, terminal: Terminal, tap: Tap | None = None, signals: SignalPipe | None = None
    ) -> None:
        """`signals`: installed already and closed by the caller; without, they are caught from here to `run`'s end."""
        super().__init__(pty, terminal.exact_size(), tap)
        self.pty = pty
        self.terminal = terminal
        self._owns_signals = signals is None
        self._signals = signals or SignalPipe()
        if self._owns_signals:
            self._signals.install()
        # one set of descriptors while output flows and one while the terminal takes none: changing a single set with
        # every short write would cost four system calls each time
        self._flowing, self._stalled = Poller(), Poller()
        self._out = TerminalWriter(terminal.out_fd, terminal.out_blocks)
        self._output = ChildOutput(pty, self._out, self._tap)
        self._input = ChildInput(pty, self._output)
        self._stdin_open, self._hung_up = True, False
        self._reopen_at = 0.0
        self._tick_at = 0.0  # the first turn from then on asks the tap what is due
        self._fatal_signal = 0
        self._status: int | None = None
        self._watched = (-1, -1)

    # -- for the rest of the proxy, on the main thread unless said otherwise

    def wake(self) -> None:
        """Make the loop call `tap.tick` soon. From any thread."""
        self._signals.wake()

    def show(self, data: bytes) -> None:
        """Queue our own words for the terminal, behind what the child has written."""
        self._out.write(data)

    def send(self, data: bytes) -> None:
        """Queue input of our own (the widget's key) for the child."""
        self._input.send(data)

    # -- the loop

    def run(self) -> int:
        """Move bytes until the shell ends or the terminal is gone; return the exit status."""
        try:
            for poller in (self._flowing, self._stalled):
                poller.watch(self._signals.fd, READ)
            self._stalled.watch(self.terminal.out_fd, WRITE)
            self._resize()  # a change between the spawn and our handler went unnoticed
            self._take_signals()
            while self._status is None and not (self._fatal_signal or self._hung_up or self._out.gone):
                self._turn()
            return self._end()
        finally:
            self._flowing.close()
            self._stalled.close()
            if self._owns_signals:
                self._signals.close()

    def _turn(self) -> None:
        """One wake-up: whatever is ready, once each, so that no side can starve another."""
        timeout = self._timeout()
        self._watch()
        poller = self._stalled if self._out.pending else self._flowing
        ready = poller.wait(timeout)
        if len(ready) > 1:
            ready.sort(key=lambda event: event[0] == self.pty.fd)  # a key need not wait for a batch of output
        for fd, events in ready:
            if fd == self.pty.fd:
                if events & WRITE:
                    self._input.flush()
                if events & READ and self._output.stream(self._flowing.wait, self._tick_at) < MORE_BYTES:
                    self._look_again()
            elif fd == self._out.fd:
                self._out.flush()
            elif fd == self.terminal.in_fd:
                self._read_input()
            else:
                self._take_signals()
        if not ready:
            self._tick_at = 0.0

    def _watch(self) -> None:
        """Say what to wait for next, from what is pending where."""
        held = self.input_held and self.tap is not None
        reading = READ if self._stdin_open and not held and self._input.room > 0 else 0
        master = 0 if self._output.closed else (READ | WRITE if self._input.waits else READ)
        if (reading, master) != self._watched:
            self._watched = (reading, master)
            self._flowing.watch(self.pty.fd, master)
            self._stalled.watch(self.pty.fd, master & WRITE)
            self._flowing.watch(self.terminal.in_fd, reading)
            self._stalled.watch(self.terminal.in_fd, reading)

    def _timeout(self) -> float | None:
        """Do what is due; how long nothing else will be."""
        now = time.monotonic()
        if now < self._tick_at:
            return TICK_SEC
        self._tick_at = now + TICK_SEC
        wait = _sooner(self._tap.tick(), self._input.tick())
        if self._output.closed:
            self._output.closed = now < self._reopen_at
            wait = _sooner(wait, REOPEN_SEC if self._output.closed else None)
        return wait

    # -- bytes

    def _look_again(self) -> None:
        """The output pauses: time for what is due; or nobody has the child's terminal open."""
        self._tick_at = 0.0
        if self._output.closed:
            self._reopen_at = time.monotonic() + REOPEN_SEC

    def _read_input(self) -> None:
        self._tick_at = 0.0
        if (room := self._input.room) <= 0:
            return  # taken in this very turn
        try:
            data = os.read(self.terminal.in_fd, room)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._input.send(self._tap.input(data))
        elif not self.terminal.is_tty:
            self._stdin_open = False
            self._input.end()
        elif self.terminal.is_alive():
            # somebody took raw mode away, and this was the end-of-file key
            self.terminal.enter()
            self.send(self.pty.end_of_file_key())
        else:
            self._stdin_open = False
            self._hung_up = True

    # -- signals, sizes, the end

    def _take_signals(self) -> None:
        self._tick_at = 0.0
        numbers = self._signals.read()
        for number in numbers.intersection(ENDING):
            if self.terminal.is_tty and number in KEYS:
                self.send(KEYS[signal.Signals(number)])
            else:
                self._fatal_signal = number
        if signal.SIGCONT in numbers:
            self.terminal.enter()
        if signal.SIGWINCH in numbers or signal.SIGCONT in numbers:
            self._resize()
        self._status = self.pty.poll()  # after any signal: a full pipe may have lost the SIGCHLD
        if self.pty.stopped:
            self._suspend()

    def _resize(self) -> None:
        self._take_size(self.terminal.exact_size())

    def _suspend(self) -> None:
        """The shell stopped itself (`suspend`): so do we and what was started with us, and go on with it.

        As Ctrl-Z would: where nobody could continue us (an orphaned process group) the kernel does not stop us.
        """
        self._output.take_the_rest(DRAIN_SILENCE_SEC, DRAIN_LIMIT_SEC)  # of what it printed before it stopped
        self.terminal.leave()
        os.killpg(0, signal.SIGTSTP)
        self.terminal.enter()
        self.pty.resume()

    def _end(self) -> int:
        end = ShellEnd(self.pty, self._out, self._output, self._signals)
        try:
            if self._status is not None:
                end.drain()
                return self._status
            end.dismiss()
            return SIGNAL_EXIT_BASE + (self._fatal_signal or signal.SIGHUP)
        finally:
            end.close()


def _sooner(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)
