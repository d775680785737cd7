"""When a script is our input and ends. A Windows shell has no key for that: CMD takes Ctrl-Z for a character,
PowerShell for "undo". So programs are told with the key, and a shell that waits alone loses its window.

Invariants: nobody is told anything before the child has been silent; a shell that runs a program is never ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable

KEY = b"\x1a\r"  # what ends a program's input on a console
SILENCE_SEC = 3.0  # a profile may take so long before it prints or starts anything
LONGEST_SEC = 30.0  # between two keys: a program that reads none of them leaves them to the shell


class EndOfInput:
    """Made when the input has ended. `over`: the shell has nothing to wait for any more."""

    def __init__(self, has_children: Callable[[], bool], send: Callable[[bytes], None]) -> None:
        self.over = False
        self._has_children = has_children
        self._send = send
        self._pause = SILENCE_SEC
        self._since = time.monotonic()

    def tick(self, last_output: float) -> float:
        """Do what is due; seconds until the next call. `last_output`: when the child printed last (monotonic)."""
        now = time.monotonic()
        due = max(self._since + self._pause, last_output + SILENCE_SEC)
        if now < due:
            return due - now
        self._since = now
        if self._has_children():
            self._send(KEY)
            self._pause = min(2 * self._pause, LONGEST_SEC)
        else:
            self.over = True
        return self._pause
