"""The table of methods. Invariant: everything a handler lets escape is an RpcError with
one line of text; only a well-formed, authenticated request reaches a handler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

import msgspec

from neocode.ask.types import AskParams, AskRefused
from neocode.errors import NeocodeError, ProviderError
from neocode.gateway import handlers
from neocode.gateway.connection import Connection
from neocode.gateway.framing import Request, decode_params
from neocode.gateway.handlers import Hub, Reply
from neocode.gateway.protocol import (
    AuthenticateParams,
    BindParams,
    CancelParams,
    Frame,
    NoParams,
    ProviderParams,
    RpcError,
    SessionParams,
    TriggerParams,
)

_log = logging.getLogger(__name__)

AUTHENTICATE = "gateway.authenticate"
PING = "gateway.ping"
LOOK_INTO_LOG = "the gateway's log (~/.neocode/logs/gateway.log) says where; please report it"

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
        _log.error("%s failed", self._action, exc_info=error)
        raise RpcError("internal_error", f"{self._action} failed", data={"hint": LOOK_INTO_LOG}) from error


def _hint(error: NeocodeError) -> dict[str, Any]:
    data: dict[str, Any] = {"hint": error.hint} if error.hint else {}
    if isinstance(error, ProviderError):
        data["code"] = error.code
    return data


def _method(action: str, params: type[ParamsT], handler: Handler[ParamsT]) -> _Method:
    decoder = cast("msgspec.json.Decoder[msgspec.Struct]", msgspec.json.Decoder(params))
    return _Method(action, decoder, handler)


METHODS: dict[str, _Method] = {
    AUTHENTICATE: _method("authenticate", AuthenticateParams, handlers.authenticate),
    PING: _method("ping", NoParams, handlers.ping),
    "gateway.bindStream": _method("bind_stream", BindParams, handlers.bind_stream),
    "gateway.ask": _method("ask", AskParams, handlers.ask),
    "gateway.deleteAskSession": _method("delete_ask_session", SessionParams, handlers.delete_ask_session),
    "gateway.cancel": _method("cancel", CancelParams, handlers.cancel),
    "gateway.experimental.triggerAction": _method("trigger_action", TriggerParams, handlers.trigger_action),
    "gateway.createSession": _method("create_session", SessionParams, handlers.create_session),
    "gateway.listSessions": _method("list_sessions", NoParams, handlers.list_sessions),
    "gateway.listShells": _method("list_shells", NoParams, handlers.list_shells),
    "gateway.reloadConfig": _method("reload_config", NoParams, handlers.reload_config),
    "gateway.shutdown": _method("shutdown", NoParams, handlers.shutdown),
    "gateway.status": _method("status", NoParams, handlers.status),
    "gateway.testProvider": _method("test_provider", ProviderParams, handlers.test_provider),
    "gateway.listModels": _method("list_models", ProviderParams, handlers.list_models),
}
