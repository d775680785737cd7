"""A provider whose answers a test writes as an async generator, and a service around it on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from neocode.ask.service import AskService, open_ask_service
from neocode.ask.types import AskEvent, AskParams, AskTicket
from neocode.config import Config, LoadedConfig
from neocode.providers.base import AskRequest, Delta, Finish, Usage

WAIT_SEC = 20.0  # a loaded machine; no test waits for it to pass

Script = Callable[[AskRequest], AsyncIterator[Delta | Finish]]


class ScriptedProvider:
    """A `Provider` that runs `script` for every call and remembers requests and how many streams are open."""

    def __init__(self, script: Script | None = None, name: str = "scripted") -> None:
        self.script = script or answer_with("ok")
        self.requests: list[AskRequest] = []
        self.open_streams = 0
        self.most_open = 0
        self.closed = 0
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return f"{self._name}-model"

    async def stream(self, request: AskRequest) -> AsyncIterator[Delta | Finish]:
        self.requests.append(request)
        self.open_streams += 1
        self.most_open = max(self.most_open, self.open_streams)
        try:
            async for item in self.script(request):
                yield item
        finally:
            self.open_streams -= 1

    async def check(self) -> str:
        return f"{self._name} works"

    async def models(self) -> list[str]:
        return [self.model]

    async def aclose(self) -> None:
        self.closed += 1


def answer_with(*texts: str) -> Script:
    """A script that sends `texts` and ends regularly."""

    async def script(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        for text in texts:
            yield Delta(text)
        yield Finish(Usage(11, 7))

    return script


class Caller:
    """One client: its events in order, and a wait for the end of a run."""

    def __init__(self, service: AskService) -> None:
        self.service = service
        self.events: list[AskEvent] = []
        self._changed = asyncio.Event()

    def submit(self, query: str = "why?", session_id: str = "s-1", **more: Any) -> AskTicket:
        return self.service.submit(AskParams(user_query=query, session_id=session_id, **more), self.take)

    async def ask(self, query: str = "why?", session_id: str = "s-1", **more: Any) -> AskEvent:
        """Submit and wait for the terminal event."""
        return await self.end(self.submit(query, session_id, **more))

    def take(self, event: AskEvent) -> None:
        self.events.append(event)
        self._changed.set()

    def of(self, ticket: AskTicket) -> list[AskEvent]:
        return [event for event in self.events if event.run_id == ticket.run_id]

    def text(self, ticket: AskTicket) -> str:
        return "".join(event.payload["delta"] for event in self.of(ticket) if event.event_type == "ask_chunk")

    def ends(self, ticket: AskTicket) -> list[AskEvent]:
        return [event for event in self.of(ticket) if event.event_type != "ask_chunk"]

    async def end(self, ticket: AskTicket) -> AskEvent:
        await self.until(lambda: bool(self.ends(ticket)))
        return self.ends(ticket)[0]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for an event after which `condition` holds."""

        async def wait() -> None:
            while not condition():
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(wait(), WAIT_SEC)


Opened = AbstractAsyncContextManager[Caller]


@pytest.fixture
def scripted() -> type[ScriptedProvider]:
    return ScriptedProvider


@pytest.fixture
def answering() -> Callable[..., Script]:
    return answer_with


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Opened]:
    """`async with opened(provider, config) as caller`: a service on `tmp_path`, closed at the end."""

    @asynccontextmanager
    async def open_it(
        provider: ScriptedProvider, config: Config | None = None, **options: Any
    ) -> AsyncIterator[Caller]:
        loaded = LoadedConfig(config or Config())
        service = await open_ask_service(
            options.pop("load_config", lambda: loaded),
            options.pop("make_provider", lambda config, name: provider),
            state_dir=options.pop("state_dir", tmp_path / "state"),
            skills_dir=tmp_path / "skills",
            **options,
        )
        try:
            yield Caller(service)
        finally:
            await service.aclose()

    return open_it
