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
            return
        taken = self._some(data)
        if taken < len(data):
            self.pending += memoryview(data)[taken:]
            if self._blocks:
                self.flush()

    def flush(self) -> None:
        """Write what waits, as far as the terminal takes it."""
        while self.pending:
            taken = self._some(self.pending)
            if not taken:
                return
            del self.pending[:taken]

    def _some(self, data: bytes | bytearray) -> int:
        """Bytes taken by one write(2); 0 when it takes none now."""
        try:
            if self._blocks:
                if not self._has_room():
                    return 0
                data = data[: select.PIPE_BUF]  # as much as a pipe that has room takes without waiting, pipe(7)
            return os.write(self.fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.gone = True
            return len(data)

    def _has_room(self) -> bool:
        return bool(select.select((), (self.fd,), (), 0)[1])
