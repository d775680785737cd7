"""Writing to the user's terminal without ever waiting for it.

Invariants: bytes go out in the order they came; what the terminal does not take waits here, and the pump reads
nothing more for it meanwhile; a terminal that is gone takes everything, so that nobody waits for it.
"""

from __future__ import annotations

import os
import select
import sys

assert sys.platform != "win32"


class TerminalWriter:
    """`pending` is what waits; `gone` is true once the terminal cannot be written any more.

    `blocks`: the descriptor is shared with others (a pipe, a file), and so must not be made non-blocking.
    """

    def __init__(self, fd: int, blocks: bool) -> None:
        self.fd = fd
        self.pending = bytearray()
        self.gone = False
        self._blocks = blocks

    def write(self, data: bytes) -> None:
        """Write now what the terminal takes; the rest waits."""
        if self.pending:
            self.pending += data
        elif (taken := self._write(data)) < len(data):
            self.pending += memoryview(data)[taken:]

    def flush(self) -> None:
        """Write what waits, as far as the terminal takes it."""
        del self.pending[: self._write(self.pending)]

    def _write(self, data: bytes | bytearray) -> int:
        """How many bytes were taken. A short write means that no more are for now."""
        try:
            return self._write_pieces(data) if self._blocks else os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.gone = True
            return len(data)

    def _write_pieces(self, data: bytes | bytearray) -> int:
        """Pieces of the size that a pipe takes without waiting when it has room (pipe(7))."""
        taken = 0
        while taken < len(data) and self._has_room():
            try:
                taken += os.write(self.fd, memoryview(data)[taken : taken + select.PIPE_BUF])
            except BlockingIOError:
                break
        return taken

    def _has_room(self) -> bool:
        return bool(select.select((), (self.fd,), (), 0)[1])
