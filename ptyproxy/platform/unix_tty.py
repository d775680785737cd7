"""What a terminal device is told and asked: its size, its termios, and whether what was typed has been read.

Invariant: nothing here keeps a descriptor open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import sys
import termios
from typing import Any

from ptyproxy.platform.base import Size

assert sys.platform != "win32"

TermAttributes = list[Any]  # the seven of tcgetattr: iflag, oflag, cflag, lflag, ispeed, ospeed, cc
DEFAULT_EOF_KEY = b"\x04"  # VEOF of a fresh terminal (POSIX XBD 11.1.9, by custom Ctrl-D)
DISABLED = b"\0"  # _POSIX_VDISABLE of Linux
BSD_DISABLED = b"\xff"
TIOCGPTPEER = 0x5441  # Linux 4.13, ioctl_tty(2): the slave of a master, whatever is mounted on /dev/pts
TIOCPTYGNAME = 0x40807453  # macOS: the slave's name, 128 bytes


def get_size(fd: int) -> Size | None:
    """The size of the terminal on `fd` as it says, 0x0 included; None when it is no terminal (tty_ioctl(4))."""
    try:
        packed = fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    except OSError:
        return None
    return Size(*struct.unpack("HHHH", packed))


def set_size(fd: int, size: Size) -> None:
    """Set a pty's size; the kernel sends SIGWINCH to its foreground group if that changed anything."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size))


def get_attributes(fd: int) -> TermAttributes | None:
    """The termios of `fd`, None when it is no terminal or one that is gone."""
    try:
        return termios.tcgetattr(fd)
    except termios.error:
        return None


def set_attributes(fd: int, attributes: TermAttributes) -> None:
    """Set the termios now; what was typed stays (TCSANOW, not TCSAFLUSH). Raises termios.error.

    From the background the call stops us (SIGTTOU) and is interrupted by the SIGCONT that brings us back.
    """
    while True:
        try:
            termios.tcsetattr(fd, termios.TCSANOW, attributes)
            return
        except termios.error as error:
            if error.args[0] != errno.EINTR:
                raise


def make_raw(attributes: TermAttributes) -> TermAttributes:
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


def end_of_file_key(fd: int) -> bytes:
    """The key that ends input on the terminal `fd` (its VEOF), Ctrl-D where it has none."""
    attributes = get_attributes(fd)
    key = attributes[6][termios.VEOF] if attributes is not None else DEFAULT_EOF_KEY
    return key if isinstance(key, bytes) and key not in (DISABLED, BSD_DISABLED) else DEFAULT_EOF_KEY


def has_unread_input(master: int) -> bool:
    """Whether something given to the master waits to be read; False where the system cannot tell."""
    try:
        slave = _open_slave(master)
    except OSError:
        return False
    try:
        return bool(select.select((slave,), (), (), 0)[0])
    except (OSError, ValueError):  # a descriptor beyond select's 1024
        return False
    finally:
        os.close(slave)


def _open_slave(master: int) -> int:
    flags = os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    if sys.platform == "linux":
        slave = fcntl.ioctl(master, TIOCGPTPEER, flags)
    else:
        slave = os.open(fcntl.ioctl(master, TIOCPTYGNAME, b"\0" * 128).split(b"\0", 1)[0], flags)
    return slave
