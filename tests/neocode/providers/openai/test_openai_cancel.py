"""However a call ends, its connection ends with it, at once; and calls at the same time do not disturb each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import cast

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, refuses, sse

from neocode.config import ProviderConfig
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message
from neocode.providers.openai.provider import OpenAIProvider

Config = Callable[..., ProviderConfig]
REQUEST = AskRequest((Message("user", "why?"),), AskContext())
NEVER = 30.0


class Watch:
    """Answers with one word and then notes whether the client goes away."""

    def __init__(self, server: FakeServer) -> None:
        self.gone = threading.Event()
        server.script(self._script)

    def _script(self, connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("Hello"), done=False))
        if connection.wait_for_disconnect():
            self.gone.set()

    async def seen(self) -> bool:
        return await asyncio.to_thread(self.gone.wait, 5)


def test_cancelling_the_task_closes_the_connection(server: FakeServer, config: Config) -> None:
    async def main() -> None:
        watch = Watch(server)
        provider = OpenAIProvider("work", config(idle_timeout_sec=NEVER))
        first = asyncio.Event()

        async def consume() -> None:
            async for item in provider.stream(REQUEST):
                assert item == Delta("Hello")
                first.set()

        task = asyncio.create_task(consume())
        await asyncio.wait_for(first.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await watch.seen()
        await provider.aclose()

    asyncio.run(main())


def test_closing_the_generator_closes_the_connection(server: FakeServer, config: Config) -> None:
    async def main() -> None:
        watch = Watch(server)
        provider = OpenAIProvider("work", config(idle_timeout_sec=NEVER))
        answer = cast("AsyncGenerator[Delta | Finish, None]", provider.stream(REQUEST))
        assert await anext(answer) == Delta("Hello")
        await answer.aclose()
        assert await watch.seen()
        await provider.aclose()

    asyncio.run(main())


def test_cancelling_before_the_first_byte_closes_the_connection(server: FakeServer, config: Config) -> None:
    gone = threading.Event()
    arrived = threading.Event()

    def script(connection: Connection) -> None:
        arrived.set()
        if connection.wait_for_disconnect():
            gone.set()

    async def main() -> None:
        provider = OpenAIProvider("work", config(first_byte_timeout_sec=NEVER))
        task = asyncio.ensure_future(anext(provider.stream(REQUEST)))
        assert await asyncio.to_thread(arrived.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(gone.wait, 5)
        await provider.aclose()

    server.script(script)
    asyncio.run(main())


def test_cancelling_a_wait_for_the_next_attempt_ends_it(server: FakeServer, config: Config) -> None:
    arrived = threading.Event()

    def script(connection: Connection) -> None:
        refuses("429 Too Many Requests", {"error": {"message": "slow"}}, Retry_After="20")(connection)
        arrived.set()

    async def main() -> None:
        provider = OpenAIProvider("work", config(retry_budget_sec=NEVER))
        task = asyncio.ensure_future(anext(provider.stream(REQUEST)))
        assert await asyncio.to_thread(arrived.wait, 10)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        assert task in done
        assert task.cancelled()
        await provider.aclose()

    server.script(script)
    asyncio.run(main())


def test_aclose_of_the_provider_ends_a_call_in_flight(server: FakeServer, config: Config) -> None:
    async def main() -> None:
        watch = Watch(server)
        provider = OpenAIProvider("work", config(idle_timeout_sec=NEVER))
        answer = cast("AsyncGenerator[Delta | Finish, None]", provider.stream(REQUEST))
        assert await anext(answer) == Delta("Hello")
        await provider.aclose()
        assert await watch.seen()
        await answer.aclose()

    asyncio.run(main())


def test_an_answer_that_is_dropped_closes_the_connection(server: FakeServer, config: Config) -> None:
    async def main() -> None:
        watch = Watch(server)
        provider = OpenAIProvider("work", config(idle_timeout_sec=NEVER))
        async for item in provider.stream(REQUEST):
            assert item == Delta("Hello")
            break
        assert await watch.seen()
        await provider.aclose()

    asyncio.run(main())


def test_twenty_answers_at_once_do_not_mix(server: FakeServer, config: Config) -> None:
    def script(connection: Connection) -> None:
        answers(*f"{threading.get_ident()} ".rjust(40))(connection)

    async def main() -> None:
        provider = OpenAIProvider("work", config())

        async def one() -> str:
            items = [item async for item in provider.stream(REQUEST)]
            return "".join(item.text for item in items if isinstance(item, Delta))

        texts = await asyncio.gather(*(one() for _ in range(20)))
        assert all(len(text) == 40 and text.strip().isdigit() for text in texts)
        await provider.aclose()

    server.script(script)
    asyncio.run(main())


def test_a_connection_is_used_again_after_a_complete_answer(server: FakeServer, config: Config) -> None:
    body = sse(chunk("Hello", "stop"))
    connections: list[int] = []

    def script(connection: Connection) -> None:
        connections.append(id(connection))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        for _ in range(3):
            connection.send(head + b"%x\r\n%s\r\n" % (len(body), body))
            connection.send(b"0\r\n\r\n")
            if connection.read_request() is None:
                return

    async def main() -> None:
        provider = OpenAIProvider("work", config())
        for _ in range(3):
            items = [item async for item in provider.stream(REQUEST)]
            assert items[0] == Delta("Hello")
        await provider.aclose()

    server.script(script)
    asyncio.run(main())
    assert len(connections) == 1
