"""The messages of the gateway's wire protocol and their errors: JSON-RPC 2.0 envelopes around NeoCode frames.

Invariants: params refuse unknown members, envelopes ignore them; an id goes back exactly as it came; every
encoded message is one line of valid UTF-8. Cutting a byte stream into such lines is `framing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from neocode.ask.types import SESSION_ID_CHARS, AskEvent
from neocode.errors import NeocodeError

JSONRPC = "2.0"
MAX_STATE_BYTES = 7 * 1024  # 127 shells of this size still fit into one listShells answer
MAX_PAYLOAD_BYTES = 64 * 1024  # of triggerAction; it waits in a shell's queue
SUBJECT_ID = "local_admin"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

_DEFAULT_CODES: dict[str, int] = {
    "unsupported_action": METHOD_NOT_FOUND,
    "internal_error": INTERNAL_ERROR,
    "timeout": INTERNAL_ERROR,
}


class RpcError(NeocodeError):
    """A JSON-RPC error: raised by a handler to be sent, and by a client that received one.

    `code` is the JSON-RPC number, `gateway_code` NeoCode's name for it, `data` the other members of error.data.
    """

    def __init__(
        self,
        gateway_code: str,
        message: str,
        *,
        code: int | None = None,
        data: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.gateway_code = gateway_code
        self.code = _DEFAULT_CODES.get(gateway_code, INVALID_PARAMS) if code is None else code
        self.data: dict[str, Any] = dict(data or {})


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a result holds: `type` always, the other members when they are not empty."""

    type: str
    action: str = ""
    request_id: str = ""
    run_id: str = ""
    session_id: str = ""
    payload: dict[str, Any] | None = None


class AuthenticateParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.authenticate`."""

    token: str = ""


class BindParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.bindStream`; `state` stays encoded until its size is known to be small."""

    session_id: str = ""
    run_id: str = ""
    channel: str = "all"
    role: str = ""
    state: msgspec.Raw = msgspec.Raw(b"")


class SessionParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.createSession` and `gateway.deleteAskSession`."""

    session_id: str = ""


class CancelParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.cancel`; one of the two is needed, `run_id` wins."""

    run_id: str = ""
    session_id: str = ""


class TriggerParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.experimental.triggerAction`; `payload` stays encoded like a binding's state."""

    action: str = ""
    session_id: str = ""
    payload: msgspec.Raw = msgspec.Raw(b"")


class ProviderParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.testProvider` and `gateway.listModels`; an empty name is the provider in use."""

    name: str = ""


class NoParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of a method that takes none."""


class ErrorBody(msgspec.Struct, frozen=True):
    """The `error` member."""

    code: int = INTERNAL_ERROR
    message: str = ""
    data: dict[str, Any] = {}


class _Result(msgspec.Struct, frozen=True):
    id: msgspec.Raw
    result: Frame
    jsonrpc: str = JSONRPC


class _Error(msgspec.Struct, frozen=True):
    id: msgspec.Raw | None
    error: ErrorBody
    jsonrpc: str = JSONRPC


class _Push(msgspec.Struct, frozen=True):
    method: str
    params: dict[str, Any]
    jsonrpc: str = JSONRPC


class _Call(msgspec.Struct, frozen=True):
    id: str
    method: str
    params: Any
    jsonrpc: str = JSONRPC


_encoder = msgspec.json.Encoder()


def _encode(message: msgspec.Struct) -> bytes:
    try:
        return _encoder.encode(message) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(_without_surrogates(msgspec.to_builtins(message))) + b"\n"


def _without_surrogates(value: Any) -> Any:
    """Half a UTF-16 pair, as some providers stream it, is no UTF-8: it becomes U+FFFD, in deltas and whole alike."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_surrogates(item) for item in value]
    return value


def encode_result(request_id: msgspec.Raw, frame: Frame) -> bytes:
    """A result line."""
    return _encode(_Result(request_id, frame))


def encode_error(request_id: msgspec.Raw | None, error: RpcError) -> bytes:
    """An error line; `None` is the id of a frame that could not be read."""
    data = {**error.data, "gateway_code": error.gateway_code}
    return _encode(_Error(request_id, ErrorBody(error.code, error.message, data)))


def encode_event(event: AskEvent) -> bytes:
    """A `gateway.event` line; the payload is nested, as NeoCode's clients read it."""
    params = {
        "type": "event",
        "event": event.event_type,
        "action": "run",
        "run_id": event.run_id,
        "session_id": event.session_id,
        "payload": {
            "event_type": event.event_type,
            "payload": {"session_id": event.session_id, **event.payload},
        },
    }
    return _encode(_Push("gateway.event", params))


def encode_notification(action: str, session_id: str, source_session_id: str, payload: dict[str, Any] | None) -> bytes:
    """A `gateway.notification` line for a shell."""
    params = {
        "action": action,
        "payload": payload,
        "session_id": session_id,
        "source_session_id": source_session_id,
    }
    return _encode(_Push("gateway.notification", params))


def encode_call(request_id: str, method: str, params: Any) -> bytes:
    """A request line; `params` is a struct or a mapping."""
    return _encode(_Call(request_id, method, params))


def check_session_id(session_id: str, field: str = "params.session_id") -> str:
    """Return the id. Raises RpcError when it is empty, longer than 128 characters or not printable."""
    if not session_id:
        raise RpcError("missing_required_field", f"missing required field: {field}")
    if len(session_id) > SESSION_ID_CHARS or not session_id.isprintable():
        raise RpcError("invalid_action", f"invalid field: {field}")
    return session_id
