"""A small text file that a user may edit while we run: read once, read again when it changes.

Invariant: only a regular file of at most MAX_BYTES is ever read, so a pipe, a device or a huge file cannot hold us up.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

MAX_BYTES = 64 * 1024  # an instruction text longer than this is larger than the whole prompt may be


class UnreadableText(Exception):
    """The file exists and cannot be used; the message says why, in one line."""


class _Version(msgspec.Struct, frozen=True):
    """What changes when a file's content does."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class TextFile:
    """The current text of `path`, cached by its stat."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._version: _Version | None = None
        self._text = ""

    def read(self) -> str | None:
        """The text (UTF-8, a BOM dropped, newlines as `\\n`), or None when there is no such file.

        Raises:
            UnreadableText: not a regular file, too large, not UTF-8, or not readable by us.
        """
        try:
            version = self._stat()
            if version != self._version:
                self._text = self._load()
                self._version = version
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UnreadableText(f"{self.path} cannot be read: {error.strerror or error}") from error
        return self._text

    def _stat(self) -> _Version:
        info = os.stat(self.path)
        if not stat.S_ISREG(info.st_mode):
            raise UnreadableText(f"{self.path} is not a regular file")
        if info.st_size > MAX_BYTES:
            raise UnreadableText(f"{self.path} is larger than {MAX_BYTES // 1024} KiB")
        return _Version(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)

    def _load(self) -> str:
        with open(self.path, "rb") as file:
            data = file.read(MAX_BYTES)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UnreadableText(f"{self.path} is not UTF-8") from error
        return text.replace("\r\n", "\n").replace("\r", "\n")
