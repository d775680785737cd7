"""The child's pseudo terminal and the user's terminal on Unix.

Invariants: the child sees what a shell started here directly would see (environment, termios, descriptors, signal
dispositions); the user's terminal is opened anew for our writes, so that O_NONBLOCK never reaches the open file
description that the parent shell shares; what `Terminal.enter` changed `Terminal.leave` puts back.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import sys
import termios
from typing import Any

from ptyproxy.platform.base import (
    DEFAULT_SIZE,
    EXIT_NOT_EXECUTABLE,
    EXIT_NOT_FOUND,
    SIGNAL_EXIT_BASE,
    ShellCommand,
    Size,
    SpawnError,
)

assert sys.platform != "win32"

STDIN, STDOUT = 0, 1
TermAttributes = list[Any]  # the seven of tcgetattr: iflag, oflag, cflag, lflag, ispeed, ospeed, cc
# Python ignores these two for itself; a child that inherited that would not die of a closed pipe (python/cpython#1652)
IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


def get_size(fd: int) -> Size | None:
    """The size of the terminal on `fd`, None when it has none (TIOCGWINSZ, tty_ioctl(4))."""
    try:
        packed = fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    except OSError:
        return None
    rows, cols, xpixel, ypixel = struct.unpack("HHHH", packed)
    return Size(rows, cols, xpixel, ypixel) if rows and cols else None


def set_size(fd: int, size: Size) -> None:
    """Set a pty's size; the kernel sends SIGWINCH to its foreground group if that changed anything."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size))


def get_attributes(fd: int) -> TermAttributes | None:
    """The termios of `fd`, None when it is no terminal."""
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def inheritable_descriptors() -> tuple[int, ...]:
    """The descriptors above 2 that a child started now would inherit."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue  # the descriptor of the listing itself
    return tuple(found)


class UnixPty:
    """A child on a pty made by ptyprocess. `fd` is the master, non-blocking."""

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


def spawn(command: ShellCommand, size: Size, attributes: TermAttributes | None) -> UnixPty:
    """Start `command` on a new pty of `size` with the termios `attributes`, both set before it runs.

    Call it before any signal handler of ours is installed: a handler set over an inherited "ignore" would reach
    the child as "default".
    Raises:
        SpawnError: the program cannot be run.
    """
    from ptyprocess import PtyProcess

    check_program(command.path)

    def become_the_shell() -> None:
        for name in IGNORED_BY_PYTHON:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if attributes is not None:
            termios.tcsetattr(STDIN, termios.TCSANOW, attributes)
        set_size(STDIN, size)
        # ptyprocess makes argv[0] the path, which would lose the `-` of a login shell: so the exec is ours
        os.execve(command.path, command.argv, command.environ)

    try:
        process = PtyProcess.spawn(
            [command.path],
            dimensions=(size.rows, size.cols),
            preexec_fn=become_the_shell,
            pass_fds=inheritable_descriptors(),
        )
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        raise SpawnError(f"{command.path}: {error}", EXIT_NOT_FOUND if missing else EXIT_NOT_EXECUTABLE) from error
    fd = os.dup(process.fd)
    process.fileobj.close()
    process.closed = True  # ptyprocess's own close would kill the shell when this object is collected
    return UnixPty(process.pid, fd)


class Terminal:
    """The user's terminal, or whatever stdin and stdout are in a script. Used as a context manager."""

    def __init__(self) -> None:
        self.attributes = get_attributes(STDIN)
        self.is_tty = self.attributes is not None
        self.in_fd = STDIN
        self.out_fd, self._owns_out = _open_for_writing(STDOUT)
        self.out_blocks = not self._owns_out
        self._entered = False

    def size(self) -> Size:
        """The terminal's size, 24x80 when it has none."""
        return get_size(STDOUT) or get_size(STDIN) or DEFAULT_SIZE

    def enter(self) -> None:
        """Raw mode; keys typed before are kept (TCSANOW, not TCSAFLUSH)."""
        if self.attributes is not None:
            termios.tcsetattr(STDIN, termios.TCSANOW, _raw(self.attributes))
            self._entered = True

    def leave(self) -> None:
        """The termios of before; idempotent, and silent when the terminal is gone."""
        if self._entered and self.attributes is not None:
            self._entered = False
            try:
                termios.tcsetattr(STDIN, termios.TCSANOW, self.attributes)
            except termios.error:
                pass

    def end_of_file_key(self) -> bytes:
        """What tells a child in canonical mode that its input has ended (VEOF of a fresh pty)."""
        return b"\x04"

    def close(self) -> None:
        """Leave, and close our own descriptor."""
        self.leave()
        if self._owns_out:
            self._owns_out = False
            os.close(self.out_fd)


def _open_for_writing(fd: int) -> tuple[int, bool]:
    """A non-blocking descriptor of the terminal on `fd` with a file description of its own, else `fd` itself."""
    try:
        name = os.ttyname(fd)
        return os.open(name, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC), True
    except OSError:
        return fd, False  # no terminal, or one that we may not open (after su): then writes may block


def _raw(attributes: TermAttributes) -> TermAttributes:
    """What cfmakeraw(3) makes of `attributes`."""
    iflag, oflag, cflag, lflag, ispeed, ospeed, cc = attributes
    iflag &= ~(
        termios.IGNBRK | termios.BRKINT | termios.PARMRK | termios.ISTRIP
        | termios.INLCR | termios.IGNCR | termios.ICRNL | termios.IXON
    )  # fmt: skip
    oflag &= ~termios.OPOST
    lflag &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
    cflag = cflag & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    control = list(cc)
    control[termios.VMIN], control[termios.VTIME] = 1, 0
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, control]
