"""`triggerAction`: who may, to whom, and every answer of the protocol's table.

Invariant: the notification is queued on the shell's connection before the caller is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neocode.gateway.protocol import RpcError
from neocode.gateway.relay import Binding, PeerT, Relay

ACTIONS = ("diagnose", "idm_enter", "auto_on", "auto_off", "auto_status")
TUI_ACTIONS = ("diagnose", "idm_enter")
DIAGNOSE_GRACE_SEC = 2.0  # a shell publishes `busy` within this time after it got a diagnose

Deliver = Callable[[Binding[PeerT], str, str, "dict[str, Any] | None"], bool]


def trigger(
    relay: Relay[PeerT],
    peer: PeerT,
    action: str,
    session_id: str,
    payload: dict[str, Any] | None,
    deliver: Deliver[PeerT],
    now: float,
) -> dict[str, Any]:
    """Carry `action` to a shell and return the ack's payload.

    `deliver(shell, action, source_session_id, payload)` queues the notification; False means that the shell's
    connection is gone. `now` is in seconds of the relay's clock.

    Raises:
        RpcError: as the table says.
    """
    caller = relay.caller(peer)
    if caller is None:
        raise _refusal("access_denied", "trigger_action requires cli/tui role binding")
    if action not in ACTIONS:
        raise _refusal("invalid_action", f"unknown action: {action[:64]}")
    if caller.role == "tui" and action not in TUI_ACTIONS:
        raise _refusal("access_denied", "trigger_action requires cli/tui role binding")
    shell = _target(relay, session_id)
    ids = {"session_id": shell.session_id, "source_session_id": caller.session_id}
    if action == "auto_status":
        enabled = shell.state.get("auto_enabled") is True
        return {"ok": True, "action": action, "auto_enabled": enabled, **ids}
    if action == "diagnose" and _diagnosing(shell, now):
        raise _refusal("invalid_action", "shell busy: diagnosis in-flight")
    if not deliver(shell, action, caller.session_id, payload):
        raise _no_shell(shell.session_id)
    if action == "diagnose":
        shell.diagnose_sent = now
    return {"ok": True, "message": "delivered", "action": action, "delivered": 1, "payload": payload, **ids}


def describe_shells(relay: Relay[PeerT]) -> list[dict[str, Any]]:
    """The bound shells as `listShells` and `data.shells` show them."""
    return [{**shell.state, "session_id": shell.session_id} for shell in relay.shells()]


def _target(relay: Relay[PeerT], session_id: str) -> Binding[PeerT]:
    shells = [shell for shell in relay.shells() if not session_id or shell.session_id == session_id]
    if not shells:
        raise _no_shell(session_id)
    if len(shells) > 1:
        raise _refusal(
            "invalid_action",
            "multiple target role sessions are active, specify session_id",
            shells=describe_shells(relay),
        )
    return shells[0]


def _diagnosing(shell: Binding[PeerT], now: float) -> bool:
    if shell.state.get("busy"):
        return True
    return shell.diagnose_sent is not None and now - shell.diagnose_sent < DIAGNOSE_GRACE_SEC


def _no_shell(session_id: str) -> RpcError:
    where = f" for session {session_id}" if session_id else ""
    return _refusal("resource_not_found", f"no active shell{where}: target role stream is unavailable")


def _refusal(gateway_code: str, message: str, **data: Any) -> RpcError:
    return RpcError(gateway_code, message, data={"ok": False, "message": message, **data})
