"""A fake `winpty` module and a fake pseudo console, each over a real Linux pty and a real child.

They behave as the real ones were measured to, the unpleasant parts too, for what is tested against kinder ones proves
nothing: exit codes of 32 bits, `''` for ever after the end, an `iseof` that tells it late, writes that succeed after
death, U+FFFD where a read cuts a character, an end of file that never comes, closing that waits for unread output.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import queue
import select
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Mapping

from windows_argv import split_command_line

from conpty.backend import Launch

STILL_ACTIVE = 259
READ_BYTES = 32768  # of winpty-rs's one read
PIPE_WAIT_SEC = 0.01


class FakeProcess:
    """A child with a 32-bit exit code; also what `ExitWatch` waits for."""

    def __init__(self, line: str, cwd: str | None, environ: Mapping[str, str], slave: int) -> None:
        self._exit_file = tempfile.NamedTemporaryFile(prefix="exit-")
        argv = split_command_line(line)
        if os.path.isdir(argv[0]):
            raise PermissionError(13, "Access is denied", argv[0])
        self._popen = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**environ, "TEST_EXIT_FILE": self._exit_file.name},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self.pid = self._popen.pid
        self.released = 0
        self.terminated_with: int | None = None

    def wait(self) -> int:
        """Block until it has ended."""
        self._popen.wait()
        if self.terminated_with is not None:
            return self.terminated_with
        with open(self._exit_file.name, encoding="ascii") as handle:
            text = handle.read()
        return int(text) % 2**32 if text else abs(self._popen.returncode)

    def terminate(self, exit_code: int) -> None:
        """TerminateProcess."""
        self.terminated_with = exit_code
        self._popen.kill()

    def release(self) -> None:
        """CloseHandle."""
        self.released += 1

    def is_alive(self) -> bool:
        """WaitForSingleObject(handle, 0)."""
        return self._popen.poll() is None

    def hang_up(self) -> None:
        """What its window's end is to a child: CTRL_CLOSE_EVENT."""
        with contextlib.suppress(ProcessLookupError):
            if self.is_alive():
                os.kill(self.pid, signal.SIGHUP)


def open_terminal(rows: int, cols: int) -> tuple[int, int]:
    """A pty of that size: (master, slave)."""
    master, slave = os.openpty()
    set_size(master, rows, cols)
    return master, slave


def set_size(master: int, rows: int, cols: int) -> None:
    """As the API: a size of nothing, or of more than 16 signed bits, is an error."""
    if not (0 < rows < 32768 and 0 < cols < 32768):
        raise OSError(22, f"The parameter is incorrect: {cols}x{rows}")
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


class FakeConsoles:
    """`direct.PseudoConsoleApi`. `ends_by_itself`: as from 1.22 on, else the output stays open until it is closed."""

    def __init__(self, ends_by_itself: bool = False, mute: bool = False, prelude: bytes = b"") -> None:
        self.ends_by_itself = ends_by_itself
        self.mute = mute
        self.prelude = prelude
        self.opened: list[FakeConsole] = []

    def open(self, rows: int, cols: int) -> FakeConsole:
        """A new console."""
        self.opened.append(FakeConsole(self, rows, cols))
        return self.opened[-1]


