"""`neocode diag`, `-i` and `auto` without a log: tell a running neocode shell what to do, through the gateway.

Invariant: a daemon is started only when a shell of this home runs, which then connects to it by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from secrets import token_hex
from typing import Any

from neocode import paths
from neocode.errors import ShellTargetError
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.lifecycle import ensure_daemon
from neocode.shell.launch import SESSION_ENV
from ptyproxy.sanitize import sanitize_line
from ptyproxy.session import live_sessions

START_HINT = "start one with neocode shell"
NO_SHELL_HINT = f"{START_HINT}, or give a log: --error-log TEXT, --file PATH, or pipe it in"
# words of ours never appear in the middle of a command's output: a shell inside the shell, ssh and the like
LATER = {
    "diagnose": "a command runs there: this is about what it shows, and is answered above the prompt after it",
    "idm_enter": "a command runs there: the mode begins at the prompt after it",
}
FIELD_CHARS = 60  # of one field in the list of shells
APPEAR_SEC = 10.0  # a shell looks for a gateway every 5 s at least, and a busy machine takes its time
DESCRIBED_SEC = 1.0  # a shell's directory is redacted, by a process of its own, before it is made known
POLL_SEC = 0.05


def trigger(args: argparse.Namespace, action: str) -> int:
    """Deliver `action` and say to whom. Raises ShellTargetError (no, several or a busy shell)."""
    return asyncio.run(_trigger(args, action))


async def _trigger(args: argparse.Namespace, action: str) -> int:
    endpoint = resolve_endpoint(args.gateway, args.token_file)
    ours, live = os.environ.get(SESSION_ENV, ""), live_sessions(str(paths.run_dir()))
    hint = NO_SHELL_HINT if action == "diagnose" else START_HINT  # a log is no use to the others
    try:
        client = await GatewayClient.open(endpoint)
    except GatewayAbsent:
        if not live:
            raise ShellTargetError("no neocode shell is running", hint) from None
        client = await ensure_daemon(endpoint)
    async with client:
        wanted = args.session or (ours if ours in live else "")
        shells = await _shells(client, {wanted} & set(live) if wanted else set(live))
        target = choose_shell(shells, args.session, ours, hint)
        await client.bind(f"cli-{os.getpid()}-{token_hex(4)}", role="cli")
        result = await _deliver(client, action, target)
    print(result, flush=True)
    if action in LATER and target.get("running"):
        print(f"neocode: {LATER[action]}", file=sys.stderr)
    return 0


async def _shells(client: GatewayClient, expected: set[str]) -> list[dict[str, Any]]:
    """The shells that the gateway knows, once it knows those that run: it may be younger than they are."""
    begun = time.monotonic()
    while True:
        shells: list[dict[str, Any]] = (await client.call("gateway.listShells", {})).get("shells", [])
        known = {str(shell.get("session_id", "")): shell for shell in shells}
        waited = time.monotonic() - begun
        if expected <= known.keys():
            if waited >= DESCRIBED_SEC or all(known[each].get("cwd") for each in expected):
                return shells
        elif waited >= APPEAR_SEC:
            return shells
        await asyncio.sleep(POLL_SEC)


def choose_shell(shells: list[dict[str, Any]], wanted: str, ours: str, hint: str = NO_SHELL_HINT) -> dict[str, Any]:
    """The shell that is meant: `--session`, else a live `$NEOCODE_SHELL_SESSION`, else the only one.

    `hint`: what to do when there is none.

    Raises:
        ShellTargetError: none, or several (they are listed).
    """
    by_id = {str(shell.get("session_id", "")): shell for shell in shells}
    if wanted:
        if wanted not in by_id:
            raise ShellTargetError(
                f"no active shell for session {wanted}: target role stream is unavailable", _others(shells, hint)
            )
        return by_id[wanted]
    if ours in by_id:
        return by_id[ours]
    if not shells:
        raise ShellTargetError("no neocode shell is running", hint)
    if len(shells) > 1:
        raise ShellTargetError(
            "multiple target role sessions are active, specify session_id",
            f"name one with --session: {describe(shells)}",
        )
    return shells[0]


def _others(shells: list[dict[str, Any]], hint: str) -> str:
    return f"running: {describe(shells)}" if shells else hint


def describe(shells: list[dict[str, Any]]) -> str:
    """The shells in one line: id, cwd, last command and its exit code."""
    return " | ".join(
        f"{_field(shell, 'session_id')} in {_field(shell, 'cwd') or '?'}"
        + (
            f" (last: {_field(shell, 'last_command')}, exit {_field(shell, 'last_exit')})"
            if shell.get("last_command")
            else ""
        )
        for shell in shells
    )


def _field(shell: dict[str, Any], name: str) -> str:
    value = shell.get(name)
    return "" if value is None else sanitize_line(str(value), FIELD_CHARS)


async def _deliver(client: GatewayClient, action: str, shell: dict[str, Any]) -> str:
    """Trigger and return the line for stdout."""
    session = str(shell.get("session_id", ""))
    answer = await client.trigger(action, session)
    if action == "auto_status":
        return f"automatic diagnosis: {'on' if answer.get('auto_enabled') else 'off'}"
    if action in ("auto_on", "auto_off"):
        return f"automatic diagnosis: {action.removeprefix('auto_')}"
    return f"delivered to {_field(shell, 'session_id')} ({_field(shell, 'shell')}, {_field(shell, 'cwd')})"
