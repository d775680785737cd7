"""Who may use the loop next. Invariant: a connection that has used little of it lately never waits behind one that
uses much, and between two turns the loop serves its sockets.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Protocol

MEMORY_SEC = 30.0  # longer than 128 attackers need for a round of 70 ms turns, or each would be light again at its turn
HEAVY_LOAD = 0.05  # seconds of work in about that time; a shell's pings and asks need a tenth of it


class Load:
    """Work done lately, in seconds, fading with time."""

    __slots__ = ("_at", "_value")

    def __init__(self) -> None:
        self._value = 0.0
        self._at = 0.0

    def add(self, seconds: float, now: float) -> None:
        """Count `seconds` of work that ended at `now`."""
        self._value = self._faded(now) + seconds
        self._at = now

    def heavy(self, now: float) -> bool:
        """True when this much work has to wait for lighter ones."""
        return self._faded(now) > HEAVY_LOAD

    def _faded(self, now: float) -> float:
        return self._value * math.exp((self._at - now) / MEMORY_SEC)


class Worker(Protocol):
    """What takes turns."""

    def take_turn(self) -> None:
        """Do a little work; ask for another turn when there is more."""
        ...


class Turns:
    """One turn per pass of the loop: light workers first, in order of asking."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._light: deque[Worker] = deque()
        self._heavy: deque[Worker] = deque()
        self._scheduled = False

    def ask(self, worker: Worker, heavy: bool) -> None:
        """Queue a turn for `worker`; it must not ask again before it got it."""
        (self._heavy if heavy else self._light).append(worker)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and (self._light or self._heavy):
            self._scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = False
        queue = self._light or self._heavy
        worker = queue.popleft()
        try:
            worker.take_turn()
        finally:
            self._schedule()
