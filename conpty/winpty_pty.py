"""The pseudo console through pywinpty's `PTY` class, for where the direct way does not work.

What it costs, compared with `direct.py`: output is decoded by every read of 32 KiB, so a character cut there becomes
two U+FFFD and NUL is lost; output that nobody reads is kept in memory without bound; constructing a PTY changes the
console's modes and never puts them back (who owns the console saves them before and restores them after).
Invariants: reading never spins although the class answers '' for ever after the end; nobody closes it while in use.
"""

from __future__ import annotations

import codecs
import errno
import os
import shutil
import threading
import time
from collections.abc import Callable
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
from conpty.command_line import split_program
from conpty.environment import environment_block
from conpty.exit_watch import ExitWatch

EMPTY_READ_PAUSE_SEC = 0.02  # the class may answer '' at once although more comes
CANCEL_STEP_SEC = 0.05  # a cancel that meets no pending read does nothing, so it is repeated
CONPTY = 0  # winpty.Backend.ConPTY; the other one, WinPTY, needs an agent and reads the screen


class Pty(Protocol):
    """What we use of `winpty.PTY`, as measured with 3.1.2."""

    @property
    def pid(self) -> int | None: ...
    @property
    def fd(self) -> int | None: ...
    def spawn(self, appname: str, cmdline: str | None = ..., cwd: str | None = ..., env: str | None = ...) -> bool: ...
    def read(self, blocking: bool = ...) -> str: ...
    def write(self, to_write: str) -> int: ...
    def iseof(self) -> bool: ...
    def set_size(self, cols: int, rows: int) -> None: ...
    def cancel_io(self) -> bool: ...


class WinptyModule(Protocol):
    """What we use of the module `winpty`: the class, and the one exception that it raises."""

    @property
    def WinptyError(self) -> type[Exception]: ...
    def PTY(self, cols: int, rows: int, backend: int | None = ...) -> Pty: ...


class ProcessApi(Protocol):
    """What we need of processes: `process_api.py`, or a fake."""

    def adopt(self, handle: int, pid: int) -> ChildProcess:
        """A process by a handle of somebody else's, which is duplicated."""
        ...

    def restore_ctrl_c(self) -> None:
        """Make the children that are started from now on take Ctrl-C, whatever we inherited."""
        ...


