"""The child, the terminal and the pump, as the rest of the proxy knows them on every system.

Invariant: nothing here runs; it is imported for type checking only, since a protocol costs the first prompt 0.1 ms.
"""

from __future__ import annotations

from typing import Protocol

from ptyproxy.platform.base import Size
from ptyproxy.tap_guard import Tap


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
