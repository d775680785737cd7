"""The records and protocols that `unix.py` and `windows.py` share, and what starting a child can end in.

Invariant: the rest of the proxy knows the child, the terminal and the pump by these protocols only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ptyproxy.tap_guard import Tap

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


class PtyPort(Protocol):
    """A child on a pseudo terminal, as everybody but its pump sees it."""

    @property
    def pid(self) -> int:
        """The child's process id."""
        ...

    @property
    def note(self) -> str:
        """Why the child is not on the pseudo terminal that we would rather have, one line; empty when it is."""
        ...

    def in_foreground(self) -> bool | None:
        """Whether the child itself, not a program that it runs, has its terminal; None: the system does not tell."""
        ...

    def close(self) -> None:
        """Release the pty. Idempotent; the child, if it still runs, loses its terminal."""
        ...


class TerminalPort(Protocol):
    """The user's terminal, or whatever stdin and stdout are in a script."""

    @property
    def is_tty(self) -> bool:
        """Whether the input is a terminal."""
        ...

    def name(self) -> str:
        """The input terminal's name for other programs, empty when it has none."""
        ...

    def size(self) -> Size:
        """The size to lay text out for: never zero, 24x80 when nobody says. From any thread."""
        ...

    def enter(self) -> None:
        """Raw mode."""
        ...

    def leave(self) -> None:
        """The modes of before. Idempotent."""
        ...


class PumpPort(Protocol):
    """The loop between terminal and child. Only `wake` may be called from another thread than the pump's."""

    tap: Tap | None
    size_held: bool  # the tap draws on the screen: the child gets no new size until `release_size`
    input_held: bool  # the tap takes no more keys just now

    @property
    def pty(self) -> PtyPort:
        """The child."""
        ...

    @property
    def tap_error(self) -> Exception | None:
        """Why the tap was dropped."""
        ...

    def wake(self) -> None:
        """Make the loop call `tap.tick` soon."""
        ...

    def show(self, data: bytes) -> None:
        """Queue our own words for the terminal, behind what the child has written."""
        ...

    def send(self, data: bytes) -> None:
        """Queue input of our own for the child."""
        ...

    def release_size(self) -> None:
        """Tell the child the terminal's size, if it has another one."""
        ...

    def run(self) -> int:
        """Move bytes until the shell ends or the terminal is gone; returns the exit status."""
        ...
