"""Waits for a child on its process handle, in a thread of its own, and remembers how it ended.

Invariant: this object owns the process's handle from the first to the last use of it, so `wait` can be asked at any
time, also after the console is closed; and whatever fails here, nobody waits for the end for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from conpty.backend import ENDED_EXIT_CODE, ChildProcess

UNKNOWN_EXIT_CODE = 0xFFFFFFFF  # of a child that Windows does not let us wait for


class ExitWatch:
    """The end of one child. `on_exit` runs once, in the watching thread, before `wait` answers."""

    def __init__(self, process: ChildProcess, on_exit: Callable[[], None]) -> None:
        self.pid = process.pid
        self.ended_at: float | None = None  # time.monotonic(), or None while it runs
        self._process = process
        self._on_exit = on_exit
        self._code = UNKNOWN_EXIT_CODE
        self._ended = threading.Event()
        self._handle = threading.Lock()  # nobody ends a process by a handle that is closed
        threading.Thread(target=self._run, name=f"conpty-exit {process.pid}", daemon=True).start()

    def _run(self) -> None:
        try:
            self._code = self._process.wait()
        except OSError:  # the handle is good for nothing, and nobody else could tell of the end
            pass
        finally:
            self.ended_at = time.monotonic()
            try:
                self._on_exit()
            finally:
                with self._handle:
                    self._ended.set()
                    self._process.release()

    def wait(self, timeout: float | None) -> int | None:
        """The exit code once there is one, None when `timeout` seconds pass first."""
        return self._code if self._ended.wait(timeout) else None

    def end_within(self, grace: float) -> None:
        """Give the child `grace` seconds to end by itself, then end it."""
        if not self._ended.wait(grace):
            with self._handle:
                if not self._ended.is_set():
                    self._process.terminate(ENDED_EXIT_CODE)
