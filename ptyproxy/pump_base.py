"""What the Unix pump and the Windows pump are both: a tap behind its guard, and a size that the tap may hold back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ptyproxy.tap_guard import Tap, TapGuard

if TYPE_CHECKING:
    from ptyproxy.platform.base import Size

    class Resizable(Protocol):
        """The child's terminal, as far as its size goes."""

        def resize(self, size: Size) -> None: ...


class PumpBase:
    """Belongs to the main thread."""

    def __init__(self, child: Resizable, size: Size, tap: Tap | None) -> None:
        """`size`: the terminal's, and the child's."""
        self._tap = TapGuard(tap)
        self._resizable = child
        self._size = self._child_size = size
        self.size_held = False  # the tap draws on the screen: the child must not, see `release_size`
        self.input_held = False  # the tap takes no more keys just now

    @property
    def tap(self) -> Tap | None:
        """Who looks at the bytes; None after it failed."""
        return self._tap.tap

    @tap.setter
    def tap(self, tap: Tap | None) -> None:
        self._tap.tap = tap

    @property
    def tap_error(self) -> Exception | None:
        """Why the tap was dropped: a fault of ours, to be told once at the end."""
        return self._tap.error

    def release_size(self) -> None:
        """Tell the child the terminal's size, if it has another one."""
        if self._child_size != self._size:
            self._child_size = self._size
            self._resizable.resize(self._size)

    def _take_size(self, size: Size) -> None:
        """The terminal's size now: the child and the tap are told when it is another one."""
        if size != self._size:
            self._size = size
            if not (self.size_held and self.tap is not None):
                self.release_size()
            self._tap.resized(size.rows, size.cols)
