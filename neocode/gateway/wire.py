"""The client's end of the wire: lines in, each handed to the call, the ask or the queue that it belongs to.

Invariants: when the connection breaks, each pending call fails and each running ask ends with one `ask_error`; an
acknowledged ask has its stream before the next line is read; a late ack of an ask that nobody waits for cancels it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any, cast

import msgspec

from neocode.ask.types import AskEvent, AskEventType
from neocode.errors import GatewayUnreachable
from neocode.gateway.answers import AskStream
from neocode.gateway.framing import MAX_FRAME_BYTES, BadFrame, LineParser, check_json_object
from neocode.gateway.protocol import ErrorBody, Frame, RpcError, encode_call

PING_SEC = 10.0
PONG_SEC = 20.0  # two pings without an answer
MAX_NOTIFICATIONS = 64  # a person's clicks; the oldest are dropped


class GatewayBroke(GatewayUnreachable):
    """The connection was there and is gone."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "try again")


class Notification(msgspec.Struct, frozen=True):
    """What a shell is told to do: `action` as in triggerAction."""

    action: str = ""
    session_id: str = ""
    source_session_id: str = ""
    payload: dict[str, Any] | None = None


class _Message(msgspec.Struct, frozen=True):
    id: msgspec.Raw = msgspec.Raw(b"null")
    result: Frame | None = None
    error: ErrorBody | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"")


class _InnerEvent(msgspec.Struct, frozen=True):
    event_type: str = ""
    payload: dict[str, Any] = {}


class _EventParams(msgspec.Struct, frozen=True):
    event: str = ""
    run_id: str = ""
    session_id: str = ""
    payload: _InnerEvent = _InnerEvent()


_message = msgspec.json.Decoder(_Message)
_event = msgspec.json.Decoder(_EventParams)
_notification = msgspec.json.Decoder(Notification)
_id = msgspec.json.Decoder(str)


class _Pending:
    """A call that waits for its answer; `stream` is registered in the moment an ask is acknowledged."""

    def __init__(self, future: asyncio.Future[Frame], stream: AskStream | None) -> None:
        self.future = future
        self.stream = stream


