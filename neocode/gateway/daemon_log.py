"""The daemon's log. Invariants: 0600; at most four files of about 1 MiB; a full or read-only disk costs log lines and
nothing else.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from pathlib import Path

from neocode import paths
from neocode.errors import ConfigError

MAX_LOG_BYTES = 1 << 20  # some ten thousand lines
KEPT = 3  # older files, .1 the youngest
STDERR = 2


def log_file() -> Path:
    """`~/.neocode/logs/gateway.log`."""
    return paths.log_dir() / "gateway.log"


def open_log(path: Path) -> int | None:
    """A descriptor that appends to the log, rotated first when it is long; None when that is not possible."""
    try:
        paths.ensure_private_dir(path.parent)
        _rotate(path)
        return _open(path)
    except (OSError, ConfigError):
        return None


class StderrHandler(logging.Handler):
    """Writes lines to descriptor 2. When that is the log, the log is rotated as it grows."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; what cannot be written is lost."""
        with contextlib.suppress(OSError, ValueError):
            os.write(STDERR, (self.format(record) + "\n").encode("utf-8", "backslashreplace"))
            if self._path is not None:
                self._roll(self._path)

    def _roll(self, path: Path) -> None:
        """Follow the log to its new file after we, or another daemon, have rotated it."""
        ours = os.fstat(STDERR)
        _rotate(path)
        if path.exists() and os.path.samestat(os.stat(path), ours):
            return
        fd = _open(path)
        try:
            os.dup2(fd, 1)
            os.dup2(fd, STDERR)
        finally:
            os.close(fd)


def configure_logging() -> None:
    """Send the daemon's log records to stderr, which its starter has pointed at the log file."""
    logging.raiseExceptions = False
    path: Path | None = None
    with contextlib.suppress(OSError, ConfigError):
        candidate = log_file()
        if os.path.samestat(os.stat(candidate), os.fstat(STDERR)):
            path = candidate
    root = logging.getLogger()
    root.handlers[:] = [StderrHandler(path)]
    root.setLevel(logging.INFO)
    logging.getLogger("asyncio").setLevel(logging.WARNING)


def read_new(path: Path, offset: int) -> str:
    """The last line written to the log since it had `offset` bytes, printable and short; "" when there is none."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(offset if offset <= size else 0, size - 64 * 1024))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return "".join(char if char.isprintable() else "?" for char in line)[:300]


class StartOutput:
    """A context manager: where a starting daemon writes: its log, or a temporary file when there can be no log."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._offset = 0
        fd: int | None = None
        try:
            path = log_file()
        except ConfigError:
            path = None
        if path is not None:
            fd = open_log(path)
        if fd is not None:
            self._path = path
            self._offset = os.fstat(fd).st_size
        self.fd = fd if fd is not None else _temporary()

    def __enter__(self) -> StartOutput:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self.fd)

    def last_line(self) -> str:
        """What the daemon said last, or why it could say nothing."""
        path = self._path or Path(f"/dev/fd/{self.fd}")  # the latter is missing on Windows: then there is no line
        return read_new(path, self._offset).removeprefix("neocode: ") or _full_disk(path)


def _full_disk(path: Path) -> str:
    """A line that says so when the disk under `path` has no room left, where that can be known."""
    try:
        full = sys.platform != "win32" and os.statvfs(path).f_bavail == 0
    except OSError:
        full = False
    return f"no space left on the disk of {path}" if full else ""


def _temporary() -> int:
    """A file without a name; the null device when even that is not possible."""
    import tempfile  # only here, and warm starts count milliseconds

    try:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError:
        return os.open(os.devnull, os.O_RDWR)


if sys.platform == "win32":

    def _open(path: Path) -> int:
        """One that lets itself be renamed while the daemon and its starter have it open."""
        from conpty import security

        return security.open_append(str(path))

else:

    def _open(path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(path, flags, paths.PRIVATE_FILE_MODE)


def _rotate(path: Path) -> None:
    """Shift the files when the youngest is long. The oldest is overwritten."""
    try:
        if os.lstat(path).st_size < MAX_LOG_BYTES:
            return
    except FileNotFoundError:
        return
    names = [path, *(path.with_name(f"{path.name}.{number}") for number in range(1, KEPT + 1))]
    for older, younger in zip(reversed(names), reversed(names[:-1]), strict=False):
        with contextlib.suppress(FileNotFoundError):
            os.replace(younger, older)