class FakeConsole:
    """`direct.PseudoConsole` over a Linux pty."""

    def __init__(self, api: FakeConsoles, rows: int, cols: int) -> None:
        self._api = api
        self._master, self._slave = open_terminal(rows, cols)
        os.set_blocking(self._master, False)
        self._wake_read, self._wake_write = os.pipe()
        self._stop_read, self._stop_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._process: FakeProcess | None = None
        self._prelude = api.prelude
        self._drained = threading.Event()
        self.console_closed = 0
        self.released = 0

    def spawn(self, launch: Launch) -> FakeProcess:
        """CreateProcessW in it."""
        self._process = FakeProcess(launch.command_line, launch.cwd, launch.environ, self._slave)
        if self._api.ends_by_itself:
            os.close(self._slave)
            self._slave = -1
        return self._process

    def read(self, timeout: float | None) -> bytes | None:
        """Overlapped ReadFile."""
        assert not self.released, "read after release"
        if self._prelude:
            data, self._prelude = self._prelude, b""
            return data
        if self._drained.is_set():
            return b""
        watched = [self._wake_read] if self._api.mute else [self._wake_read, self._master]
        ready = select.select(watched, [], [], timeout)[0]
        if self._wake_read in ready:
            os.read(self._wake_read, 4096)
            return None
        if not ready:
            return None
        try:
            return os.read(self._master, 65536)
        except OSError:  # nobody holds the other end
            self._drained.set()
            return b""

    def wake(self) -> None:
        """SetEvent."""
        assert not self.released, "wake after release"
        os.write(self._wake_write, b"x")

    def write(self, data: bytes) -> None:
        """Overlapped WriteFile. Some conhosts decode what one write brought, alone."""
        assert not self.released, "write after release"
        data = data.decode("utf-8", "replace").encode()
        while data:
            stopped, ready, _ = select.select([self._stop_read], [self._master], [])
            if stopped:
                raise BrokenPipeError(32, "stopped")
            if ready:
                try:
                    data = data[os.write(self._master, data) :]
                except BlockingIOError:
                    continue

    def stop_writing(self) -> None:
        """SetEvent."""
        assert not self.released, "stop_writing after release"
        os.write(self._stop_write, b"x")

    def resize(self, rows: int, cols: int) -> None:
        """ResizePseudoConsole, which does not survive a closed console."""
        assert not self.console_closed, "resize after close"
        set_size(self._master, rows, cols)

    def close_console(self) -> None:
        """ClosePseudoConsole before Windows 11 24H2: it returns once somebody has read all of the output."""
        self.console_closed += 1
        if self._process is not None:
            self._process.hang_up()
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1
        while not self._drained.is_set() and self._has_unread():
            time.sleep(PIPE_WAIT_SEC)
        self._drained.set()
        self.wake()

    def _has_unread(self) -> bool:
        poll = select.poll()
        poll.register(self._master, select.POLLIN)
        return not self._api.mute and any(event & select.POLLIN for _, event in poll.poll(0))

    def release(self) -> None:
        """CloseHandle of our ends."""
        assert not self.released, "released twice"
        self.released += 1
        for fd in (self._master, self._wake_read, self._wake_write, self._stop_read, self._stop_write):
            os.close(fd)


class WinptyError(Exception):
    """winpty.WinptyError: its text is in the language of the system."""


class FakeProcesses:
    """`winpty_pty.ProcessApi`; the handles are those that `FakeWinpty` gives out."""

    def __init__(self) -> None:
        self.by_handle: dict[int, FakeProcess] = {}
        self.ctrl_c_ignored = True  # as a parent made with CREATE_NEW_PROCESS_GROUP leaves it to its children

    def adopt(self, handle: int, pid: int) -> FakeProcess:
        """DuplicateHandle."""
        process = self.by_handle[handle]
        assert process.pid == pid
        return process

    def restore_ctrl_c(self) -> None:
        """SetConsoleCtrlHandler(NULL, FALSE)."""
        self.ctrl_c_ignored = False


class FakeWinpty:
    """The module `winpty`. `end_of_file`: whether it comes by itself; `eof_lies`: how often `iseof` denies it first."""

    WinptyError = WinptyError

    def __init__(self, end_of_file: bool = True, eof_lies: int = 3) -> None:
        self.end_of_file = end_of_file
        self.eof_lies = eof_lies
        self.processes = FakeProcesses()
        self.empty_reads = 0
        self.deleted_in: list[str] = []
        self._handles = itertools.count(0x1234)

    def PTY(self, cols: int, rows: int, backend: int | None = None) -> FakePty:
        """Columns first."""
        assert backend == 0, "the WinPTY backend is never wanted"
        return FakePty(self, cols, rows)

    def new_handle(self, process: FakeProcess) -> int:
        """A process handle."""
        handle = next(self._handles)
        self.processes.by_handle[handle] = process
        return handle


