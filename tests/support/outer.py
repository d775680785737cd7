"""The user's terminal in tests: a real pty with a program on it, its keyboard and its screen in our hands."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

RUNNER = [sys.executable, "-I", str(Path(__file__).with_name("pump_runner.py"))]
READ_BYTES = 64 * 1024
PATIENCE_SEC = 20.0  # for a busy machine; nothing waits that long when it works


def bash(script: str) -> list[str]:
    """PROGRAM ARGV0 ... of a bash that runs a script."""
    return ["/bin/bash", "bash", "-c", script]


class Outer:
    """`command` runs with the slave as stdin, stdout, stderr and controlling terminal; `slave` stays open here too,
    the very description that the program has. Give `stdin`, `stdout` to put something else there."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        size: tuple[int, int] | tuple[int, int, int, int] | None = (24, 80),
        env: Mapping[str, str] | Mapping[bytes, bytes] | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        before: Callable[[], None] | None = None,
        pass_fds: Sequence[int] = (),
        cooked: Callable[[int], None] | None = None,
        typed_before: bytes = b"",
    ) -> None:
        self.master, self.slave = pty.openpty()
        if size is not None:
            self.resize(*size)
        if cooked is not None:
            cooked(self.slave)
        self.before_attributes = termios.tcgetattr(self.slave)
        if typed_before:
            os.write(self.master, typed_before)
        os.set_blocking(self.master, False)
        self._outbox = bytearray()
        self.screen = bytearray()  # everything printed and not yet expected

        def become_leader() -> None:
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            if before is not None:
                before()

        self.process = subprocess.Popen(
            list(command),
            stdin=self.slave if stdin is None else stdin,
            stdout=self.slave if stdout is None else stdout,
            stderr=self.slave,
            env=env,
            start_new_session=True,
            preexec_fn=become_leader,  # noqa: PLW1509
            pass_fds=pass_fds,
        )

    # -- keyboard and screen

    def send(self, data: bytes) -> None:
        """Type; what the terminal does not take yet goes in with the next reads."""
        self._outbox += data
        self._type()

    def _type(self) -> None:
        if self._outbox:
            with contextlib.suppress(BlockingIOError):
                del self._outbox[: os.write(self.master, self._outbox)]

    def step(self, timeout: float) -> bytes:
        """One read of what is printed; b"" when nothing came (or nothing can come any more)."""
        wanted = [self.master] if self._outbox else []
        readable, _, _ = select.select([self.master], wanted, [], timeout)
        self._type()
        if not readable:
            return b""
        try:
            data = os.read(self.master, READ_BYTES)
        except BlockingIOError:
            return b""
        self.screen += data
        return data

    def expect(self, text: bytes, timeout: float = PATIENCE_SEC) -> bytes:
        """Read until `text` is on the screen; returns everything up to its end and forgets it."""
        deadline = time.monotonic() + timeout
        while (at := self.screen.find(text)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} did not come; there is {bytes(self.screen[-2000:])!r}"
            assert self.step(min(left, 0.2)) or self.process.poll() is None or self.step(0.2), (
                f"ended with {self.process.poll()} before {text!r}; there is {bytes(self.screen[-2000:])!r}"
            )
        found = bytes(self.screen[: at + len(text)])
        del self.screen[: at + len(text)]
        return found

    def expect_bytes(self, count: int, timeout: float = PATIENCE_SEC) -> bytes:
        """Read exactly `count` bytes."""
        deadline = time.monotonic() + timeout
        while len(self.screen) < count:
            left = deadline - time.monotonic()
            assert left > 0, f"{len(self.screen)} of {count} bytes; {bytes(self.screen[-200:])!r}"
            self.step(min(left, 0.2))
        found = bytes(self.screen[:count])
        del self.screen[:count]
        return found

    def finish(self, timeout: float = PATIENCE_SEC) -> bytes:
        """Read until the program has ended and nothing more comes; returns the rest of the screen."""
        deadline = time.monotonic() + timeout
        while self.step(0.02) or self.process.poll() is None or self.step(0.02):
            assert time.monotonic() < deadline, f"still running; there is {bytes(self.screen[-2000:])!r}"
        rest = bytes(self.screen)
        self.screen.clear()
        return rest

    def status(self, timeout: float = PATIENCE_SEC) -> int:
        """Read to the end, and the exit status."""
        self.finish(timeout)
        return self.process.wait(timeout)

    # -- the terminal itself

    def resize(self, rows: int, cols: int, xpixel: int = 0, ypixel: int = 0) -> None:
        """As a window that is dragged: the size and SIGWINCH."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, xpixel, ypixel))

    def hang_up(self) -> None:
        """Close the window."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def close(self) -> None:
        """End whatever still runs."""
        self.hang_up()
        if self.process.poll() is None:
            for number in (signal.SIGCONT, signal.SIGTERM):
                self.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(4)
            self.process.kill()
        self.process.wait()
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def __enter__(self) -> Outer:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def make_raw(fd: int) -> None:
    """For `cooked`: a terminal that changes nothing."""
    tty.setraw(fd)
