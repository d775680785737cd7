"""Which log is meant: `--error-log`, else `--file`, else standard input when it carries at least one byte.

Invariant: a terminal, a closed descriptor, the null device and an empty input are no log; then the caller triggers
the running shell instead.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from neocode.errors import UsageError

NOTICE_AFTER_SEC = 0.3  # an ordinary `cmd | neocode diag` delivers its first byte sooner
FIRST_READ_BYTES = 64 * 1024
STDIN_FD = 0
STDERR_FD = 2


def open_log(error_log: str | None, file: str | None) -> BinaryIO | None:
    """The log as a binary stream, or None when there is none on standard input.

    Raises:
        UsageError: `--error-log` is empty, or the file cannot be read or is empty.
    """
    if error_log is not None:
        if not error_log.strip():
            raise UsageError("--error-log is empty", "give it the text of the error")
        return io.BytesIO(_encoded(error_log))
    if file is not None and file != "-":
        return _open_file(Path(file))
    return open_stdin()


def _encoded(argument: str) -> bytes:
    """The bytes of an argument: undecodable ones as they came; half a character (Windows) as `?`."""
    try:
        return argument.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return argument.encode("utf-8", "replace")


def _open_file(path: Path) -> BinaryIO:
    try:
        stream = open(path, "rb")
        first = stream.peek(1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "check the path given to --file") from error
    if not first:
        stream.close()
        raise UsageError(f"{path} is empty", "there is nothing to diagnose in it")
    return stream


def open_stdin() -> BinaryIO | None:
    """Standard input if it is a pipe, socket or file with at least one byte; waits for the first byte or the end."""
    try:
        mode = os.fstat(STDIN_FD).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return None
    notice = threading.Timer(NOTICE_AFTER_SEC, _say_waiting)
    notice.daemon = True
    notice.start()
    try:
        first = _read(FIRST_READ_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read standard input: {error.strerror}", "use --file PATH") from error
    finally:
        notice.cancel()
        notice.join()  # a thread inside a write while the interpreter ends would abort it
    return io.BufferedReader(_Prefixed(first)) if first else None


def _say_waiting() -> None:
    try:
        os.write(STDERR_FD, b"neocode: waiting for a log on standard input; Ctrl-C stops\n")
    except OSError:
        pass  # nobody to tell


class _Prefixed(io.RawIOBase):
    """Standard input with the bytes that were read to see whether there are any put back in front."""

    def __init__(self, first: bytes) -> None:
        self._first = first

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed wants WriteableBuffer
        """Fill `buffer` from the put-back bytes, then from the descriptor."""
        data = self._first[: len(buffer)] if self._first else _read(len(buffer))
        self._first = self._first[len(data) :]
        buffer[: len(data)] = data
        return len(data)


if sys.platform == "win32":
    INTERRUPT_SEC = 0.1  # how long Ctrl-C may go unnoticed

    def _read(size: int) -> bytes:
        """Standard input, read by a thread: Ctrl-C does not interrupt a read of a pipe here."""
        result: list[bytes | OSError] = []

        def read() -> None:
            try:
                result.append(os.read(STDIN_FD, size))
            except OSError as error:
                result.append(error)

        reader = threading.Thread(target=read, name="stdin", daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(INTERRUPT_SEC)
        if isinstance(result[0], OSError):
            raise result[0]
        return result[0]

else:

    def _read(size: int) -> bytes:
        return os.read(STDIN_FD, size)
