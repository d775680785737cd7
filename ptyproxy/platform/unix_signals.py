"""Signals as bytes on a pipe (signal.set_wakeup_fd), so that the loop handles them between two turns.

Invariants: a handler of ours does nothing; what was installed is put back; a signal that would end us but was ignored
when we started (nohup, a background job of a script) stays ignored; a child gets the dispositions and the mask that
we were given.
"""

from __future__ import annotations

import os
import signal
import sys
from _thread import allocate_lock  # threading would cost the first prompt 4 ms
from collections.abc import Callable

if sys.platform != "win32":
    from ptyproxy.platform.unix_inherited import fill_standard_descriptors

assert sys.platform != "win32"

# without these the loop does not work: they are caught, and unblocked, however we were started
NEEDED = (signal.SIGWINCH, signal.SIGCHLD, signal.SIGCONT)
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
# Python ignores these two for itself; a child that inherited that would not die of a closed pipe (python/cpython#1652)
IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")
WAKE = 0  # no signal has this number


class SignalPipe:
    """`fd` is readable when a signal came or `wake` was called. Install and close it on the main thread.

    As a context manager it is installed for the time of the block.
    """

    def __init__(self) -> None:
        fill_standard_descriptors()
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)
        self._old_handlers: dict[int, Callable[..., object] | int | None] = {}
        self._old_mask: set[int] | None = None
        self._old_wakeup = -1
        self._closing = allocate_lock()  # a late `wake` must not write to whatever has the number by then

    def __enter__(self) -> SignalPipe:
        self.install()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def install(self) -> None:
        """Catch the signals from now on."""
        self._old_wakeup = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for number in (*NEEDED, *ENDING):
            if number in NEEDED or signal.getsignal(number) is not signal.SIG_IGN:
                self._old_handlers[number] = signal.signal(number, _only_wake)
        self._old_mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, NEEDED)

    def restore_in_child(self) -> None:
        """Between fork and exec: what exec itself does not undo."""
        signal.set_wakeup_fd(-1)
        for number, handler in self._old_handlers.items():
            signal.signal(number, signal.SIG_IGN if handler is signal.SIG_IGN else signal.SIG_DFL)
        for name in IGNORED_BY_PYTHON:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if self._old_mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)

    def wake(self) -> None:
        """Make `fd` readable. From any thread; a full pipe means that it is, a closed one that nobody waits."""
        with self._closing:
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
        """Put handlers and mask back and close the pipe. Idempotent."""
        if self.fd < 0:
            return
        if self._old_mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)
            signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        with self._closing:
            os.close(self.fd)
            os.close(self._write_fd)
            self.fd = self._write_fd = -1


def _only_wake(number: int, frame: object) -> None:
    """The pipe has the signal's number already; a handler must exist for that to be written."""
