"""What each method does. Invariant: a handler sees only a well-formed request of an authenticated client (but
`authenticate`); whatever it raises becomes one line in `dispatch.py`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, Protocol

import msgspec

from neocode.ask.types import AskEvent, AskParams, AskPort
from neocode.gateway.auth import tokens_equal
from neocode.gateway.connection import Connection
from neocode.gateway.limits import Limits
from neocode.gateway.protocol import (
    MAX_PAYLOAD_BYTES,
    MAX_STATE_BYTES,
    SUBJECT_ID,
    AuthenticateParams,
    BindParams,
    CancelParams,
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

CHANNELS = ("all", "ipc")
ROLES = ("", "shell", "cli", "tui")


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


def authenticate(hub: Hub, connection: Connection, params: AuthenticateParams) -> Reply:
    """`gateway.authenticate`."""
    if not tokens_equal(params.token, hub.token):
        raise RpcError("unauthorized", "unauthorized")
    connection.authenticated = True
    return Reply({"message": "authenticated", "subject_id": SUBJECT_ID})


def ping(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.ping`: also refreshes the bindings."""
    hub.relay.touch(connection)
    return Reply({"message": "pong", "version": hub.version})


def bind_stream(hub: Hub, connection: Connection, params: BindParams) -> Reply:
    """`gateway.bindStream`."""
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


def ask(hub: Hub, connection: Connection, params: AskParams) -> Reply:
    """`gateway.ask`: acknowledged at once; events follow."""
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


async def delete_ask_session(hub: Hub, connection: Connection, params: SessionParams) -> Reply:
    """`gateway.deleteAskSession`: a running ask is cancelled first."""
    session_id = check_session_id(params.session_id)
    deleted = await _local(hub, hub.ask.delete(session_id))
    hub.talk_deleted(session_id)
    hub.relay.forget(connection, session_id)
    return Reply({"deleted": deleted, "session_id": session_id}, session_id)


async def cancel(hub: Hub, connection: Connection, params: CancelParams) -> Reply:
    """`gateway.cancel`: the provider call itself ends."""
    if not params.run_id and not params.session_id:
        raise RpcError("missing_required_field", "missing required field: params.run_id")
    canceled = await _local(
        hub, hub.ask.cancel(run_id=params.run_id, session_id="" if params.run_id else params.session_id)
    )
    return Reply({"canceled": canceled}, params.session_id, params.run_id)


def trigger_action(hub: Hub, connection: Connection, params: TriggerParams) -> Reply:
    """`gateway.experimental.triggerAction`; see trigger.py."""
    payload = _small_object(params.payload, MAX_PAYLOAD_BYTES, "params.payload")

    def deliver(
        shell: Binding[Connection], action: str, source_session_id: str, payload: dict[str, Any] | None
    ) -> bool:
        data = encode_notification(action, shell.session_id, source_session_id, payload)
        return shell.peer.outbox.send(data)

    answer = trigger(hub.relay, connection, params.action, params.session_id, payload, deliver, hub.now())
    return Reply(answer, answer["session_id"])


def create_session(hub: Hub, connection: Connection, params: SessionParams) -> Reply:
    """`gateway.createSession`."""
    if params.session_id:
        check_session_id(params.session_id)
    session_id = hub.ask.create(params.session_id)
    hub.talk_used(session_id)
    return Reply({"session_id": session_id}, session_id)


def list_sessions(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.listSessions`."""
    return Reply({"sessions": [msgspec.to_builtins(session) for session in hub.ask.sessions()]})


def list_shells(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.listShells`."""
    return Reply({"shells": describe_shells(hub.relay)})


async def reload_config(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.reloadConfig`."""
    warnings = await _local(hub, hub.ask.reload())
    return Reply({"message": "configuration read again", "warnings": warnings})


def shutdown(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.shutdown`: the answer is sent, then the daemon ends."""
    hub.request_stop()
    return Reply({"message": "shutting down"})


def status(hub: Hub, connection: Connection, params: NoParams) -> Reply:
    """`gateway.status`. `origin` is where the provider's requests go, empty for this machine."""
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
            "origin": provider.origin,
        }
    )


async def test_provider(hub: Hub, connection: Connection, params: ProviderParams) -> Reply:
    """`gateway.testProvider`: from this process and its environment."""
    message = await asyncio.wait_for(hub.ask.check_provider(params.name), hub.limits.provider_call_sec)
    in_use = hub.ask.provider()
    name = params.name or in_use.name
    return Reply({"message": message, "provider": name, "model": in_use.model if name == in_use.name else ""})


async def list_models(hub: Hub, connection: Connection, params: ProviderParams) -> Reply:
    """`gateway.listModels`."""
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
