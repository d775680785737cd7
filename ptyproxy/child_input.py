"""To the child: what it does not read yet waits here, and never holds up its output.

Invariants: bytes arrive in the order they came; what waits is bounded, for the pump reads no more than `room`; when a
script that is our input has ended and all of it was given, the child is told.
"""

from __future__ import annotations

import sys

if sys.platform != "win32":
    from ptyproxy.child_output import ChildOutput
    from ptyproxy.end_of_input import EndOfInput
    from ptyproxy.platform.unix import UnixPty

assert sys.platform != "win32"

PENDING_INPUT = 64 * 1024  # keys and pastes that the child does not read yet; then we stop reading them


class ChildInput:
    """`waits`: something has still to be given to the child; `room`: how many bytes may be read from the user, 0 or
    less: none.
    """

    def __init__(self, pty: UnixPty, output: ChildOutput) -> None:
        self.waits = False
        self.room = PENDING_INPUT
        self._pty = pty
        self._output = output
        self._pending = bytearray()
        self._ended = False
        self._end: EndOfInput | None = None

    def send(self, data: bytes) -> None:
        """Give it to the child, now as far as it is taken."""
        self._pending += data
        self.flush()

    def flush(self) -> None:
        """Give what waits, as far as it is taken now."""
        if self._pending and not self._output.closed:
            del self._pending[: self._pty.write(self._pending)]
        self.waits = bool(self._pending)
        self.room = PENDING_INPUT - len(self._pending)
        self._await_end()

    def end(self) -> None:
        """Nothing more comes from the script that was our input."""
        self._ended = True
        self._await_end()

    def _await_end(self) -> None:
        if self._ended and not self.waits and self._end is None:
            self._end = EndOfInput(self._pty)

    def tick(self) -> float | None:
        """Tell the child of the end when it is time; seconds until the next call, None: nothing to tell."""
        return None if self._end is None else self._end.tick()
