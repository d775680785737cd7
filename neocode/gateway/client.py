"""One connection to the gateway, for commands and inside `link.GatewayLink`. Light to import.

Invariants: every call has a deadline; nothing is sent before the server's owner is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from neocode.ask.types import AskParams
from neocode.errors import ConfigError, GatewayUnreachable, ShellTargetError
from neocode.gateway import transport as transports
from neocode.gateway.answers import AskStream
from neocode.gateway.auth import wait_for_token
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.protocol import RpcError
from neocode.gateway.wire import PING_SEC, Notification, Wire

CONNECT_SEC = 5.0
CALL_SEC = 10.0
TOKEN_WAIT_SEC = 2.0  # a daemon that accepts has its token already; the margin is for a slow disk
MAX_STATE_CHARS = 1000  # of one state value; the server takes 7 KiB for all ten


class GatewayClient(Wire):
    """An authenticated connection. Make one with `GatewayClient.open` (or `lifecycle.ensure_daemon`), end it with
    `close`; it is also an async context manager.

    `server_version` is the daemon's; `notes` are lines that the user should see once.
    """

    def __init__(self) -> None:
        super().__init__()
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

    async def _cancel_run(self, stream: AskStream) -> None:
        members = {"run_id": stream.run_id} if stream.run_id else {"session_id": stream.session_id}
        await self.call("gateway.cancel", members)


class GatewayAbsent(GatewayUnreachable):
    """Nobody listens at the address: the one case in which a daemon may be started."""

    def __init__(self, address: str) -> None:
        super().__init__(f"no gateway is running at {address}", "start one with neocode gateway run")


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
