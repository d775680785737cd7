"""One accepted ask while it is queued or running.

Invariant: exactly one terminal event, the first one that comes; nothing is emitted after it, whoever still tries.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from neocode.ask.answer import Answer
from neocode.ask.types import AskEvent, AskEventType, AskParams, AskTicket, Emit
from neocode.errors import AskErrorCode

_log = logging.getLogger("neocode.ask")


class AskRun:
    """The ask's parameters, its answer so far, its task and the way to its caller."""

    def __init__(self, ask: AskParams, ticket: AskTicket, emit: Emit) -> None:
        self.ask = ask
        self.ticket = ticket
        self.answer = Answer()
        self.closed = False
        self.task: asyncio.Task[None] | None = None
        self._emit = emit

    def chunk(self, delta: str) -> None:
        """Pass on a piece of the answer; "" is nothing."""
        if delta and not self.closed:
            self._send("ask_chunk", {"delta": delta})

    def cut(self, label: str) -> None:
        """Mark an answer of which some was passed on as cut off."""
        if not self.closed and not self.answer.empty:
            self.chunk(self.answer.label(label))

    def done(self, payload: dict[str, Any]) -> None:
        """End with `ask_done`."""
        self._close("ask_done", payload)

    def fail(self, code: AskErrorCode, message: str, hint: str = "") -> None:
        """End with `ask_error`; `message` and `hint` on one line each."""
        self._close("ask_error", {"code": code, "message": " ".join(message.split()), "hint": " ".join(hint.split())})

    def stop(self, code: AskErrorCode, message: str, hint: str = "") -> None:
        """End with `ask_error` and cancel what still runs for it."""
        self.fail(code, message, hint)
        if self.task is not None:
            self.task.cancel()

    def _close(self, event_type: AskEventType, payload: dict[str, Any]) -> None:
        if not self.closed:
            self.closed = True
            self._send(event_type, payload)

    def _send(self, event_type: AskEventType, payload: dict[str, Any]) -> None:
        session_id, run_id = self.ticket.session_id, self.ticket.run_id
        try:
            self._emit(AskEvent(event_type, session_id, run_id, {"session_id": session_id, **payload}))
        except Exception as error:  # a caller's fault must not end the ask half way
            _log.error("an event of %s could not be passed on: %s", run_id, type(error).__name__)
