"""The Unix pty under the `PtyBackend` protocol, so that the Windows backends are held to what it does."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import sys
import threading
import time

from windows_argv import split_command_line

from conpty.backend import LATE_OUTPUT_LIMIT_SEC, QUIET_SEC, Launch, clamp_size
from ptyproxy.platform.base import ShellCommand, Size, SpawnError

if sys.platform != "win32":
    from ptyproxy.platform.unix import spawn

assert sys.platform != "win32"

STEP_SEC = 0.02


class UnixBackend:
    """A child on a Unix pty, in blocking calls."""

    name = "unix"

    def __init__(self, launch: Launch) -> None:
        argv = tuple(split_command_line(launch.command_line))
        environ = {os.fsencode(name): os.fsencode(value) for name, value in launch.environ.items()}
        before = os.getcwd()
        if launch.cwd is not None:
            os.chdir(launch.cwd)
        try:
            self._pty = spawn(ShellCommand(argv[0], argv, environ), Size(*clamp_size(launch.rows, launch.cols)), None)
        except SpawnError as error:
            kind = FileNotFoundError if error.exit_code == 127 else PermissionError
            raise kind(errno.ENOENT, str(error)) from error
        finally:
            os.chdir(before)
        self.pid = self._pty.pid
        self._status = threading.Lock()
        self._in_use = threading.Lock()
        self._closed = False
        self._over = False
        self._ended_at: float | None = None

    def _poll(self) -> int | None:
        with self._status:
            return self._pty.poll()

    def read(self) -> bytes:
        """As the protocol says; ends at the end of file, or when the child has ended and silence follows."""
        silent_since = None
        while not (self._over or self._closed):
            with self._in_use:
                data = None if self._closed else self._pty.read(65536)
            now = time.monotonic()
            if self._ended_at is None and self._poll() is not None:
                self._ended_at = now
            ended_at = self._ended_at
            self._over = ended_at is not None and now - ended_at >= LATE_OUTPUT_LIMIT_SEC
            if data:
                return data
            silent_since = silent_since or now
            quiet = ended_at is not None and now - max(silent_since, ended_at) >= QUIET_SEC
            if data == b"" or quiet:
                self._over = True
            else:
                with contextlib.suppress(ValueError, OSError):  # closed meanwhile
                    select.select([self._pty.fd], [], [], STEP_SEC)
        return b""

    def write(self, data: bytes) -> None:
        """As the protocol says."""
        while data:
            if self._closed or self._poll() is not None:
                raise BrokenPipeError(errno.EPIPE, "the child's terminal is closed")
            with self._in_use:
                data = data[0 if self._closed else self._pty.write(data) :]
            if data:
                time.sleep(STEP_SEC / 10)

    def resize(self, rows: int, cols: int) -> None:
        """As the protocol says."""
        with self._in_use:
            if not self._closed:
                self._pty.resize(Size(*clamp_size(rows, cols)))

    def wait(self, timeout: float | None) -> int | None:
        """As the protocol says."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self._poll()) is None and (deadline is None or time.monotonic() < deadline):
            time.sleep(STEP_SEC)
        return code

    def close(self) -> None:
        """As the protocol says."""
        with self._in_use:
            if self._closed:
                return
            self._closed = True
            self._pty.hang_up()
            self._pty.close()
        if self.wait(2.0) is None:
            self._pty.signal(signal.SIGKILL)
