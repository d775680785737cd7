"""The shell's state on its way to the gateway: command and directory redacted first, bursts as one.

Invariants: what is not redacted yet is left out, never sent as it is; the newest state wins; one child at a time and
none within `PAUSE_SEC` of the one before, because a state comes with every prompt.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from neocode.errors import NeocodeError
from neocode.gateway.link import GatewayLink
from neocode.shell.child import extract
from neocode.shell.job import Job

REDACTED_MEMBERS = ("cwd", "last_command")
BURST_SEC = 0.05  # a command's end, its diagnosis and the prompt come within it
PAUSE_SEC = 2.0
REMEMBERED = 256  # texts; a person goes between a few directories and repeats commands


class Publisher:
    """Binds `session_id` with role `shell` and the newest state, again whenever the state changes."""

    def __init__(self, link: GatewayLink, session_id: str, literals: tuple[str, ...]) -> None:
        self._link = link
        self._session_id = session_id
        self._literals = literals
        self._state: dict[str, object] = {}
        self._known: OrderedDict[str, str] = OrderedDict()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()

    def publish(self, state: Mapping[str, object]) -> None:
        """Take a new state; it is sent soon."""
        self._state = dict(state)
        self._changed.set()
        self._wanted.set()

    async def run(self) -> None:
        """Until cancelled."""
        await self._bind()
        redacting = asyncio.create_task(self._keep_redacting())
        try:
            while True:
                await self._changed.wait()
                await asyncio.sleep(BURST_SEC)
                self._changed.clear()
                await self._bind()
        finally:
            redacting.cancel()
            await asyncio.wait([redacting])

    async def _bind(self) -> None:
        with suppress(NeocodeError):  # the link binds again when it has reconnected
            await self._link.bind(self._session_id, role="shell", state=self._sendable())

    def _sendable(self) -> dict[str, Any]:
        state = dict(self._state)
        for name in REDACTED_MEMBERS:
            if name in state:
                state[name] = self._known.get(str(state[name] or ""), "")
        return state

    def _unknown(self) -> list[str]:
        texts = [str(self._state.get(name) or "") for name in REDACTED_MEMBERS]
        return [text for text in dict.fromkeys(texts) if text and text not in self._known]

    async def _keep_redacting(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            texts = self._unknown()
            if not texts:
                continue
            with suppress(NeocodeError):  # the next state tries again
                result = await extract(Job(texts=tuple(texts), literals=self._literals))
                self._known.update(zip(texts, result.texts, strict=True))
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
                self._changed.set()
            await asyncio.sleep(PAUSE_SEC)
