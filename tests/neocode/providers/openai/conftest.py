"""A provider pointed at a scripted HTTP server, and one call through it as a plain function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from fake_openai import FakeServer, fake_server

from neocode.config import ProviderConfig
from neocode.errors import ProviderError
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message
from neocode.providers.openai.provider import OpenAIProvider

QUESTION = (Message("system", "Be brief."), Message("user", "why?"))


class Outcome(NamedTuple):
    """All that one call gave."""

    deltas: list[Delta]
    finish: Finish | None
    error: ProviderError | None

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas)

    @property
    def failed(self) -> ProviderError:
        assert self.error is not None, f"no error, but {self.text!r} and {self.finish}"
        return self.error


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy, key or CA of the machine that runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def config(server: FakeServer) -> Callable[..., ProviderConfig]:
    """A config for the server, without retries, with time-outs that only fire when something is wrong."""

    def make(**changes: Any) -> ProviderConfig:
        values: dict[str, Any] = {
            "base_url": server.url,
            "model": "asked-model",
            "connect_timeout_sec": 8.0,
            "first_byte_timeout_sec": 8.0,
            "idle_timeout_sec": 8.0,
            "retry_budget_sec": 0.0,
            "max_output_tokens": 64,
        }
        return ProviderConfig(**{**values, **changes})

    return make


async def collect(provider: OpenAIProvider, messages: tuple[Message, ...]) -> Outcome:
    deltas: list[Delta] = []
    finish: Finish | None = None
    try:
        async for item in provider.stream(AskRequest(messages, AskContext())):
            assert finish is None, "something came after the Finish"
            if isinstance(item, Delta):
                deltas.append(item)
            else:
                finish = item
    except ProviderError as error:
        assert finish is None, "an error came after the Finish"
        return Outcome(deltas, None, error)
    assert finish is not None, "neither Finish nor error"
    return Outcome(deltas, finish, None)


@pytest.fixture
def ask(config: Callable[..., ProviderConfig]) -> Callable[..., Outcome]:
    """One whole call: `ask(messages=..., **changes of the config)`."""

    def run(messages: tuple[Message, ...] = QUESTION, **changes: Any) -> Outcome:
        async def main() -> Outcome:
            provider = OpenAIProvider("work", config(**changes))
            try:
                return await collect(provider, messages)
            finally:
                await provider.aclose()

        return asyncio.run(main())

    return run


@pytest.fixture
def check(config: Callable[..., ProviderConfig]) -> Callable[..., str]:
    def run(**changes: Any) -> str:
        async def main() -> str:
            provider = OpenAIProvider("work", config(**changes))
            try:
                return await provider.check()
            finally:
                await provider.aclose()

        return asyncio.run(main())

    return run


@pytest.fixture
def models(config: Callable[..., ProviderConfig]) -> Callable[..., list[str]]:
    def run(**changes: Any) -> list[str]:
        async def main() -> list[str]:
            provider = OpenAIProvider("work", config(**changes))
            try:
                return await provider.models()
            finally:
                await provider.aclose()

        return asyncio.run(main())

    return run