class Wire(asyncio.Protocol):
    """A connection without a say about what is sent; see `client.GatewayClient`."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser = LineParser()
        self._ids = count(1)
        self._pending: dict[str, _Pending] = {}
        self._streams: dict[str, AskStream] = {}
        self._notifications: deque[Notification] = deque(maxlen=MAX_NOTIFICATIONS)
        self._notified = asyncio.Event()
        self._broken: str | None = None  # why
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._ping_timer: asyncio.TimerHandle | None = None
        self._ping_sent: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; nothing is sent yet."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand each line to whom it belongs."""
        self._ping_sent = None
        self._parser.feed(data)
        try:
            while (line := self._parser.next_line()) is not None:
                self._line(line)
        except (BadFrame, msgspec.DecodeError, RecursionError):
            self._break("the gateway sent a message that is not in its protocol")
            self._abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Everything that waits fails now."""
        self._transport = None
        self._break("the connection to the gateway broke")
        if not self._closed.done():
            self._closed.set_result(None)

    def pause_writing(self) -> None:
        """The gateway reads slowly: calls wait, within their deadlines."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._writable.set()

    async def _call(
        self,
        method: str,
        params: Mapping[str, Any] | msgspec.Struct,
        timeout: float,
        stream: AskStream | None = None,
    ) -> Frame:
        self._raise_if_broken()
        request_id = str(next(self._ids))
        data = encode_call(request_id, method, params)
        if len(data) > MAX_FRAME_BYTES:
            raise RpcError("invalid_frame", "the request is longer than 1 MiB", hint="send less")
        pending = _Pending(self._loop.create_future(), stream)
        self._pending[request_id] = pending
        try:
            return await asyncio.wait_for(self._exchange(data, pending), timeout)
        except asyncio.TimeoutError:
            raise GatewayUnreachable(
                f"the gateway did not answer {method} within {timeout:g} s", "try again, or neocode gateway restart"
            ) from None
        finally:
            self._pending.pop(request_id, None)

    async def _exchange(self, data: bytes, pending: _Pending) -> Frame:
        await self._writable.wait()
        self._raise_if_broken()
        assert self._transport is not None
        self._transport.write(data)
        return await pending.future

    def _line(self, line: bytes) -> None:
        message = _message.decode(line)
        check_json_object(line)
        if message.method == "gateway.event":
            self._on_event(_event.decode(message.params))
        elif message.method == "gateway.notification":
            self._notifications.append(_notification.decode(message.params))
            self._notified.set()
        elif not message.method:
            self._on_answer(message)

    def _on_answer(self, message: _Message) -> None:
        raw = bytes(message.id)
        pending = self._pending.get(_id.decode(raw)) if raw[:1] == b'"' else None
        if message.error is not None:
            error = _rpc_error(message.error)
            if pending is None and raw == b"null":
                self._break(f"the gateway refused what was sent: {error.message}")
            elif pending is not None and not pending.future.done():
                pending.future.set_exception(error)
        elif pending is not None and message.result is not None and not pending.future.done():
            if pending.stream is not None:
                self._register(pending.stream, message.result)
            pending.future.set_result(message.result)
        elif pending is None and message.result is not None and message.result.action == "ask":
            self._send("gateway.cancel", {"run_id": message.result.run_id})

    def _register(self, stream: AskStream, ack: Frame) -> None:
        """Before the next line is read, or its first event would be lost. NeoCode's ack has no run id."""
        stream.session_id, stream.run_id = ack.session_id, ack.run_id
        self._streams[ack.run_id or ack.session_id] = stream

    def _on_event(self, params: _EventParams) -> None:
        stream = self._streams.get(params.run_id) or self._streams.get(params.session_id)
        kind = params.payload.event_type or params.event
        if stream is None or kind not in ("ask_chunk", "ask_done", "ask_error"):
            return
        run_id = params.run_id or stream.run_id
        event = AskEvent(cast(AskEventType, kind), params.session_id, run_id, params.payload.payload)
        if stream.push(event):
            self._streams.pop(stream.run_id or stream.session_id, None)

    def _ping(self) -> None:
        """Keep the connection and its bindings alive; a gateway that owes nothing else and stays mute is dead."""
        if self._broken is not None or self._transport is None:
            return
        now = time.monotonic()
        if self._ping_sent is not None and now - self._ping_sent > PONG_SEC and not self._pending:
            self._break("the gateway does not answer any more")
            self._abort()
            return
        self._send("gateway.ping", {})
        if self._ping_sent is None:
            self._ping_sent = now
        self._ping_timer = self._loop.call_later(PING_SEC, self._ping)

    def _send(self, method: str, params: Mapping[str, Any]) -> None:
        """Call without waiting for the answer; skipped while the gateway does not read."""
        if self._writable.is_set() and self._transport is not None:
            self._transport.write(encode_call(f"quiet-{next(self._ids)}", method, params))

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _break(self, reason: str) -> None:
        """Fail everything that waits, once."""
        if self._broken is not None:
            return
        self._broken = reason
        if self._ping_timer is not None:
            self._ping_timer.cancel()
        self._writable.set()
        for pending in list(self._pending.values()):
            if not pending.future.done():
                pending.future.set_exception(GatewayBroke(reason))
        for stream in list(self._streams.values()):
            stream.fail(reason)
        self._streams.clear()
        self._notified.set()

    def _raise_if_broken(self) -> None:
        if self._broken is not None:
            raise GatewayBroke(self._broken)


def _rpc_error(body: ErrorBody) -> RpcError:
    data = dict(body.data)
    code = str(data.pop("gateway_code", "internal_error"))
    return RpcError(code, body.message, code=body.code, data=data, hint=str(data.get("hint", "")))
