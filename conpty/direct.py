"""The pseudo console without anybody between: bytes as conhost writes them, back-pressure, a real end of file.

Invariants: what is not read waits in the pipe and so stops the child, never our memory; once the console is being
closed somebody reads until it is gone, for before Windows 11 24H2 closing waits for that (microsoft/terminal#17489).
"""

from __future__ import annotations

import errno
import threading
import time
from typing import Protocol

from conpty.backend import (
    CLOSE_GRACE_SEC,
    CLOSE_WAIT_SEC,
    LATE_OUTPUT_LIMIT_SEC,
    QUIET_SEC,
    ChildProcess,
    Launch,
    clamp_size,
)
from conpty.exit_watch import ExitWatch

DRAIN_STEP_SEC = 0.1  # how often a drain looks whether the console is closed


class PseudoConsole(Protocol):
    """One pseudo console with our ends of its pipes. Only `read` and `write` block, and `close_console`."""

    def spawn(self, launch: Launch) -> ChildProcess:
        """Start the child in it. Raises FileNotFoundError, PermissionError or another OSError."""
        ...

    def read(self, timeout: float | None) -> bytes | None:
        """Output; `b""` once the console is gone; None after `timeout` seconds without any, or by `wake`."""
        ...

    def wake(self) -> None:
        """Make the `read` that waits, or else the next one, return None."""
        ...

    def write(self, data: bytes) -> None:
        """Block until all of it is taken. OSError when the console is gone, or by `stop_writing`."""
        ...

    def stop_writing(self) -> None:
        """Make every `write` fail from now on, the one that waits too."""
        ...

    def resize(self, rows: int, cols: int) -> None:
        """Set the size. Raises OSError."""
        ...

    def close_console(self) -> None:
        """Close the console and with it the children's window; may block while output of it is unread."""
        ...

    def release(self) -> None:
        """Let go of pipes and events. Not while `read` or `write` runs."""
        ...


class PseudoConsoleApi(Protocol):
    """Where pseudo consoles come from: `pseudo_console_api.py`, or a fake."""

    def open(self, rows: int, cols: int) -> PseudoConsole:
        """A new console without a child. Raises OSError, and none of its subclasses: those are about the program."""
        ...


def cut_length(data: bytes) -> int:
    """How many bytes at the end of `data` begin a UTF-8 character that is not whole yet."""
    for length in range(1, min(3, len(data)) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            return length if length < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0


class DirectBackend:
    """A `PtyBackend` straight over the pseudo console API."""

    name = "direct"

    def __init__(self, api: PseudoConsoleApi, launch: Launch) -> None:
        self._console = api.open(*clamp_size(launch.rows, launch.cols))
        try:
            process = self._console.spawn(launch)
        except BaseException:
            self._console.close_console()
            self._console.release()
            raise
        self._early = b""
        self._cut = b""  # of a character that is being typed: not every conhost keeps it between two reads
        self._over = False  # `read` has said so, or nobody will ask any more
        self._closing = False
        self._console_closing_at: float | None = None
        self._console_closed = threading.Event()
        self._state = threading.Lock()
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        self._sizing = threading.Lock()
        self._exit = ExitWatch(process, self._on_exit)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._exit.pid

    def _on_exit(self) -> None:
        self._console.stop_writing()
        self._console.wake()

    def first_output(self, timeout: float) -> bool:
        """Whether the console shows anything within `timeout` seconds, or the child has run to its end in it.

        `read` gives the output out afterwards.
        """
        with self._reading:
            deadline = time.monotonic() + timeout
            while not (self._early or self._over or self._exit.ended_at) and (left := deadline - time.monotonic()) > 0:
                chunk = self._console.read(left)
                self._early, self._over = chunk or b"", chunk == b""
            if self._over:  # the end of the output may be seen before that of the child
                self._exit.wait(max(deadline - time.monotonic(), 0.0))
            return bool(self._early or self._exit.ended_at)

    def read(self) -> bytes:
        """Block until there is output; `b""`: there will be none any more."""
        with self._reading:
            if self._early:
                early, self._early = self._early, b""
                return early
            while not self._over:
                chunk = self._take()
                if chunk:
                    return chunk
            return b""

    def _take(self) -> bytes:
        """Output, or nothing after one more step towards the end."""
        exited_at, patience = self._exit.ended_at, None
        if self._console_closing_at is not None:
            patience = self._console_closing_at + CLOSE_WAIT_SEC - time.monotonic()
        elif exited_at is not None:
            patience = min(QUIET_SEC, exited_at + LATE_OUTPUT_LIMIT_SEC - time.monotonic())
        chunk = self._console.read(patience if patience is None else max(patience, 0.0))
        if self._closing or chunk == b"":
            self._over = True
        elif self._console_closing_at is not None:
            self._over = chunk is None or (patience is not None and patience <= 0)
        elif patience is not None and (chunk is None or patience <= 0):
            self._close_console()  # what the console still has to draw comes before its end of file
        return chunk or b""

    def write(self, data: bytes) -> None:
        """Block until all is taken; BrokenPipeError once the child has ended or this is closed."""
        with self._writing:
            if self._closing:  # and after the child's end `stop_writing` refuses
                raise BrokenPipeError(errno.EPIPE, "the child's terminal is closed")
            data = self._cut + data
            whole = len(data) - cut_length(data)
            self._cut = data[whole:]
            if whole:
                self._console.write(data[:whole])

    def resize(self, rows: int, cols: int) -> None:
        """Set the size, clamped; a console that is gone is no error."""
        with self._sizing:
            if self._console_closing_at is None:
                try:
                    self._console.resize(*clamp_size(rows, cols))
                except OSError:
                    pass

    def wait(self, timeout: float | None) -> int | None:
        """The exit code, unsigned in 32 bits, or None after `timeout` seconds."""
        return self._exit.wait(timeout)

    def close(self) -> None:
        """Close the child's window. What takes longer than CLOSE_WAIT_SEC goes on behind this call."""
        with self._state:
            if self._closing:
                return
            self._closing = True
        self._console.stop_writing()
        self._console.wake()
        closer = threading.Thread(target=self._shut_down, name="conpty-close", daemon=True)
        closer.start()
        closer.join(CLOSE_WAIT_SEC)

    def _close_console(self) -> None:
        """Begin to close the console, once; `_console_closed` tells when it is done."""
        with self._state:
            if self._console_closing_at is not None:
                return
            self._console_closing_at = time.monotonic()

        def close_console() -> None:
            with self._sizing:
                pass  # a `resize` that runs is over then, and the next one sees that it must not
            self._console.close_console()
            self._console_closed.set()

        threading.Thread(target=close_console, name="conpty-close-console", daemon=True).start()

    def _shut_down(self) -> None:
        self._close_console()
        with self._reading:  # the reader has been woken, and leaves
            self._drain(time.monotonic() + CLOSE_GRACE_SEC)
            self._over, self._early = True, b""
        self._exit.end_within(CLOSE_GRACE_SEC)
        if self._exit.wait(CLOSE_WAIT_SEC) is not None and self._console_closed.wait(CLOSE_WAIT_SEC):
            with self._reading, self._writing:
                self._console.release()

    def _drain(self, deadline: float) -> None:
        """Read and drop until the console is gone, so that closing it cannot wait for us."""
        while time.monotonic() < deadline:
            chunk = self._console.read(DRAIN_STEP_SEC)
            if chunk == b"" or (chunk is None and self._console_closed.is_set()):
                return
