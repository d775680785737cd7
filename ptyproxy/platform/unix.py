"""The child's pseudo terminal and the user's terminal on Unix.

Invariants: the child sees what a shell started here directly would see (environment, termios, descriptors, signal
dispositions); the user's terminal is opened anew for our reads and writes, so that O_NONBLOCK never reaches the open
file description that the parent shell shares; what `Terminal.enter` changed `Terminal.leave` puts back.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import termios

from ptyproxy.platform.base import (
    DEFAULT_SIZE,
    EXIT_NOT_EXECUTABLE,
    EXIT_NOT_FOUND,
    SIGNAL_EXIT_BASE,
    ShellCommand,
    Size,
    SpawnError,
)

if sys.platform != "win32":
    from ptyproxy.platform.unix_inherited import (
        fill_standard_descriptors,
        inheritable_descriptors,
        open_private,
        release_descriptors,
    )
    from ptyproxy.platform.unix_signals import SignalPipe
    from ptyproxy.platform.unix_tty import (
        TermAttributes,
        end_of_file_key,
        get_attributes,
        get_size,
        has_unread_input,
        make_raw,
        set_attributes,
        set_size,
    )

assert sys.platform != "win32"

STDIN, STDOUT = 0, 1


class UnixPty:
    """A child on a pty made by ptyprocess. `fd` is the master, non-blocking."""

    note = ""

    def __init__(self, pid: int, fd: int) -> None:
        self.pid = pid
        self.fd = fd
        self.stopped = False
        self._status: int | None = None
        os.set_blocking(fd, False)

    def read(self, count: int) -> bytes | None:
        """Up to `count` bytes; None: none now; `b""`: the last process that had the terminal open has closed it."""
        try:
            return os.read(self.fd, count)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno == errno.EIO:  # Linux's way to say that nobody holds the slave
                return b""
            raise

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Bytes taken now; 0 when the child reads none (EAGAIN) or nobody holds the slave."""
        try:
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno == errno.EIO:
                return 0
            raise

    def resize(self, size: Size) -> None:
        """Set the size; a pty that is already gone is no error."""
        try:
            set_size(self.fd, size)
        except OSError:
            pass

    def end_of_file_key(self) -> bytes:
        """What tells the child now that its input has ended."""
        return end_of_file_key(self.fd)

    def has_unread_input(self) -> bool:
        """Whether the child has still to read something of what it was given."""
        return has_unread_input(self.fd)

    def in_foreground(self) -> bool | None:
        """Whether the shell itself, which leads its own process group, has its terminal; None: it cannot be told."""
        try:
            return os.tcgetpgrp(self.fd) == self.pid
        except OSError:
            return None

    def poll(self) -> int | None:
        """The exit status, 128 + n for signal n, None while it runs; `stopped` tells of `suspend`."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                self._status = 0  # somebody else reaped it; nothing is known of how it ended
            else:
                if pid:
                    self._take(status)
        return self._status

    def _take(self, status: int) -> None:
        if os.WIFSTOPPED(status):
            self.stopped = True
        elif os.WIFSIGNALED(status):
            self._status = SIGNAL_EXIT_BASE + os.WTERMSIG(status)
        else:
            self._status = os.WEXITSTATUS(status)

    def resume(self) -> None:
        """Continue a shell that stopped itself (`suspend`)."""
        self.stopped = False
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """Send a signal to the shell alone; one that has ended is no error."""
        if self._status is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass

    def hang_up(self) -> None:
        """SIGHUP, and SIGCONT so that a stopped shell can act on it (POSIX XBD 11.1.10)."""
        self.signal(signal.SIGHUP)
        self.signal(signal.SIGCONT)

    def close(self) -> None:
        """Close the master. The kernel hangs up the foreground group of a terminal whose master is gone."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def check_program(path: str) -> None:
    """Raise SpawnError (127 or 126) when `path` cannot be run."""
    if not os.path.exists(path):
        raise SpawnError(f"{path}: no such file", EXIT_NOT_FOUND)
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise SpawnError(f"{path}: cannot be executed", EXIT_NOT_EXECUTABLE)


