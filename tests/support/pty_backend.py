"""A `PtyBackend` over a real Linux pty, to run what is written for Windows here: it blocks as a pseudo console does."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Sequence

from conpty.backend import QUIET_SEC

STEP_SEC = 0.02


class LinuxBackend:
    """`command` with the pty as its terminal. `exit_code`: what `wait` says instead of the real one."""

    name = "direct"

    def __init__(self, command: Sequence[str], *, exit_code: int | None = None) -> None:
        self._master, slave = pty.openpty()
        self._exit_code = exit_code
        self._closed = threading.Event()
        self.sizes: list[tuple[int, int]] = []
        os.set_blocking(self._master, False)
        self._process = subprocess.Popen(
            list(command),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)
        self.pid = self._process.pid
        self._ended_at: float | None = None
        self._reaping = threading.Lock()

    def read(self) -> bytes:
        while not self._closed.is_set():
            if select.select([self._master], [], [], STEP_SEC)[0]:
                try:
                    return os.read(self._master, 32768)
                except OSError:
                    return b""
            if self._ended_at is not None and time.monotonic() - self._ended_at > QUIET_SEC:
                return b""
        return b""

    def write(self, data: bytes) -> None:
        while data:
            if self._closed.is_set() or self._ended_at is not None:
                raise BrokenPipeError("the child's terminal is closed")
            if select.select([], [self._master], [], STEP_SEC)[1]:
                with contextlib.suppress(BlockingIOError):
                    data = data[os.write(self._master, data) :]

    def resize(self, rows: int, cols: int) -> None:
        self.sizes.append((rows, cols))
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def wait(self, timeout: float | None) -> int | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._reaping:
                status = self._process.poll()
            if status is not None:
                self._ended_at = self._ended_at or time.monotonic()
                return status if self._exit_code is None else self._exit_code
            if deadline is not None and time.monotonic() >= deadline:
                return None
            self._closed.wait(STEP_SEC) if not self._closed.is_set() else time.sleep(STEP_SEC)

    def close(self) -> None:
        """As a window that is closed: whoever does not care lives on."""
        self._closed.set()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGHUP)

    def release(self) -> None:
        """For the test: nothing is left."""
        self.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(5)
        os.close(self._master)
