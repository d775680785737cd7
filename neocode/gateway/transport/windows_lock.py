"""Advisory locks as files whose one byte far behind their end is locked. Invariant: the pid in a locked file can be
read (Windows' locks are mandatory, so the byte is not one of the pid's).
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from neocode import paths
from neocode.errors import ConfigError
from neocode.gateway.transport.pipe_name import pipe_name

LOCK_SUFFIX = ".lock"
LOCKED_BYTE = 1 << 30  # no lock file ever gets there


class Lock:
    """An advisory lock that lives as long as this process holds it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def is_valid(self) -> bool:
        """Whether the next process that wants the lock still meets ours: a file that is open cannot be removed."""
        return self._fd >= 0

    def release(self) -> None:
        """Give it up. The file stays."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def lock_path(address: str, suffix: str = LOCK_SUFFIX) -> Path:
    """Where the lock of `address` is: beside a file; for a pipe, which is beside nothing, in our run directory."""
    name = pipe_name(address)
    return paths.run_dir() / f"{name}{suffix}" if name else Path(address + suffix)


def acquire_lock(address: str, suffix: str = LOCK_SUFFIX) -> Lock | None:
    """Take the lock of `address` without waiting; None when another process holds it. Our pid goes into it.

    Raises:
        ConfigError: the lock file cannot be made.
    """
    path = lock_path(address, suffix)
    try:
        fd = _open(path)
    except OSError as error:
        raise ConfigError(f"cannot make the lock {path}: {error.strerror}", "check its directory") from error
    if not _try_lock(fd):
        os.close(fd)
        return None
    with contextlib.suppress(OSError):  # a full disk costs the pid, not the lock
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, f"{os.getpid()}\n".encode())
    return Lock(fd)


def lock_holder(address: str) -> int | None:
    """The pid of the process that holds the daemon's lock at `address`; None when nobody does."""
    try:
        fd = os.open(lock_path(address), os.O_RDONLY)
    except OSError:
        return None
    try:
        if _try_lock(fd):
            return None
        os.lseek(fd, 0, os.SEEK_SET)
        text = os.read(fd, 32).strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)


if sys.platform == "win32":
    import msvcrt

    def _open(path: Path) -> int:
        from conpty import security

        return security.open_file(str(path))

    def _try_lock(fd: int) -> bool:
        """The system lets it go with the descriptor."""
        os.lseek(fd, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _open(path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CREAT, paths.PRIVATE_FILE_MODE)

    def _try_lock(fd: int) -> bool:
        """Only so that the rest can be tried anywhere."""
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
