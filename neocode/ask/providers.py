"""The provider in use: made at its first use, replaced by a reload, closed when the last ask that uses it has ended.

Invariants: a provider is never closed under a running ask, and every one that was made is closed once; making one
(which may import an SDK for a second) happens on a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from neocode.ask.types import ProviderInfo
from neocode.config import Config
from neocode.errors import ProviderError
from neocode.providers.base import Provider
from neocode.providers.openai.endpoint import origin_of

MakeProvider = Callable[[Config, str], Provider]
CLOSE_TIMEOUT_SEC = 5.0
CHECK_TIMEOUT_SEC = 120.0  # above a provider's own connect, first-byte and retry limits together

_T = TypeVar("_T")
_log = logging.getLogger("neocode.ask")


class _Slot:
    """A config's provider, being made or made, and how many asks use it."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.made: asyncio.Task[Provider] | None = None
        self.users = 0

    @property
    def provider(self) -> Provider | None:
        """The provider once it is made."""
        task = self.made
        return task.result() if task and task.done() and not task.cancelled() and not task.exception() else None


class ProviderSlot:
    """Hands the provider of the current config to asks. `make_provider` is called on a thread."""

    def __init__(self, make_provider: MakeProvider, config: Config) -> None:
        self._make = make_provider
        self._slot = _Slot(config)

    def info(self) -> ProviderInfo:
        """The provider that the next ask will use; its model as the config has it until the provider is made."""
        config, provider = self._slot.config, self._slot.provider
        entry = config.providers.get(config.provider)
        model = provider.model if provider else entry.model if entry else ""
        return ProviderInfo(config.provider, model, origin_of(entry.base_url) if entry else "")

    def warm(self) -> None:
        """Begin to make the provider, so that the first ask need not wait. A failure shows at that ask."""
        self._begin(self._slot)

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Provider]:
        """The current provider, kept open as long as the block runs. Raises what making it raises (ConfigError)."""
        slot = self._slot
        slot.users += 1
        try:
            yield await self._provider(slot)
        finally:
            slot.users -= 1
            if slot is not self._slot and not slot.users:
                await _close(slot)

    async def replace(self, config: Config) -> None:
        """Make the next ask use `config`. Raises ConfigError and keeps the old one when its provider cannot be made."""
        new = _Slot(config)
        await self._provider(new)
        old, self._slot = self._slot, new
        if not old.users:
            await _close(old)

    async def check(self, name: str) -> str:
        """`check` of a provider made for this call ("" = the one in use). Raises ProviderError, ConfigError."""
        return await self._ask_once(name, lambda provider: provider.check())

    async def models(self, name: str) -> list[str]:
        """`models` of a provider made for this call ("" = the one in use). Raises ProviderError, ConfigError."""
        return await self._ask_once(name, lambda provider: provider.models())

    async def aclose(self) -> None:
        """Close the current provider. Idempotent."""
        await _close(self._slot)

    async def _ask_once(self, name: str, call: Callable[[Provider], Awaitable[_T]]) -> _T:
        config = self._slot.config
        name = name or config.provider
        slot = _Slot(msgspec.structs.replace(config, provider=name))
        try:
            provider = await self._provider(slot)
            return await asyncio.wait_for(call(provider), CHECK_TIMEOUT_SEC)
        except asyncio.TimeoutError as error:
            raise ProviderError(
                "TIMEOUT", f"{name} did not answer in {CHECK_TIMEOUT_SEC:.0f} s", "try again"
            ) from error
        finally:
            await _close(slot)

    def _begin(self, slot: _Slot) -> asyncio.Task[Provider]:
        if slot.made is None or (slot.made.done() and slot.provider is None):
            slot.made = asyncio.create_task(asyncio.to_thread(self._make, slot.config, slot.config.provider))
            slot.made.add_done_callback(lambda task: task.cancelled() or task.exception())  # seen, if nobody waits
        return slot.made

    async def _provider(self, slot: _Slot) -> Provider:
        # Shielded: whoever is cancelled while it is made must not leave it unowned.
        return await asyncio.shield(self._begin(slot))


async def _close(slot: _Slot) -> None:
    """Close the slot's provider, with a deadline; a failure is logged."""
    task, slot.made = slot.made, None
    if task is None:
        return
    try:
        provider = await asyncio.wait_for(asyncio.shield(task), CLOSE_TIMEOUT_SEC)
    except Exception:  # it could not be made, which its user was told, or is being made while we stop
        return
    try:
        await asyncio.wait_for(provider.aclose(), CLOSE_TIMEOUT_SEC)
    except Exception as error:  # closing is best effort, whatever the provider's client raises
        _log.warning("the provider %s could not be closed: %s", provider.name, type(error).__name__)
