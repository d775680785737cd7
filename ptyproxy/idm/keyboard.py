"""The keys on their way from the pump to the `@ai` mode's editor: the one thing both threads hold.

Invariants: bounded (when it is full the pump reads no more keys); a paste is handed out once it is whole, so that what
has not been handed out can be given to the child as it came.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from ptyproxy.stream.keys import Input

MAX_BYTES = 256 * 1024  # a pasted file; more of it waits in the terminal
INTERRUPT = b"\x03"


class Keyboard:
    """`put`, `full` and `take_all` are the pump's, the others the control thread's."""

    def __init__(self, drained: Callable[[], None]) -> None:
        """`drained`: called on the control thread when it is not full any more."""
        self._drained = drained
        self._lock = threading.Lock()
        self._pieces: deque[Input] = deque()
        self._size = 0
        self._arrived: Callable[[], object] | None = None

    # -- the pump's thread

    @property
    def full(self) -> bool:
        """Whether no more should be put in."""
        return self._size >= MAX_BYTES

    def put(self, piece: Input) -> None:
        """Add one piece of input."""
        with self._lock:
            self._pieces.append(piece)
            self._size += len(piece.data)
            if self._arrived is not None:
                self._arrived()

    def take_all(self) -> list[Input]:
        """What nobody has taken yet, in order."""
        with self._lock:
            pieces = list(self._pieces)
            self._pieces.clear()
            self._size = 0
        return pieces

    # -- the control thread

    def listen(self, arrived: Callable[[], object] | None) -> None:
        """`arrived` is called for every piece, on the pump's thread: it must only wake somebody up."""
        with self._lock:
            self._arrived = arrived
            if arrived is not None and self._pieces:
                arrived()

    @property
    def ready(self) -> bool:
        """Whether `get` has something."""
        with self._lock:
            return self._next() is not None

    def get(self) -> Input | None:
        """The next piece, a whole paste as one of the kind `paste`; None when nothing is complete."""
        with self._lock:
            piece = self._next()
            if piece is None:
                return None
            if piece.kind == "paste-begin":
                piece = self._paste(piece)
            else:
                self._pieces.popleft()
            was_full = self.full
            self._size = (
                sum(len(one.data) for one in self._pieces) if piece.kind == "paste" else self._size - len(piece.data)
            )
        if was_full and not self.full:
            self._drained()
        return piece

    def unget(self, piece: Input) -> None:
        """Put a piece back in front."""
        with self._lock:
            self._pieces.appendleft(piece)
            self._size += len(piece.data)

    def take_interrupt(self) -> bool:
        """Whether Ctrl-C was typed; what was typed before it is forgotten with it, as a terminal does."""
        with self._lock:
            found = next((i for i, one in enumerate(self._pieces) if one.kind == "text" and INTERRUPT in one.data), -1)
            if found < 0:
                return False
            piece = self._pieces[found]
            rest = piece.data[piece.data.index(INTERRUPT) + 1 :]
            for _ in range(found + 1):
                self._pieces.popleft()
            if rest:
                self._pieces.appendleft(piece._replace(data=rest))
            was_full = self.full
            self._size = sum(len(one.data) for one in self._pieces)
        if was_full and not self.full:
            self._drained()
        return True

    def _next(self) -> Input | None:
        if not self._pieces:
            return None
        piece = self._pieces[0]
        if piece.kind == "paste-begin" and not self.full and all(one.kind != "paste-end" for one in self._pieces):
            return None
        return piece

    def _paste(self, begin: Input) -> Input:
        """Take the paste that begins the queue; one that is too long to wait for in parts."""
        parts = []
        while self._pieces:
            piece = self._pieces.popleft()
            if piece.kind == "paste":
                parts.append(piece.data)
            elif piece.kind == "paste-end":
                break
        return begin._replace(kind="paste", data=b"".join(parts))
