"""The events of one ask as an async iterator. Invariants: it ends after exactly one ask_done or ask_error, whatever
becomes of the connection; what waits unread is bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from neocode.ask.types import AskEvent

MAX_WAITING_CHARS = 8 << 20  # as much as the gateway lets wait for us
MERGE_FROM = 64  # events; a reader that far behind gets bigger pieces
MERGED_CHARS = 64 * 1024  # of one piece, so that adding to it stays cheap


class AskStream:
    """Iterate over it; `cancel` asks the gateway to stop, the ask_error CANCELED still comes.

    As an async context manager it cancels a run that is left early.
    """

    def __init__(self, cancel: Callable[[AskStream], Awaitable[None]]) -> None:
        self._cancel = cancel
        self._events: deque[AskEvent] = deque()
        self._waiting = 0
        self._wake = asyncio.Event()
        self._ended = False
        self.session_id = ""
        self.run_id = ""

    def __aiter__(self) -> AskStream:
        return self

    async def __anext__(self) -> AskEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        event = self._events.popleft()
        self._waiting -= len(str(event.payload.get("delta", "")))
        return event

    async def __aenter__(self) -> AskStream:
        return self

    async def __aexit__(self, *exc: object) -> None:
        if not self._ended:
            await self.cancel()

    async def cancel(self) -> None:
        """Stop the provider's call. Raises as `GatewayClient.call`."""
        if not self._ended:
            await self._cancel(self)

    def push(self, event: AskEvent) -> bool:
        """Add an event; True when the ask has ended with it. For the connection that owns the stream."""
        if self._ended:
            return True
        self._waiting += len(str(event.payload.get("delta", "")))
        if self._waiting > MAX_WAITING_CHARS:
            self.fail("more of the answer waits unread than may be kept")
            return True
        last = self._events.pop() if len(self._events) >= MERGE_FROM else None
        self._events.extend(_joined(last, event))
        self._ended = event.event_type != "ask_chunk"
        self._wake.set()
        return self._ended

    def fail(self, reason: str) -> None:
        """End with an ask_error of our own. For the connection that owns the stream."""
        if self._ended:
            return
        self._ended = True
        payload = {
            "session_id": self.session_id,
            "code": "INTERNAL_ERROR",
            "message": f"{reason} before the answer was complete",
            "hint": "ask again",
        }
        self._events.append(AskEvent("ask_error", self.session_id, self.run_id, payload))
        self._wake.set()


def _joined(last: AskEvent | None, event: AskEvent) -> list[AskEvent]:
    """The two as one event if both are chunks and the result is not too big, else as they are."""
    if last is None:
        return [event]
    delta = str(last.payload.get("delta", ""))
    if last.event_type != "ask_chunk" or event.event_type != "ask_chunk" or len(delta) > MERGED_CHARS:
        return [last, event]
    payload = {**event.payload, "delta": delta + str(event.payload.get("delta", ""))}
    return [AskEvent("ask_chunk", event.session_id, event.run_id, payload)]
