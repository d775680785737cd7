"""What was typed in the `@ai` mode, for the arrow keys. Invariants: the file is 0600 and its owner's, bounded, and a
fault in it costs the history, never a line; a line that begins with a space is not kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

MAX_LINES = 1000
MAX_LINE_CHARS = 4096  # pasted logs are no history
MAX_FILE_BYTES = 1 << 20


class ModeHistory(History):
    """One JSON string per line, oldest first. `path` None: only this session."""

    def __init__(self, path: Path | None) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Newest first, as prompt_toolkit wants it."""
        lines = self._read()
        if len(lines) > MAX_LINES:
            lines = lines[-MAX_LINES:]
            self._rewrite(lines)
        return reversed(lines)

    def store_string(self, string: str) -> None:
        """Append; two shells may do so at once."""
        if self._path is None or string.startswith(" ") or len(string) > MAX_LINE_CHARS:
            return
        try:
            os.makedirs(self._path.parent, 0o700, exist_ok=True)
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(fd, "ab", buffering=0) as file:
                file.write(_encoded([string]))
        except OSError:
            pass

    def append_string(self, string: str) -> None:
        """Not the same line twice in a row."""
        if not self._loaded_strings or self._loaded_strings[0] != string:
            super().append_string(string)

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            with open(self._path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_FILE_BYTES))
                data = file.read(MAX_FILE_BYTES)
        except OSError:
            return []
        found = []
        for line in data.splitlines():
            try:
                value = json.loads(line)
            except ValueError:
                continue  # cut, or somebody else's
            if isinstance(value, str):
                found.append(value)
        return found

    def _rewrite(self, lines: list[str]) -> None:
        assert self._path is not None
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "wb") as file:
                file.write(_encoded(lines))
            os.replace(draft, self._path)
        except OSError:
            pass


def _encoded(lines: list[str]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode("ascii")
