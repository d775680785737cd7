"""One connection to the gateway, for commands and as the wire of `link.GatewayLink`. Light to import.

Invariants: every call has a deadline; when the connection breaks, each pending call fails and each running ask ends
with one `ask_error`; nothing is sent before the server's owner is known.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any, cast

import msgspec

from neocode.ask.types import AskEvent, AskEventType, AskParams
from neocode.errors import ConfigError, GatewayUnreachable, ShellTargetError
from neocode.gateway import transport as transports
from neocode.gateway.answers import AskStream
from neocode.gateway.auth import wait_for_token
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.framing import BadFrame, LineParser, check_json_object
from neocode.gateway.protocol import ErrorBody, Frame, RpcError, encode_call

CONNECT_SEC = 5.0
CALL_SEC = 10.0
TOKEN_WAIT_SEC = 2.0  # a daemon that accepts has its token already; the margin is for a slow disk
PING_SEC = 10.0
PONG_SEC = 20.0  # two pings without an answer
MAX_NOTIFICATIONS = 64  # a person's clicks; the oldest are dropped
MAX_STATE_CHARS = 1000  # of one state value; the server takes 7 KiB for all ten


class Notification(msgspec.Struct, frozen=True):
    """What a shell is told to do: `action` as in triggerAction."""

    action: str
    session_id: str
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


class _NotificationParams(msgspec.Struct, frozen=True):
    action: str = ""
    session_id: str = ""
    source_session_id: str = ""
    payload: dict[str, Any] | None = None


_message = msgspec.json.Decoder(_Message)
_event = msgspec.json.Decoder(_EventParams)
_notification = msgspec.json.Decoder(_NotificationParams)
_id = msgspec.json.Decoder(str)


class _Pending:
    """A call that waits for its answer; `stream` is registered in the moment an ask is acknowledged."""

    def __init__(self, future: asyncio.Future[Frame], stream: AskStream | None) -> None:
        self.future = future
        self.stream = stream


class GatewayClient(asyncio.Protocol):
    """An authenticated connection. Make one with `GatewayClient.open` (or `lifecycle.ensure_daemon`), end it with
    `close`; it is also an async context manager.

    `server_version` is the daemon's; `notes` are lines that the user should see once.
    """

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
        self._received_at = time.monotonic()
        self._ping_sent: float | None = None
        self.server_version = ""
        self.notes: list[str] = []

    @classmethod
    async def open(cls, endpoint: Endpoint, *, timeout: float = CONNECT_SEC) -> GatewayClient:
        """Connect, authenticate and ask for the version, within `timeout` seconds; starts nothing.

        Raises:
            GatewayUnreachable: nobody listens (GatewayAbsent), the connection is closed (GatewayBroke), or no answer.
            ConfigError: the token file or the socket cannot be used.
            RpcError: `unauthorized`.
        """
        try:
            _, client = await transports.connect(endpoint.address, cls, timeout)
        except (FileNotFoundError, ConnectionRefusedError):
            raise GatewayAbsent(endpoint.address) from None
        except TimeoutError:
            raise GatewayUnreachable(
                f"the gateway at {endpoint.address} accepts nobody", "try again, or neocode gateway restart"
            ) from None
        try:
            await client._authenticate(endpoint, timeout)
        except BaseException:
            await client.close()
            raise
        return client

    async def _authenticate(self, endpoint: Endpoint, timeout: float) -> None:
        token = await wait_for_token(endpoint.token_file, TOKEN_WAIT_SEC)
        try:
            await self.call("gateway.authenticate", {"token": token}, timeout=timeout)
        except RpcError as error:
            if error.gateway_code != "unauthorized":
                raise
            again = await wait_for_token(endpoint.token_file, 0)  # a daemon may have made it anew meanwhile
            if again == token:
                raise ConfigError(
                    f"the gateway at {endpoint.address} does not accept the token in {endpoint.token_file}",
                    "neocode gateway restart, or name the right file with --token-file",
                ) from error
            await self.call("gateway.authenticate", {"token": again}, timeout=timeout)
        pong = await self.call("gateway.ping", {}, timeout=timeout)
        self.server_version = str(pong.get("version", ""))
        self._ping_timer = self._loop.call_later(PING_SEC, self._ping)

    async def __aenter__(self) -> GatewayClient:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def connected(self) -> bool:
        """False once the connection is gone."""
        return self._broken is None

    async def call(
        self, method: str, params: Mapping[str, Any] | msgspec.Struct, *, timeout: float = CALL_SEC
    ) -> dict[str, Any]:
        """Call and return the ack's payload.

        Raises:
            RpcError: the gateway's error, `data` as sent.
            GatewayUnreachable: the connection is or goes broken, or no answer came within `timeout` seconds.
        """
        return (await self._call(method, params, timeout)).payload or {}

    async def ask(self, params: AskParams, *, timeout: float = CALL_SEC) -> AskStream:
        """Ask; the stream yields this run's events up to ask_done or ask_error.

        Raises:
            RpcError: not accepted (unknown skill, empty question).
            GatewayUnreachable: as `call`.
        """
        stream = AskStream(self._cancel_run)
        frame = await self._call("gateway.ask", _ask_members(params), timeout, stream)
        stream.session_id = stream.session_id or frame.session_id
        return stream

    async def bind(
        self,
        session_id: str,
        *,
        role: str = "",
        state: Mapping[str, Any] | None = None,
        channel: str = "all",
        timeout: float = CALL_SEC,
    ) -> dict[str, Any]:
        """Bind this connection to a session; `state` as a shell publishes it (long values are cut)."""
        members: dict[str, Any] = {"session_id": session_id, "role": role, "channel": channel}
        if state is not None:
            members["state"] = {key: _short(value) for key, value in state.items()}
        return await self.call("gateway.bindStream", members, timeout=timeout)

    async def trigger(
        self, action: str, session_id: str = "", payload: Mapping[str, Any] | None = None, *, timeout: float = CALL_SEC
    ) -> dict[str, Any]:
        """`triggerAction`; bind with role `cli` or `tui` first.

        Raises:
            ShellTargetError: no shell, several, or a busy one; its cause is the RpcError with `data`.
            RpcError: any other refusal.
        """
        members: dict[str, Any] = {"action": action}
        if session_id:
            members["session_id"] = session_id
        if payload is not None:
            members["payload"] = dict(payload)
        try:
            return await self.call("gateway.experimental.triggerAction", members, timeout=timeout)
        except RpcError as error:
            if error.gateway_code == "resource_not_found":
                raise ShellTargetError(error.message, "start one with neocode shell") from error
            if "shells" in error.data:
                raise ShellTargetError(error.message, "name one with --session") from error
            if error.message.startswith("shell busy"):
                raise ShellTargetError(error.message, "wait for its answer") from error
            raise

    async def notification(self) -> Notification:
        """The next notification. Raises GatewayUnreachable when the connection is gone."""
        while not self._notifications:
            self._raise_if_broken()
            self._notified.clear()
            await self._notified.wait()
        return self._notifications.popleft()

    async def wait_closed(self) -> None:
        """Return when the connection is gone."""
        await asyncio.shield(self._closed)

    async def close(self) -> None:
        """Close. Idempotent; running asks end with an error (the gateway cancels them 2 s later)."""
        self._break("the connection to the gateway was closed")
        if self._transport is not None:
            self._transport.close()
            await asyncio.wait([self._closed], timeout=1.0)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; nothing is sent yet."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand each line to whom it belongs."""
        self._received_at = time.monotonic()
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

    # internals

    async def _call(
        self,
        method: str,
        params: Mapping[str, Any] | msgspec.Struct,
        timeout: float,
        stream: AskStream | None = None,
    ) -> Frame:
        self._raise_if_broken()
        request_id = str(next(self._ids))
        pending = _Pending(self._loop.create_future(), stream)
        self._pending[request_id] = pending
        try:
            return await asyncio.wait_for(self._exchange(encode_call(request_id, method, params), pending), timeout)
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
            note = _notification.decode(message.params)
            self._notifications.append(Notification(note.action, note.session_id, note.source_session_id, note.payload))
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

    async def _cancel_run(self, stream: AskStream) -> None:
        members = {"run_id": stream.run_id} if stream.run_id else {"session_id": stream.session_id}
        await self.call("gateway.cancel", members)

    def _ping(self) -> None:
        """Keep the connection and its bindings alive; a gateway that owes nothing else and stays mute is dead."""
        if self._broken is not None or self._transport is None:
            return
        now = time.monotonic()
        if self._ping_sent is not None and now - self._ping_sent > PONG_SEC and not self._pending:
            self._break("the gateway does not answer any more")
            self._abort()
            return
        if self._writable.is_set():
            self._transport.write(encode_call(f"ping-{next(self._ids)}", "gateway.ping", {}))
        if self._ping_sent is None:
            self._ping_sent = now
        self._ping_timer = self._loop.call_later(PING_SEC, self._ping)

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


class GatewayAbsent(GatewayUnreachable):
    """Nobody listens at the address: the one case in which a daemon may be started."""

    def __init__(self, address: str) -> None:
        super().__init__(f"no gateway is running at {address}", "start one with neocode gateway run")


class GatewayBroke(GatewayUnreachable):
    """The connection was there and is gone."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, "try again")


def _rpc_error(body: ErrorBody) -> RpcError:
    data = dict(body.data)
    code = str(data.pop("gateway_code", "internal_error"))
    return RpcError(code, body.message, code=body.code, data=data, hint=str(data.get("hint", "")))


def _ask_members(params: AskParams) -> dict[str, Any]:
    members: dict[str, Any] = {"user_query": params.user_query}
    if params.session_id:
        members["session_id"] = params.session_id
    if params.skills:
        members["skills"] = params.skills
    if params.workdir:
        members["workdir"] = params.workdir
    if params.context is not None:
        members["context"] = params.context
    return members


def _short(value: Any) -> Any:
    return value[:MAX_STATE_CHARS] if isinstance(value, str) else value
