"""The records that `unix.py` and `windows.py` share, and what starting a child can end in."""

from __future__ import annotations

from typing import NamedTuple

EXIT_NOT_FOUND = 127  # POSIX XCU 2.8.2
EXIT_NOT_EXECUTABLE = 126
SIGNAL_EXIT_BASE = 128


class Size(NamedTuple):
    """A terminal's size in character cells, and in pixels where the terminal says (0: it does not)."""

    rows: int
    cols: int
    xpixel: int = 0
    ypixel: int = 0


DEFAULT_SIZE = Size(24, 80)  # what every terminal program assumes when nothing says otherwise


class SpawnError(Exception):
    """The shell cannot be run. `exit_code` is 127 (not found) or 126 (not executable); the text is for one line."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ShellCommand(NamedTuple):
    """What to run: the program's path, its argv (argv[0] may begin with `-` for a login shell), its environment."""

    path: str
    argv: tuple[str, ...]
    environ: dict[bytes, bytes]
