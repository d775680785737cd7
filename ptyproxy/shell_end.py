"""How it ends: the shell has exited and what it left in its pty is passed on, or the shell is asked to go.

Invariants: reading a pty whose shell has ended takes at most `DRAIN_LIMIT_SEC`, whoever else holds it; what was read
is written unless the terminal is gone or we are told to end; signals go to the shell alone, and the last one is KILL.
"""

from __future__ import annotations

import signal
import sys
import time

from ptyproxy.platform.unix_poller import READ, WRITE, Poller

if sys.platform != "win32":
    from ptyproxy.child_output import ChildOutput
    from ptyproxy.platform.unix import UnixPty
    from ptyproxy.platform.unix_signals import ENDING, SignalPipe
    from ptyproxy.platform.unix_writer import TerminalWriter

assert sys.platform != "win32"

DRAIN_SILENCE_SEC = 0.03  # after the shell's exit: this long without output is the end of it
DRAIN_LIMIT_SEC = 0.2  # a background job may write for ever
GRACE_SEC = 0.9  # from HUP to TERM, and from TERM to KILL: nothing is left 3 s after the terminal
LOOK_SEC = 0.05  # how often a shell that is to go is looked at, besides when it ends


class ShellEnd:
    """The last moments of one shell. Waits with a poller of its own, for one descriptor and the signals."""

    def __init__(self, pty: UnixPty, out: TerminalWriter, output: ChildOutput, signals: SignalPipe) -> None:
        self._pty = pty
        self._out = out
        self._output = output
        self._signals = signals
        self._poller = Poller()
        self._poller.watch(signals.fd, READ)
        self._awaited = signals.fd

    def close(self) -> None:
        """Release the poller."""
        self._poller.close()

    def drain(self, patience: float | None = None) -> None:
        """Pass on what the shell and its children left in the pty, then what waits for the terminal.

        `patience`: seconds to wait for a terminal that takes nothing, None: until it does or a signal ends us.
        """
        deadline = time.monotonic() + DRAIN_LIMIT_SEC
        self._output.closed = False  # it may have been opened again since the last look
        while not self._output.closed and not self._out.gone:
            if self._out.pending:
                since = time.monotonic()
                if not self._flush_once(patience):
                    return
                deadline += time.monotonic() - since  # the limit is on reading the pty, not on a slow terminal
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not self._wait(self._pty.fd, READ, min(left, DRAIN_SILENCE_SEC)):
                break
            self._output.take()
        while self._out.pending and self._flush_once(patience):
            pass

    def _flush_once(self, patience: float | None) -> bool:
        if not self._wait(self._out.fd, WRITE, patience):
            return False
        self._out.flush()
        return True

    def dismiss(self) -> None:
        """The terminal is gone, or we are told to end: HUP, grace, TERM, grace, KILL, to the shell only."""
        for ask in (self._pty.hang_up, self._terminate, self._kill):
            ask()
            deadline = time.monotonic() + GRACE_SEC
            while self._pty.poll() is None and (left := deadline - time.monotonic()) > 0:
                self._let_it_write(min(left, LOOK_SEC))
            if self._pty.poll() is not None:
                break
        self.drain(patience=DRAIN_LIMIT_SEC)

    def _let_it_write(self, timeout: float) -> None:
        """Its last words are passed on if the terminal takes them at once; reading goes on in any case."""
        if self._output.closed:
            self._wait(self._signals.fd, READ, timeout)
        elif self._wait(self._pty.fd, READ, timeout):
            self._out.flush()
            if self._out.pending or self._out.gone:
                self._output.discard()
            else:
                self._output.take()

    def _terminate(self) -> None:
        self._pty.signal(signal.SIGTERM)

    def _kill(self) -> None:
        self._pty.signal(signal.SIGKILL)

    def _wait(self, fd: int, events: int, timeout: float | None) -> bool:
        """Wait for one descriptor; False: timed out, or a signal has come that ends us (or our child: SIGCHLD)."""
        if self._awaited not in (fd, self._signals.fd):
            self._poller.watch(self._awaited, 0)
        self._poller.watch(fd, events)
        self._awaited = fd
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            ready = self._poller.wait(None if end is None else end - time.monotonic())
            if not ready:
                return False
            if any(found == fd and fd != self._signals.fd for found, _ in ready):
                return True
            numbers = self._signals.read()
            if fd == self._signals.fd or numbers.intersection(ENDING):
                return False