def pump(master: int, cancel: int, output: queue.SimpleQueue[str], ended: threading.Event) -> None:
    """winpty-rs's reader: one read after the other, each decoded alone, whether anybody takes it or not."""
    while True:
        ready = select.select([master, cancel], [], [])[0]
        try:
            data = b"" if cancel in ready else os.read(master, READ_BYTES)
        except OSError:
            data = b""
        if not data:
            break
        output.put(data.decode("utf-8", "replace").replace("\0", ""))
    ended.set()
    output.put("")


class FakePty:
    """`winpty.PTY` over a Linux pty."""

    def __init__(self, module: FakeWinpty, cols: int, rows: int) -> None:
        self._module = module
        self._master, self._slave = open_terminal(rows, cols)
        self._process: FakeProcess | None = None
        self._output: queue.SimpleQueue[str] = queue.SimpleQueue()  # without bound, as theirs
        self._cancel_read, self._cancel_write = os.pipe()
        self._ended = threading.Event()
        self.pid: int | None = None
        self.fd: int | None = None

    def spawn(self, appname: str, cmdline: str | None = None, cwd: str | None = None, env: str | None = None) -> bool:
        """CreateProcessW(NULL, appname + " " + cmdline)."""
        if " " in appname and not appname.startswith('"'):
            appname = f'"{appname}"'
        line = appname if cmdline is None else f"{appname} {cmdline}"
        assert env is not None
        environ = dict(entry.split("=", 1) for entry in env.split("\0") if entry)
        if self._module.processes.ctrl_c_ignored:
            environ["TEST_CTRL_C"] = "ignored"
        with contextlib.suppress(OSError):
            self._process = FakeProcess(line, cwd, environ, self._slave)
        if self._process is None:
            raise WinptyError("Das System kann die angegebene Datei nicht finden.")
        if self._module.end_of_file:
            os.close(self._slave)
            self._slave = -1
        self.pid = self._process.pid
        self.fd = self._module.new_handle(self._process)
        parts = self._master, self._cancel_read, self._output, self._ended  # not self, which would live as long
        threading.Thread(target=pump, args=parts, daemon=True).start()
        return True

    def read(self, blocking: bool = False) -> str:
        """`''` at once, and for ever, after the end."""
        try:
            text = self._output.get(block=blocking and not self._ended.is_set())
        except queue.Empty:
            text = ""
        self._module.empty_reads += not text
        return text

    def write(self, to_write: str) -> int:
        """The number of bytes; succeeds after the child's death as well."""
        data = to_write.encode("utf-8", "surrogatepass")
        try:
            for at in range(0, len(data), 512):
                os.write(self._master, data[at : at + 512])
        except OSError:
            pass
        return len(data)

    def isalive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.is_alive()

    def get_exitstatus(self) -> int | None:
        """None for 259, although it has ended."""
        code = None if self._process is None or self.isalive() else self._process.wait()
        return None if code == STILL_ACTIVE else code

    def iseof(self) -> bool:
        """Comes true some time after the first `''`."""
        if self._ended.is_set() and self._module.eof_lies > 0:
            self._module.eof_lies -= 1
            return False
        return self._ended.is_set()

    def set_size(self, cols: int, rows: int) -> None:
        """Columns first."""
        try:
            set_size(self._master, rows, cols)
        except OSError as error:
            raise WinptyError(str(error)) from error

    def cancel_io(self) -> bool:
        """Ends the reader for good; the child lives on. An error when nothing was pending."""
        if self._ended.is_set():
            raise WinptyError("Element not found.")
        os.write(self._cancel_write, b"x")
        return True

    def __del__(self) -> None:
        """ClosePseudoConsole, in whichever thread lets go last."""
        self._module.deleted_in.append(threading.current_thread().name)
        if self._process is not None:
            self._process.hang_up()
            os.write(self._cancel_write, b"x")
            self._ended.wait(5)
        for fd in (self._master, self._slave, self._cancel_read, self._cancel_write):
            if fd >= 0:
                os.close(fd)
