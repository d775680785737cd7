"""A gate that lets a number of tasks in at once and the others wait in the order they came.

Invariant: a place is never lost, also when a task is cancelled in the moment it is let in. (asyncio's Semaphore cannot
change its limit while in use, and before 3.10.8 it could lose a place to a cancelled waiter.)
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType


class Gate:
    """An async context manager: `async with gate:` holds one of `limit` places."""

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def idle(self) -> bool:
        """True when nobody is inside or waiting."""
        return not self._inside and not self._waiting

    def set_limit(self, limit: int) -> None:
        """Change the number of places; whoever is inside stays."""
        self._limit = max(1, limit)
        self._admit()

    async def __aenter__(self) -> None:
        if self._inside < self._limit and not self._waiting:
            self._inside += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            else:
                self._waiting.remove(place)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._inside -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < self._limit:
            place = self._waiting.popleft()
            if not place.done():
                self._inside += 1
                place.set_result(None)