class WinptyBackend:
    """A `PtyBackend` over `winpty.PTY`."""

    name = "winpty"

    def __init__(self, module: WinptyModule, processes: ProcessApi, launch: Launch) -> None:
        check_launch(launch)
        program, arguments = split_program(launch.command_line)
        processes.restore_ctrl_c()
        rows, cols = clamp_size(launch.rows, launch.cols)
        self._error = module.WinptyError
        self._pty: Pty | None = None
        self._over = False
        self._closing = False
        self._inside = False  # a thread is in the class's `read`
        self._silent_since: float | None = None  # since when it has waited there for output
        self._reader = threading.Condition()
        self._using = threading.Lock()  # held by write, resize, and whoever lets go of the class
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            self._pty = module.PTY(cols, rows, backend=CONPTY)
            # the class joins the two with a blank, and quotes a program with blanks that has no quotes yet
            self._pty.spawn(f'"{program}"', arguments, launch.cwd, environment_block(launch.environ))
            handle, pid, failure = self._pty.fd, self._pty.pid, "no process came of it"
        except self._error as error:
            handle, pid, failure = None, None, str(error)
        if handle is None or pid is None:  # out of the `except`, whose traceback may hold the class
            start("conpty-close", self._let_go)  # letting go of one that runs nothing may hang (andfoy/pywinpty#570)
            raise spawn_error(launch, failure)
        self._exit = ExitWatch(processes.adopt(handle, pid), self._on_exit)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._exit.pid

    def read(self) -> bytes:
        """Block until there is output; `b""`: there will be none any more."""
        while not (self._over or self._closing):
            text = self._read_once()
            if text:
                return text.encode("utf-8", "surrogatepass")
            if not self._over:
                time.sleep(EMPTY_READ_PAUSE_SEC)
        return b""

    def _read_once(self) -> str:
        with self._reader:
            pty = self._pty
            if pty is None or self._closing:
                return ""
            self._inside = True
            self._silent_since = self._silent_since or time.monotonic()
        text = ""
        try:
            text = pty.read(True)
            if not text and self._exit.ended_at is not None and pty.iseof():
                self._over = True
        except self._error:
            self._over = True
        del pty  # the last reference closes the console, and that is for `_let_go`
        with self._reader:
            self._inside = False
            if text:
                self._silent_since = None
            self._reader.notify_all()
        return text

    def write(self, data: bytes) -> None:
        """Hand over whole characters; BrokenPipeError once the child has ended, which the class would not tell.

        Bytes that are no UTF-8 become U+FFFD: the class takes text.
        """
        with self._using:
            if self._pty is None or self._closing or self._exit.ended_at is not None:
                raise BrokenPipeError(errno.EPIPE, "the child's terminal is closed")
            text = self._decoder.decode(data)
            try:
                if text:
                    self._pty.write(text)
            except self._error as error:
                raise BrokenPipeError(errno.EPIPE, str(error)) from error

    def resize(self, rows: int, cols: int) -> None:
        """Set the size, clamped; a console that is gone is no error."""
        rows, cols = clamp_size(rows, cols)
        with self._using:
            if self._pty is not None and not self._closing:
                try:
                    self._pty.set_size(cols, rows)
                except self._error:
                    pass

    def wait(self, timeout: float | None) -> int | None:
        """The exit code, unsigned in 32 bits, or None after `timeout` seconds."""
        return self._exit.wait(timeout)

    def close(self) -> None:
        """Close the child's window. What takes longer than CLOSE_WAIT_SEC goes on behind this call."""
        with self._reader:
            if self._closing:
                return
            self._closing = True
        start("conpty-end", lambda: self._exit.end_within(CLOSE_GRACE_SEC))
        start("conpty-close", self._let_go).join(CLOSE_WAIT_SEC)
        self._exit.wait(CLOSE_WAIT_SEC)

    def _on_exit(self) -> None:
        start("conpty-late-output", self._end_reading)

    def _end_reading(self) -> None:
        """After the exit: let the reader go on until it meets silence, for the end of file may never come."""
        ended_at = time.monotonic()  # `_exit` may not be there yet: a child can end before we know its watch
        while not (self._over or self._closing):
            now, silent_since = time.monotonic(), self._silent_since
            silent = silent_since is not None and now - max(silent_since, ended_at) >= QUIET_SEC
            if silent or now - ended_at >= LATE_OUTPUT_LIMIT_SEC:
                self._over = True
                self._release_reader()
            else:
                time.sleep(CANCEL_STEP_SEC)

    def _release_reader(self) -> bool:
        """Make the class's `read` return; whether it did within CLOSE_WAIT_SEC."""
        deadline = time.monotonic() + CLOSE_WAIT_SEC
        with self._reader:
            while self._inside and self._pty is not None and time.monotonic() < deadline:
                try:
                    self._pty.cancel_io()
                except self._error:  # nothing was pending at this moment
                    pass
                self._reader.wait(CANCEL_STEP_SEC)
            return not self._inside

    def _let_go(self) -> None:
        """Drop the class, which closes the console: only in here, when nobody else is in it."""
        if not self._release_reader():
            self._exit.end_within(0)  # its end is the one thing left that can end the read
            self._release_reader()
        with self._using, self._reader:
            pty, self._pty = self._pty, None
        del pty


def start(name: str, run: Callable[[], None]) -> threading.Thread:
    """A thread that does not keep the process from ending."""
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


def check_launch(launch: Launch) -> None:
    """Raise what CreateProcessW would, where it can be seen before: the class tells in localised text only."""
    if launch.cwd is not None and not os.path.isdir(launch.cwd):
        raise FileNotFoundError(errno.ENOENT, "no such folder", launch.cwd)
    program, _ = split_program(launch.command_line)
    if os.path.dirname(program):
        if os.path.isdir(program):
            raise PermissionError(errno.EACCES, "is a folder", program)
        if not (os.path.exists(program) or os.path.exists(program + ".exe")):
            raise FileNotFoundError(errno.ENOENT, "no such file", program)


def spawn_error(launch: Launch, text: str) -> OSError:
    """The class's error as one that tells whether the program is missing."""
    program, _ = split_program(launch.command_line)
    if not os.path.dirname(program) and shutil.which(program) is None:
        return FileNotFoundError(errno.ENOENT, "no such program", program)
    return OSError(errno.EIO, text, program)
