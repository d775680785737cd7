"""The table of methods and what each of them does. Invariant: everything a handler lets escape is an RpcError with
one line of text; only a well-formed, authenticated request reaches a handler.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar, cast

import msgspec

from neocode.ask.types import AskEvent, AskParams, AskPort, AskRefused
from neocode.errors import NeocodeError, ProviderError
from neocode.gateway.auth import tokens_equal
from neocode.gateway.connection import Connection
from neocode.gateway.framing import Request, decode_params
from neocode.gateway.limits import Limits
from neocode.gateway.protocol import (
    MAX_PAYLOAD_BYTES,
    MAX_STATE_BYTES,
    SUBJECT_ID,
    AuthenticateParams,
    BindParams,
    CancelParams,
    Frame,
    NoParams,
    ProviderParams,
    RpcError,
    SessionParams,
    TriggerParams,
    check_session_id,
    encode_notification,
)
from neocode.gateway.relay import Binding, Relay
from neocode.gateway.trigger import describe_shells, trigger

logger = logging.getLogger(__name__)

CHANNELS = ("all", "ipc")
ROLES = ("", "shell", "cli", "tui")
AUTHENTICATE = "gateway.authenticate"
PING = "gateway.ping"


class Hub(Protocol):
    """What handlers need of the server."""

    ask: AskPort
    relay: Relay[Connection]
    token: str
    version: str
    address: str
    started_at: str
    limits: Limits

    def emit(self, event: AskEvent) -> None: ...
    def request_stop(self) -> None: ...
    def now(self) -> float: ...
    def connection_count(self) -> int: ...
    def run_to_end(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...
    def talk_used(self, session_id: str) -> None: ...
    def talk_bound(self, session_id: str) -> None: ...
    def talk_deleted(self, session_id: str) -> None: ...


class Reply(msgspec.Struct, frozen=True):
    """A handler's answer before it becomes a frame."""

    payload: dict[str, Any]
    session_id: str = ""
    run_id: str = ""


ParamsT = TypeVar("ParamsT", bound=msgspec.Struct)
Answer = Reply | Coroutine[Any, Any, Reply]
Handler = Callable[[Hub, Connection, ParamsT], Answer]


class _Method(msgspec.Struct, frozen=True):
    action: str
    decoder: msgspec.json.Decoder[msgspec.Struct]
    handler: Callable[[Hub, Connection, Any], Answer]


def handle(hub: Hub, connection: Connection, request: Request) -> Frame | Coroutine[Any, Any, Frame]:
    """Answer `request` with a frame, or with a coroutine that gives one.

    Raises:
        RpcError: the answer is an error.
    """
    if not connection.authenticated and request.method != AUTHENTICATE:
        raise RpcError("unauthorized", "unauthorized")
    method = METHODS.get(request.method)
    if method is None:
        raise RpcError("unsupported_action", f"unsupported method: {request.method[:64]}")
    params = NoParams() if request.method == PING else decode_params(request, method.decoder)
    with _Errors(method.action):
        answer = method.handler(hub, connection, params)
    if isinstance(answer, Reply):
        return _frame(method, request, answer)
    return _later(method, request, answer)


async def _later(method: _Method, request: Request, answer: Coroutine[Any, Any, Reply]) -> Frame:
    with _Errors(method.action):
        return _frame(method, request, await answer)


def _frame(method: _Method, request: Request, reply: Reply) -> Frame:
    return Frame("ack", method.action, request.request_id, reply.run_id, reply.session_id, reply.payload)


class _Errors:
    """Turns what a handler raises into the RpcError to send."""

    def __init__(self, action: str) -> None:
        self._action = action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, RpcError) or not isinstance(error, Exception):
            return
        if isinstance(error, asyncio.TimeoutError):
            raise RpcError("timeout", f"{self._action} timed out") from error
        if isinstance(error, AskRefused):
            raise RpcError("invalid_action", error.message, data=_hint(error)) from error
        if isinstance(error, NeocodeError):
            raise RpcError("internal_error", error.message, data=_hint(error)) from error
        logger.error("%s failed", self._action, exc_info=error)
        raise RpcError("internal_error", f"{self._action} failed") from error


