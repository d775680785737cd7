"""Configuration and providers that change while asks run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from neocode.config import AskConfig, Config, LoadedConfig, PromptsConfig, ProviderConfig
from neocode.errors import ConfigError, ProviderError
from neocode.providers.base import AskRequest, Delta, Finish
from neocode.providers.registry import make_provider


class Setup:
    """A config file and a provider factory that a test changes."""

    def __init__(self, scripted: Any) -> None:
        self.config = Config(provider="one", providers={"one": ProviderConfig(model="m-1"), "two": ProviderConfig()})
        self.fault: Exception | None = None
        self.made: list[Any] = []
        self.threads: set[int] = set()
        self._scripted = scripted

    def load(self) -> LoadedConfig:
        self.threads.add(threading.get_ident())
        if self.fault:
            raise self.fault
        return LoadedConfig(self.config, ("config.yaml: unknown key x",))

    def make(self, config: Config, name: str) -> Any:
        self.threads.add(threading.get_ident())
        if name not in config.providers:
            raise ConfigError(f"no provider is named {name!r}")
        self.made.append(self._scripted(name=name))
        return self.made[-1]

    def open(self, opened: Any) -> Any:
        return opened(None, load_config=self.load, make_provider=self.make)


def test_the_next_ask_uses_the_new_provider_and_a_running_one_keeps_its_own(opened: Any, scripted: Any) -> None:
    release = asyncio.Event

    async def main() -> None:
        setup, go = Setup(scripted), release()

        async def slow(request: AskRequest) -> AsyncIterator[Delta | Finish]:
            yield Delta("by the old one")
            await go.wait()
            yield Finish()

        async with setup.open(opened) as caller:
            assert caller.service.provider().model == "m-1"
            assert caller.service.provider().origin == "https://api.openai.com"
            await caller.ask(session_id="s-0")
            assert caller.service.provider().model == "one-model"
            setup.made[0].script = slow
            running = caller.submit(session_id="s-1")
            await caller.until(lambda: caller.text(running) != "")
            setup.config = Config(provider="two", providers=setup.config.providers)
            assert await caller.service.reload() == ["config.yaml: unknown key x"]
            assert caller.service.provider().name == "two"
            assert (await caller.ask(session_id="s-2")).payload["provider"] == "two"
            assert setup.made[0].closed == 0
            go.set()
            assert (await caller.end(running)).payload["provider"] == "one"
            await caller.until(lambda: True)
        assert [(provider.name, provider.closed) for provider in setup.made] == [("one", 1), ("two", 1)]
        assert threading.get_ident() not in setup.threads

    asyncio.run(main())


@pytest.mark.parametrize("broken", ["file", "provider"])
def test_a_broken_config_keeps_the_old_one(opened: Any, scripted: Any, broken: str) -> None:
    async def main() -> None:
        setup = Setup(scripted)
        async with setup.open(opened) as caller:
            if broken == "file":
                setup.fault = ConfigError("config.yaml line 3: not YAML")
            else:
                setup.config = Config(provider="gone", providers=setup.config.providers)
            with pytest.raises(ConfigError):
                await caller.service.reload()
            assert (await caller.ask()).payload["provider"] == "one"

    asyncio.run(main())


def test_a_reload_changes_how_many_asks_run_at_once(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        setup, go = Setup(scripted), asyncio.Event()

        async def slow(request: AskRequest) -> AsyncIterator[Delta | Finish]:
            yield Delta("x")
            await go.wait()
            yield Finish()

        setup.config = Config(provider="one", providers=setup.config.providers, ask=AskConfig(max_concurrent=1))
        async with setup.open(opened) as caller:
            await caller.ask(session_id="s-9")
            setup.made[0].script = slow
            tickets = [caller.submit(session_id=f"s-{n}") for n in range(3)]
            await caller.until(lambda: caller.text(tickets[0]) != "")
            assert [caller.text(ticket) for ticket in tickets] == ["x", "", ""]
            setup.config = Config(provider="one", providers=setup.config.providers, ask=AskConfig(max_concurrent=3))
            await caller.service.reload()
            for provider in setup.made:
                provider.script = slow
            await caller.until(lambda: all(caller.text(ticket) for ticket in tickets))
            go.set()
            for ticket in tickets:
                await caller.end(ticket)

    asyncio.run(main())


def test_skills_that_cannot_be_read_are_warnings_of_the_reload(opened: Any, scripted: Any, tmp_path: Path) -> None:
    skill = tmp_path / "skills" / "mine" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_bytes(b"\xff\xff")

    async def main() -> None:
        async with opened(scripted()) as caller:
            (warning,) = await caller.service.reload()
            assert str(skill) in warning

    asyncio.run(main())


def test_a_replaced_system_text_counts_from_the_next_ask(opened: Any, scripted: Any, tmp_path: Path) -> None:
    text = tmp_path / "system.md"
    text.write_text("Be a pirate.")

    async def main() -> None:
        setup = Setup(scripted)
        async with setup.open(opened) as caller:
            await caller.ask(session_id="s-1")
            setup.config = Config(
                provider="one", providers=setup.config.providers, prompts=PromptsConfig(system=str(text))
            )
            await caller.service.reload()
            await caller.ask(session_id="s-2")
        before, after = (provider.requests[0].messages[0].content for provider in setup.made)
        assert before.startswith("You are NeoCode")
        assert after.startswith("Be a pirate.")

    asyncio.run(main())


def test_a_check_makes_a_provider_of_its_own_and_closes_it(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        setup = Setup(scripted)
        async with setup.open(opened) as caller:
            await caller.ask()
            assert await caller.service.check_provider("two") == "two works"
            assert await caller.service.check_provider("") == "one works"
            assert await caller.service.list_models("two") == ["two-model"]
            assert [provider.closed for provider in setup.made] == [0, 1, 1, 1]
            with pytest.raises(ConfigError, match="gone"):
                await caller.service.check_provider("gone")

    asyncio.run(main())


def test_a_check_that_hangs_ends(opened: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from neocode.ask import providers

    monkeypatch.setattr(providers, "CHECK_TIMEOUT_SEC", 0.05)

    async def hang(self: object) -> str:
        await asyncio.Event().wait()
        return ""

    monkeypatch.setattr(scripted, "check", hang)

    async def main() -> None:
        setup = Setup(scripted)
        async with setup.open(opened) as caller:
            with pytest.raises(ProviderError) as failure:
                await caller.service.check_provider("two")
            assert failure.value.code == "TIMEOUT"

    asyncio.run(main())


def test_an_unknown_provider_is_an_error_that_names_the_known_ones() -> None:
    config = Config(providers={"work": ProviderConfig(base_url="http://127.0.0.1:1/v1", model="m")})
    with pytest.raises(ConfigError) as failure:
        make_provider(config, "gone")
    assert "offline, work" in failure.value.hint
    assert (make_provider(config, "offline").name, make_provider(config, "work").model) == ("offline", "m")
