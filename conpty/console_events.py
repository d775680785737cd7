"""Ctrl-C, Ctrl-Break and the console's end, which Windows tells on a thread of its own.

Invariants: an interrupt never ends us; when the console is closed its modes are put back before we let Windows end the
process, and we have had the time to end ourselves.
Source: SetConsoleCtrlHandler and HandlerRoutine, learn.microsoft.com/windows/console.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

CTRL_C, CTRL_BREAK, CTRL_CLOSE, CTRL_LOGOFF, CTRL_SHUTDOWN = 0, 1, 2, 5, 6
CLOSE_SEC = 4.5  # Windows ends a process 5 s after CTRL_CLOSE


class HandlerApi(Protocol):
    """What is called of Windows."""

    def set_handler(self, handler: Callable[[int], bool] | None) -> None:
        """Have `handler` called with the kind of event, True: it was dealt with; None: no more."""
        ...

    def allow_interrupts(self) -> None:
        """Undo "ignore Ctrl-C", which a process inherits and hands on (CREATE_NEW_PROCESS_GROUP sets it)."""
        ...


class ControlEvents:
    """`interrupted` and `closed` say what has come and was not taken. Install and close it on the main thread."""

    def __init__(self, api: HandlerApi, close_sec: float = CLOSE_SEC) -> None:
        self._api = api
        self._close_sec = close_sec
        self.interrupted = False
        self.closed = False
        self.notify: Callable[[], None] = lambda: None  # called on a thread of Windows'
        self.restore: Callable[[], None] = lambda: None  # likewise, when there is no time left

    def install(self) -> None:
        """Take the events from now on."""
        self._api.allow_interrupts()
        self._api.set_handler(self._happened)

    def close(self) -> None:
        """Take them no more. Idempotent."""
        self._api.set_handler(None)

    def _happened(self, kind: int) -> bool:
        if kind in (CTRL_C, CTRL_BREAK):
            self.interrupted = True
            self.notify()
            return True
        if kind not in (CTRL_CLOSE, CTRL_LOGOFF, CTRL_SHUTDOWN):
            return False
        self.closed = True
        self.notify()
        # as soon as we return, the process is ended: the main thread gets its time to do that itself
        threading.Event().wait(self._close_sec)
        self.restore()
        return True
