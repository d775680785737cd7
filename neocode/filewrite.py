"""One file replaced whole or not at all, by one writer at a time.

Invariants: a reader sees the old file or the new one, never a part; a writer that dies leaves the old file and at most
a temporary one, which the next writer removes; what is written is 0600.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from neocode.errors import ConfigError
from neocode.paths import PRIVATE_FILE_MODE

LOCK_WAIT_SEC = 5.0  # a write takes milliseconds; whoever holds the lock longer hangs
LOCK_POLL_SEC = 0.02
TEMPORARY_SUFFIX = ".neocode-tmp"


@contextlib.contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Hold the advisory lock file `lock` (made, 0600, and left there). Raises ConfigError after LOCK_WAIT_SEC."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(lock, flags, PRIVATE_FILE_MODE)
    except OSError as error:
        raise _cannot_write(lock, error) from None
    try:
        deadline = time.monotonic() + LOCK_WAIT_SEC
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise ConfigError(f"{lock} is held by another neocode command", "try again when it has ended")
            time.sleep(LOCK_POLL_SEC)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Make `data` the content of `path` (no symlink); call it under the file's lock.

    Raises:
        ConfigError: it cannot be written (disk full, read-only, no right); the old file is as it was.
    """
    temporary = ""
    try:
        _remove_stale(path)
        draft = str(path.with_name(f".{path.name}.{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"))
        with os.fdopen(create_private(draft), "wb") as file:
            temporary = draft
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _move(temporary, path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise _cannot_write(path, error) from None
    _sync_directory(path.parent)


def _remove_stale(path: Path) -> None:
    """What a killed writer left: nobody else is writing, because we hold the lock."""
    for name in os.listdir(path.parent):
        if name.startswith(f".{path.name}.") and name.endswith(TEMPORARY_SUFFIX):
            with contextlib.suppress(OSError):
                os.unlink(path.parent / name)


def _cannot_write(path: Path, error: OSError) -> ConfigError:
    reason = error.strerror or type(error).__name__
    return ConfigError(
        f"cannot write {path}: {reason[:1].lower()}{reason[1:]}",
        "nothing was changed; check the disk's space and the directory's owner and mode",
    )


if sys.platform == "win32":
    import msvcrt

    from conpty import security

    def create_private(path: str) -> int:
        """A descriptor of a new, empty file that lets in the user alone. Raises OSError (FileExistsError)."""
        return security.create_file(path)

    MOVE_WAIT_SEC = 2.0  # how long a virus scanner or a reader keeps a file open

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _move(source: str, target: Path) -> None:
        deadline = time.monotonic() + MOVE_WAIT_SEC
        while True:
            try:
                os.replace(source, target)
            except PermissionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(LOCK_POLL_SEC)
            else:
                return

    def _sync_directory(directory: Path) -> None:
        """NTFS journals the rename."""

else:
    import fcntl

    def create_private(path: str) -> int:
        """A descriptor of a new, empty file, 0600. Raises OSError (FileExistsError)."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags, PRIVATE_FILE_MODE)

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # a file system without locks (some network ones): better without than not at all
        return True

    def _move(source: str, target: Path) -> None:
        os.replace(source, target)

    def _sync_directory(directory: Path) -> None:
        """So that the rename survives a power cut; some file systems cannot, which is no reason to fail."""
        with contextlib.suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
