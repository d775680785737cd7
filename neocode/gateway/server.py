"""The gateway itself: its connections, its clock and the way of ask events to whoever is bound to their session.

Invariants: an event goes to exactly its session's subscribers and is never replayed; an ask that nobody has listened
to for 2 s is cancelled; every timer and task started here ends with `shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from neocode import __version__
from neocode.ask.types import AskEvent, AskPort
from neocode.errors import NeocodeError
from neocode.gateway import dispatch
from neocode.gateway.connection import Connection
from neocode.gateway.framing import MAX_FRAME_BYTES, Request
from neocode.gateway.limits import Limits
from neocode.gateway.outbox import MAX_DELTA_CHARS
from neocode.gateway.protocol import Frame, RpcError, encode_event
from neocode.gateway.relay import Relay
from neocode.gateway.talks import Talks
from neocode.gateway.turns import Turns
from neocode.timestamps import rfc3339

_log = logging.getLogger(__name__)

FLUSH_POLL_SEC = 0.01


class GatewayServer:
    """One gateway on the running loop. Give `connection` to a listener as its protocol factory."""

    def __init__(
        self,
        ask: AskPort,
        token: str,
        *,
        address: str = "",
        limits: Limits | None = None,
        version: str = __version__,
    ) -> None:
        self.ask = ask
        self.token = token
        self.address = address
        self.version = version
        self.limits = limits or Limits()
        self.started_at = rfc3339(time.time())
        self.stop_requested = asyncio.Event()
        self.idle_since: float | None = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self.turns = Turns(self._loop)
        self.relay: Relay[Connection] = Relay(self.limits, time.monotonic, self._session_unbound)
        self._talks = Talks(self.limits.abandoned_sec)
        self._talks.adopt(ask.sessions(), self.now())
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False
        self._check_timer: asyncio.TimerHandle | None = None
        self._sweep_timer = self._loop.call_later(self.limits.sweep_sec, self._sweep)

    def connection(self) -> Connection:
        """A protocol for one accepted client."""
        return Connection(self)

    def now(self) -> float:
        """Seconds of the clock that bindings live by."""
        return time.monotonic()

    def connection_count(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    def request_stop(self) -> None:
        """Ask the daemon to end; the answer to whoever asked is still sent."""
        self.stop_requested.set()

    def opened(self, connection: Connection) -> bool:
        """Register a client; False when there are 128, or the gateway is ending."""
        if self._stopping or len(self._connections) >= self.limits.connections:
            return False
        self._connections.add(connection)
        self.idle_since = None
        if self._check_timer is None:
            self._check_timer = self._loop.call_later(self._check_interval(), self._check_deadlines)
        return True

    def closed(self, connection: Connection) -> None:
        """Forget a client and its bindings."""
        self._connections.discard(connection)
        self.relay.drop(connection)
        if not self._connections:
            self.idle_since = time.monotonic()

    def handle(self, connection: Connection, request: Request) -> Frame | Coroutine[Any, Any, Frame]:
        """Answer one request; see `dispatch.handle`."""
        if self._stopping:
            raise RpcError("internal_error", "the gateway is shutting down")
        return dispatch.handle(self, connection, request)

    def talk_used(self, session_id: str) -> None:
        """A client used a session."""
        self._talks.used(session_id)

    def talk_bound(self, session_id: str) -> None:
        """A client bound a session."""
        self._talks.bound(session_id)

    def talk_deleted(self, session_id: str) -> None:
        """A client deleted a session."""
        self._talks.deleted(session_id)

    def emit(self, event: AskEvent) -> None:
        """Send an ask's event to the connections bound to its session."""
        if event.event_type == "ask_chunk":
            for piece in _pieces(event):
                data = encode_event(piece)
                for connection in self.relay.subscribers(event.session_id, event.run_id):
                    connection.outbox.send_chunk(piece, data)
            return
        data = encode_event(event)
        if len(data) > MAX_FRAME_BYTES:
            data = encode_event(_too_long(event))
        for connection in self.relay.subscribers(event.session_id, event.run_id):
            connection.outbox.send(data)

    async def shutdown(self) -> None:
        """End: cancel every ask (its error is delivered), flush what peers still read, close all connections."""
        self._stopping = True
        self._sweep_timer.cancel()
        if self._check_timer is not None:
            self._check_timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await self.ask.aclose()
        deadline = time.monotonic() + self.limits.flush_sec
        while time.monotonic() < deadline and not all(c.outbox.empty for c in self._connections):
            await asyncio.sleep(FLUSH_POLL_SEC)
        for connection in list(self._connections):
            connection.close()
        while time.monotonic() < deadline and self._connections:
            await asyncio.sleep(FLUSH_POLL_SEC)
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)

    def _session_unbound(self, session_id: str) -> None:
        self._talks.unbound(session_id, self.now())
        if not self._stopping and session_id in self.ask.running().values():
            self._loop.call_later(self.limits.orphan_sec, self._cancel_orphan, session_id)

    def _cancel_orphan(self, session_id: str) -> None:
        if self._stopping or self.relay.is_bound(session_id):
            return
        if session_id in self.ask.running().values():
            _log.info("cancelling the ask of %r: nobody listens", session_id)
            self.run_to_end(self.ask.cancel(session_id=session_id))

    def run_to_end(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` as a task of the server, which ends it at shutdown at the latest."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, NeocodeError):
            _log.error("background work failed", exc_info=error)

    def _check_interval(self) -> float:
        return min(1.0, self.limits.auth_sec / 4, self.limits.silence_sec / 4)

    def _check_deadlines(self) -> None:
        """Close who is silent or stays unauthenticated."""
        now = time.monotonic()
        for connection in list(self._connections):
            silent = now - connection.last_frame > self.limits.silence_sec and not connection.busy
            unknown = not connection.authenticated and now - connection.opened_at > self.limits.auth_sec
            if silent or unknown:
                connection.abort()
        again = self._check_interval() if self._connections else None
        self._check_timer = None if again is None else self._loop.call_later(again, self._check_deadlines)

    def _sweep(self) -> None:
        self.relay.sweep()
        for session_id in self._talks.abandoned(self.now(), self.relay.is_bound):
            self.run_to_end(self.ask.delete(session_id))
        self._sweep_timer = self._loop.call_later(self.limits.sweep_sec, self._sweep)


def _pieces(event: AskEvent) -> list[AskEvent]:
    """A chunk as chunks that fit into a frame."""
    delta = str(event.payload.get("delta", ""))
    if len(delta) <= MAX_DELTA_CHARS:
        return [event]
    return [
        AskEvent(
            "ask_chunk", event.session_id, event.run_id, {**event.payload, "delta": delta[at : at + MAX_DELTA_CHARS]}
        )
        for at in range(0, len(delta), MAX_DELTA_CHARS)
    ]


def _too_long(event: AskEvent) -> AskEvent:
    """What is sent for an ask_done whose text fits in no frame; its chunks were delivered."""
    payload = {
        "session_id": event.session_id,
        "code": "INTERNAL_ERROR",
        "message": "the answer is longer than 1 MiB; what was streamed is all of it",
        "hint": "",
    }
    return AskEvent("ask_error", event.session_id, event.run_id, payload)
