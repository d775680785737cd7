"""Signals as bytes on a pipe (signal.set_wakeup_fd), so that the loop handles them between two turns.

Invariants: a handler of ours does nothing; what was installed is put back; SIGHUP that was ignored when we started
(nohup) stays ignored.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

assert sys.platform != "win32"

CATCH = (signal.SIGWINCH, signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT)
WAKE = 0  # no signal has this number


class SignalPipe:
    """`fd` is readable when a signal came or `wake` was called. Use `install` and `close` on the main thread."""

    def __init__(self) -> None:
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        self._old_handlers: dict[int, Callable[..., object] | int | None] = {}
        self._old_wakeup = -1

    def install(self) -> None:
        """Catch the signals of `CATCH` from now on."""
        self._old_wakeup = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for number in CATCH:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                self._old_handlers[number] = signal.signal(number, _only_wake)

    def wake(self) -> None:
        """Make `fd` readable. From any thread; a full pipe means that it is."""
        try:
            os.write(self._write_fd, bytes((WAKE,)))
        except OSError:
            pass

    def read(self) -> set[int]:
        """The numbers of the signals that came since the last call, WAKE among them after `wake`."""
        try:
            return set(os.read(self.fd, 4096))
        except BlockingIOError:
            return set()

    def close(self) -> None:
        """Put the handlers back and close the pipe."""
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._old_handlers.clear()
        signal.set_wakeup_fd(self._old_wakeup)
        for fd in (self.fd, self._write_fd):
            os.close(fd)


def _only_wake(number: int, frame: object) -> None:
    """The pipe has the signal's number already; a handler must exist for that to be written."""