def spawn(
    command: ShellCommand, size: Size, attributes: TermAttributes | None, signals: SignalPipe | None = None
) -> UnixPty:
    """Start `command` on a new pty of `size` with the termios `attributes`, both set before it runs.

    `signals`: the handlers that are already installed; the child gets what was there before them. Descriptors above
    2 that we inherited are the child's afterwards, and no more ours.
    Raises:
        SpawnError: the program cannot be run.
    """
    from ptyprocess import PtyProcess

    class Process(PtyProcess):
        def setwinsize(self, rows: int, cols: int) -> None:
            """Nothing: the child has set the size already; once more would lose the pixels and send SIGWINCH."""

    dispositions = signals or SignalPipe()

    def become_the_shell() -> None:
        dispositions.restore_in_child()
        if attributes is not None:
            set_attributes(STDIN, attributes)
        set_size(STDIN, size)
        # ptyprocess makes argv[0] the path, which would lose the `-` of a login shell: so the exec is ours
        try:
            os.execve(command.path, command.argv, command.environ)
        except OSError as error:
            raise type(error)(error.strerror) from error  # ptyprocess sends the type and this text

    check_program(command.path)
    inherited = inheritable_descriptors()
    try:
        process = Process.spawn(
            [command.path],
            dimensions=(size.rows, size.cols),
            preexec_fn=become_the_shell,
            pass_fds=inherited,
        )
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)  # of a script's interpreter; shells say 127 then too
        raise SpawnError(f"{command.path}: {error}", EXIT_NOT_FOUND if missing else EXIT_NOT_EXECUTABLE) from error
    finally:
        if signals is None:
            dispositions.close()
    release_descriptors(inherited)
    fd = os.dup(process.fd)
    process.fileobj.close()
    process.closed = True  # ptyprocess's own close would kill the shell when this object is collected
    return UnixPty(process.pid, fd)


class Terminal:
    """The user's terminal, or whatever stdin and stdout are in a script."""

    def __init__(self) -> None:
        fill_standard_descriptors()
        self.attributes = get_attributes(STDIN)
        self.is_tty = self.attributes is not None
        self._private_in = open_private(STDIN, os.O_RDONLY) if self.is_tty else None
        self._private_out = open_private(STDOUT, os.O_WRONLY)
        self.in_fd = STDIN if self._private_in is None else self._private_in
        self.out_fd = STDOUT if self._private_out is None else self._private_out
        self.out_blocks = self._private_out is None
        self._entered = False

    def name(self) -> str:
        """The device of the terminal, empty when stdin is none."""
        try:
            return os.ttyname(STDIN)
        except OSError:
            return ""

    def size(self) -> Size:
        """The size to lay text out for: never zero, 24x80 when nobody says."""
        size = self.exact_size()
        return size if size.rows and size.cols else DEFAULT_SIZE

    def exact_size(self) -> Size:
        """The size to give the child: what the terminal says, 0x0 included; 24x80 without one."""
        sizes = [size for fd in (STDOUT, STDIN) if (size := get_size(fd)) is not None]
        return next((size for size in sizes if size.rows and size.cols), sizes[0] if sizes else DEFAULT_SIZE)

    def enter(self) -> None:
        """Raw mode; keys typed before are kept. A terminal that is gone is noticed by the next read."""
        if self.attributes is not None:
            self._entered = True
            self._set(make_raw(self.attributes))

    def leave(self) -> None:
        """The termios of before; idempotent, and silent when the terminal is gone."""
        if self._entered and self.attributes is not None:
            self._entered = False
            self._set(self.attributes)

    def _set(self, attributes: TermAttributes) -> None:
        try:
            set_attributes(STDIN, attributes)
        except termios.error:
            pass

    def is_alive(self) -> bool:
        """Whether stdin still is a terminal: one that was hung up answers nothing."""
        return get_attributes(self.in_fd) is not None

    def close(self) -> None:
        """Leave, and close our own descriptors. Idempotent."""
        self.leave()
        for fd in (self._private_in, self._private_out):
            if fd is not None:
                os.close(fd)
        self._private_in = self._private_out = None
