"""When a script is our input and ends, the shell is told with the end-of-file key, as script(1) does.

Invariants: the key is sent only when everything before it has been read, for a program that switches its terminal to
raw mode would get it as a plain byte; it is sent again while the shell lives and reads, for a command may have taken
it (script(1) waits for ever then); at most one waits in the terminal.
"""

from __future__ import annotations

import sys
import time

if sys.platform != "win32":
    from ptyproxy.platform.unix import UnixPty

assert sys.platform != "win32"

FIRST_SEC = 0.01  # the kernel hands input over a moment after the write
LONGEST_SEC = 0.5


class EndOfInput:
    """Made when the input has ended and all of it was given to the pty."""

    def __init__(self, pty: UnixPty) -> None:
        self._pty = pty
        self._pause = FIRST_SEC
        self._due = time.monotonic() + FIRST_SEC

    def tick(self) -> float:
        """Send the key if it is due and wanted; seconds until the next call."""
        now = time.monotonic()
        if now >= self._due:
            if not self._pty.has_unread_input():
                self._pty.write(self._pty.end_of_file_key())
            self._pause = min(2 * self._pause, LONGEST_SEC)
            self._due = now + self._pause
        return self._due - now
