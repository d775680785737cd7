"""The `openai` provider against a real model server (llama.cpp with Gemma 3 270M): the stream is real."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from model_server import ModelServer

from neocode.config import ProviderConfig
from neocode.errors import ProviderError
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message
from neocode.providers.openai.provider import OpenAIProvider

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("model")]

DEADLINE_SEC = 30.0


def provider(model: ModelServer, **changes: Any) -> OpenAIProvider:
    values = {"base_url": model.base_url, "model": model.model, "max_output_tokens": 12, **changes}
    return OpenAIProvider("local", ProviderConfig(**values))


def request(text: str = "Say hello in three languages.") -> AskRequest:
    return AskRequest((Message("system", "Answer briefly."), Message("user", text)), AskContext())


async def until(model: ModelServer, busy: bool) -> None:
    """Poll the server's slots, since it has no event to wait for."""
    end = time.monotonic() + DEADLINE_SEC
    while bool(await asyncio.to_thread(model.busy_slots)) != busy:
        assert time.monotonic() < end, f"the server did not become {'busy' if busy else 'idle'}"
        await asyncio.sleep(0.02)


def test_an_answer_streams_piece_by_piece_and_ends_with_usage_at_the_limit(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model)
        items = [item async for item in local.stream(request())]
        *deltas, finish = items
        assert len([delta for delta in deltas if isinstance(delta, Delta) and delta.text]) > 1
        assert isinstance(finish, Finish)
        assert finish.reason == "length"
        assert finish.model == model.model
        assert finish.usage.output_tokens == 12
        assert finish.usage.input_tokens > 10
        await local.aclose()

    asyncio.run(main())


def test_the_history_reaches_the_model(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model, max_output_tokens=1)
        turns = (Message("user", "one"), Message("assistant", "two", reasoning="hm"), Message("user", "three"))
        counts = []
        for messages in (turns[:1], turns):
            items = [item async for item in local.stream(AskRequest(messages, AskContext()))]
            assert isinstance(items[-1], Finish)
            counts.append(items[-1].usage.input_tokens)
        assert counts[0] < counts[1]
        await local.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("how", ["task", "generator"])
def test_cancelling_in_the_middle_of_an_answer_makes_the_server_idle_again(model: ModelServer, how: str) -> None:
    async def main() -> None:
        local = provider(model, max_output_tokens=3500)
        await until(model, busy=False)
        answer = cast("AsyncGenerator[Delta | Finish, None]", local.stream(request("Count from 1 to 5000.")))
        assert isinstance(await anext(answer), Delta)
        await until(model, busy=True)
        if how == "task":

            async def rest() -> None:
                async for _ in answer:
                    pass

            task = asyncio.create_task(rest())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            await answer.aclose()
        started = time.monotonic()
        await until(model, busy=False)
        assert time.monotonic() - started < 5, "3500 tokens take this model a minute"
        await local.aclose()

    asyncio.run(main())


def test_twenty_asks_at_once_are_all_answered(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model, max_output_tokens=2)

        async def one(number: int) -> Finish:
            items = [item async for item in local.stream(request(f"Say {number}."))]
            assert isinstance(items[-1], Finish)
            return items[-1]

        finishes = await asyncio.gather(*(one(number) for number in range(20)))
        assert all(finish.usage.output_tokens > 0 for finish in finishes)
        await local.aclose()

    asyncio.run(main())


def test_check_and_models_tell_of_the_real_model(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model)
        assert await local.models() == [model.model]
        assert re.fullmatch(rf"local: {model.model} at 127\.0\.0\.1:\d+ answered in \d+ ms", await local.check())
        await local.aclose()

    asyncio.run(main())


def test_a_prompt_longer_than_the_context_is_called_so(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model)
        with pytest.raises(ProviderError) as caught:
            async for _ in local.stream(request("word " * 20_000)):
                pass
        assert "longer than the context" in caught.value.message
        await local.aclose()

    asyncio.run(main())


def test_a_wrong_path_is_called_so(model: ModelServer) -> None:
    async def main() -> None:
        local = provider(model, base_url=model.base_url.replace("/v1", "/v7"))
        with pytest.raises(ProviderError) as caught:
            await local.check()
        assert "404" in caught.value.message
        assert "/v1" in caught.value.hint
        await local.aclose()

    asyncio.run(main())
