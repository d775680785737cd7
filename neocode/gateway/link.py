"""A connection that comes back: what a shell keeps for its whole life.

Invariants: in the background it only connects, never starts a daemon; after every reconnect each session is bound
again with its newest state before anything else is sent; asks of a broken connection end with an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from neocode.ask.types import AskParams
from neocode.errors import GatewayUnreachable, NeocodeError
from neocode.gateway.answers import AskStream
from neocode.gateway.client import GatewayClient
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.lifecycle import ensure_daemon
from neocode.gateway.wire import Notification

FIRST_DELAY_SEC = 0.2
MAX_DELAY_SEC = 5.0

Connect = Callable[[bool], Awaitable[GatewayClient]]


class _Subscription:
    """What a session is bound as; `version` grows with every change."""

    def __init__(self) -> None:
        self.role = ""
        self.state: dict[str, Any] | None = None
        self.version = 0


class GatewayLink:
    """Start it with `start`, end it with `close`. All methods belong to one event loop.

    `connect(start_daemon)` opens an authenticated connection; the default is `ensure_daemon` on `endpoint`.
    `delays` are the first and the longest pause between attempts, in seconds.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        connect: Connect | None = None,
        delays: tuple[float, float] = (FIRST_DELAY_SEC, MAX_DELAY_SEC),
    ) -> None:
        self._connect = connect or (lambda start: ensure_daemon(endpoint, start=start))
        self._delays = delays
        self._sessions: dict[str, _Subscription] = {}
        self._client: GatewayClient | None = None
        self._connecting = asyncio.Lock()
        self._changed = asyncio.Event()  # set and replaced whenever a client comes
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """True while there is a connection."""
        return self._client is not None and self._client.connected

    def start(self) -> None:
        """Keep connected from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        """End. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def client(self, *, start_daemon: bool = True) -> GatewayClient:
        """The connection, made now if need be; a daemon is started when `start_daemon` is true.

        Raises:
            GatewayUnreachable, ConfigError, RpcError: as `ensure_daemon`.
        """
        async with self._connecting:
            if self._client is not None and self._client.connected:
                return self._client
            client = await self._connect(start_daemon)
            try:
                await self._bind_all(client)
            except BaseException:
                await client.close()
                raise
            self._client = client
            self._changed.set()
            self._changed = asyncio.Event()
            return client

    async def bind(self, session_id: str, *, role: str = "", state: Mapping[str, Any] | None = None) -> bool:
        """Bind, and bind again after each reconnect; call it with every new state. False: not connected just now.

        Raises:
            RpcError: the gateway refuses the binding.
        """
        subscription = self._sessions.setdefault(session_id, _Subscription())
        subscription.role = role
        subscription.state = None if state is None else dict(state)
        subscription.version += 1
        client = self._client
        if client is None or not client.connected:
            return False
        try:
            await client.bind(session_id, role=role, state=subscription.state)
        except GatewayUnreachable:
            return False
        return True

    async def ask(self, params: AskParams) -> AskStream:
        """Ask, starting a daemon if there is none; the session stays bound until `delete_session`.

        Raises:
            GatewayUnreachable, ConfigError, RpcError: not accepted.
        """
        client = await self.client()
        stream = await client.ask(params)
        self._sessions.setdefault(stream.session_id, _Subscription())
        return stream

    async def delete_session(self, session_id: str) -> bool:
        """Forget an ask session here and, when connected, in the gateway. False when it was not deleted there."""
        self._sessions.pop(session_id, None)
        client = self._client
        if client is None or not client.connected:
            return False
        try:
            return bool((await client.call("gateway.deleteAskSession", {"session_id": session_id})).get("deleted"))
        except NeocodeError:
            return False

    async def notification(self) -> Notification:
        """The next notification, over as many connections as it takes."""
        while True:
            changed = self._changed
            if self._client is not None:
                try:
                    return await self._client.notification()
                except GatewayUnreachable:
                    pass
            if changed is self._changed:
                await changed.wait()

    async def _bind_all(self, client: GatewayClient) -> None:
        """Also what changes while it runs."""
        done: dict[str, int] = {}
        while True:
            due = [(key, sub) for key, sub in self._sessions.items() if done.get(key) != sub.version]
            if not due:
                return
            for session_id, subscription in due:
                done[session_id] = subscription.version
                await client.bind(session_id, role=subscription.role, state=subscription.state)

    async def _keep(self) -> None:
        first, longest = self._delays
        delay = first
        while True:
            try:
                client = await self.client(start_daemon=False)
            except (NeocodeError, OSError):
                await self._pause(delay)
                delay = min(delay * 2, longest)
                continue
            delay = first
            await client.wait_closed()
            await self._pause(delay)

    async def _pause(self, delay: float) -> None:
        """Wait about `delay` seconds, or until somebody else has connected."""
        jittered = delay * random.uniform(0.5, 1.0)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._changed.wait(), jittered)