def _hint(error: NeocodeError) -> dict[str, Any]:
    data: dict[str, Any] = {"hint": error.hint} if error.hint else {}
    if isinstance(error, ProviderError):
        data["code"] = error.code
    return data


def _authenticate(hub: Hub, connection: Connection, params: AuthenticateParams) -> Reply:
    if not tokens_equal(params.token, hub.token):
        raise RpcError("unauthorized", "unauthorized")
    connection.authenticated = True
    return Reply({"message": "authenticated", "subject_id": SUBJECT_ID})


def _ping(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    hub.relay.touch(connection)
    return Reply({"message": "pong", "version": hub.version})


def _bind_stream(hub: Hub, connection: Connection, params: BindParams) -> Reply:
    check_session_id(params.session_id)
    channel = params.channel or "all"
    if channel not in CHANNELS:
        raise RpcError("invalid_action", "invalid field: params.channel")
    if params.role not in ROLES:
        raise RpcError("invalid_action", "invalid field: params.role")
    if params.run_id:
        check_session_id(params.run_id, "params.run_id")
    state = _small_object(params.state, MAX_STATE_BYTES, "params.state")
    binding = hub.relay.bind(
        connection, params.session_id, params.run_id, role=params.role, channel=channel, state=state
    )
    hub.talk_bound(params.session_id)
    payload = {
        "message": "stream binding updated",
        "channel": channel,
        "role": binding.role,
        "state": binding.state or None,
    }
    return Reply(payload, params.session_id, params.run_id)


def _ask(hub: Hub, connection: Connection, params: AskParams) -> Reply:
    if not params.user_query.strip() and not (params.context and params.context.log):
        raise RpcError("missing_required_field", "missing required field: params.user_query")
    if params.session_id:
        check_session_id(params.session_id)
        hub.relay.bind_for_ask(connection, params.session_id)
    else:
        hub.relay.reserve(connection)
    ticket = hub.ask.submit(params, hub.emit)
    if not params.session_id:
        hub.relay.bind_for_ask(connection, ticket.session_id)
    hub.talk_used(ticket.session_id)
    return Reply({"message": "ask accepted"}, ticket.session_id, ticket.run_id)


async def _delete_ask_session(hub: Hub, connection: Connection, params: SessionParams) -> Reply:
    session_id = check_session_id(params.session_id)
    deleted = await _local(hub, hub.ask.delete(session_id))
    hub.talk_deleted(session_id)
    hub.relay.forget(connection, session_id)
    return Reply({"deleted": deleted, "session_id": session_id}, session_id)


async def _cancel(hub: Hub, connection: Connection, params: CancelParams) -> Reply:
    if not params.run_id and not params.session_id:
        raise RpcError("missing_required_field", "missing required field: params.run_id")
    canceled = await _local(
        hub, hub.ask.cancel(run_id=params.run_id, session_id="" if params.run_id else params.session_id)
    )
    return Reply({"canceled": canceled}, params.session_id, params.run_id)


def _trigger_action(hub: Hub, connection: Connection, params: TriggerParams) -> Reply:
    payload = _small_object(params.payload, MAX_PAYLOAD_BYTES, "params.payload")

    def deliver(
        shell: Binding[Connection], action: str, source_session_id: str, payload: dict[str, Any] | None
    ) -> bool:
        data = encode_notification(action, shell.session_id, source_session_id, payload)
        return shell.peer.outbox.send(data)

    answer = trigger(hub.relay, connection, params.action, params.session_id, payload, deliver, hub.now())
    return Reply(answer, answer["session_id"])


def _create_session(hub: Hub, connection: Connection, params: SessionParams) -> Reply:
    if params.session_id:
        check_session_id(params.session_id)
    session_id = hub.ask.create(params.session_id)
    hub.talk_used(session_id)
    return Reply({"session_id": session_id}, session_id)


def _list_sessions(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    return Reply({"sessions": [msgspec.to_builtins(session) for session in hub.ask.sessions()]})


def _list_shells(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    return Reply({"shells": describe_shells(hub.relay)})


async def _reload_config(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    warnings = await _local(hub, hub.ask.reload())
    return Reply({"message": "configuration read again", "warnings": warnings})


def _shutdown(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    hub.request_stop()
    return Reply({"message": "shutting down"})


def _status(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    provider = hub.ask.provider()
    return Reply(
        {
            "message": "running",
            "version": hub.version,
            "pid": os.getpid(),
            "started_at": hub.started_at,
            "address": hub.address,
            "connections": hub.connection_count(),
            "asks": len(hub.ask.running()),
            "shells": len(hub.relay.shells()),
            "provider": provider.name,
            "model": provider.model,
        }
    )


async def _test_provider(hub: Hub, connection: Connection, params: ProviderParams) -> Reply:
    message = await asyncio.wait_for(hub.ask.check_provider(params.name), hub.limits.provider_call_sec)
    in_use = hub.ask.provider()
    name = params.name or in_use.name
    return Reply({"message": message, "provider": name, "model": in_use.model if name == in_use.name else ""})


async def _list_models(hub: Hub, connection: Connection, params: ProviderParams) -> Reply:
    models = await asyncio.wait_for(hub.ask.list_models(params.name), hub.limits.provider_call_sec)
    return Reply({"models": models})


async def _local(hub: Hub, work: Coroutine[Any, Any, Any]) -> Any:
    """Local work goes on to its end when the client that ordered it leaves; he waits 10 s at most."""
    return await asyncio.wait_for(asyncio.shield(hub.run_to_end(work)), hub.limits.call_sec)


def _small_object(raw: msgspec.Raw, limit: int, field: str) -> dict[str, Any] | None:
    """The object in `raw`, None when left out or null. Raises RpcError when it is no object or too long."""
    encoded = bytes(raw)
    if encoded in (b"", b"null"):
        return None
    if len(encoded) > limit:
        raise RpcError("invalid_frame", f"invalid field: {field} is longer than {limit} bytes")
    try:
        return msgspec.json.decode(encoded, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise RpcError("invalid_frame", f"invalid field: {field}") from None


def _method(action: str, params: type[ParamsT], handler: Handler[ParamsT]) -> _Method:
    decoder = cast("msgspec.json.Decoder[msgspec.Struct]", msgspec.json.Decoder(params))
    return _Method(action, decoder, handler)


METHODS: dict[str, _Method] = {
    AUTHENTICATE: _method("authenticate", AuthenticateParams, _authenticate),
    PING: _method("ping", NoParams, _ping),
    "gateway.bindStream": _method("bind_stream", BindParams, _bind_stream),
    "gateway.ask": _method("ask", AskParams, _ask),
    "gateway.deleteAskSession": _method("delete_ask_session", SessionParams, _delete_ask_session),
    "gateway.cancel": _method("cancel", CancelParams, _cancel),
    "gateway.experimental.triggerAction": _method("trigger_action", TriggerParams, _trigger_action),
    "gateway.createSession": _method("create_session", SessionParams, _create_session),
    "gateway.listSessions": _method("list_sessions", NoParams, _list_sessions),
    "gateway.listShells": _method("list_shells", NoParams, _list_shells),
    "gateway.reloadConfig": _method("reload_config", NoParams, _reload_config),
    "gateway.shutdown": _method("shutdown", NoParams, _shutdown),
    "gateway.status": _method("status", NoParams, _status),
    "gateway.testProvider": _method("test_provider", ProviderParams, _test_provider),
    "gateway.listModels": _method("list_models", ProviderParams, _list_models),
}
