"""Every wait ends: three separate time-outs, and cancelling closes the connection at once."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, refuses, sse

from neocode.config import ProviderConfig
from neocode.providers import openai_reply
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message
from neocode.providers.openai import OpenAIProvider

Ask = Callable[..., Any]
Config = Callable[..., ProviderConfig]
REQUEST = AskRequest((Message("user", "why?"),), AskContext())
SOON = 0.2
NEVER = 30.0


def timed(ask: Ask, **changes: Any) -> tuple[Any, float]:
    started = time.monotonic()
    outcome = ask(**changes)
    return outcome, time.monotonic() - started


def test_a_connection_that_is_never_completed_ends_at_the_connect_time_out(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts by its backlog, and never speaks TLS
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        outcome, took = timed(ask, base_url=url, connect_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", False)
    assert "no connection" in outcome.failed.message
    assert took < 5


def silent_after_accept(connection: Connection) -> None:
    assert connection.wait_for_disconnect()


def silent_after_head(connection: Connection) -> None:
    connection.head()
    assert connection.wait_for_disconnect()


def one_header_byte_at_a_time(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\n")
    try:
        while True:
            connection.send(b"X: y\r\n")
            time.sleep(0.02)  # the pace of a slow server, not a wait for something
    except OSError:
        pass


@pytest.mark.parametrize("script", [silent_after_accept, silent_after_head, one_header_byte_at_a_time])
def test_a_silent_server_ends_at_the_first_byte_time_out(
    server: FakeServer, ask: Ask, script: Callable[[Connection], None]
) -> None:
    """can1357/oh-my-pi#2177: the first event may take long, but not for ever."""
    server.script(script)
    outcome, took = timed(ask, first_byte_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", False)
    assert "sent nothing for 0.2 s" in outcome.failed.message
    assert took < 5
    assert len(server.requests) == 1


def test_silence_in_the_middle_ends_at_the_idle_time_out_and_keeps_the_text(server: FakeServer, ask: Ask) -> None:
    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("Hello"), done=False))
        assert connection.wait_for_disconnect()

    server.script(script)
    outcome, took = timed(ask, idle_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert outcome.text == "Hello"
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", True)
    assert took < 5


def test_the_time_outs_do_not_stand_in_for_each_other(server: FakeServer, ask: Ask) -> None:
    """A slow first byte passes a short connect and idle time-out."""

    def script(connection: Connection) -> None:
        time.sleep(0.6)  # the pace of a slow server, not a wait for something
        answers("Hello")(connection)

    server.script(script)
    assert ask(connect_timeout_sec=0.3, idle_timeout_sec=0.3, first_byte_timeout_sec=8.0).text == "Hello"


def test_keep_alives_hold_a_call_but_not_for_ever(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_reply, "PROGRESS_LIMIT_SEC", 0.6)

    def script(connection: Connection) -> None:
        connection.head()
        try:
            while True:
                connection.send(b": OPENROUTER PROCESSING\n\n")
                time.sleep(0.02)  # the pace of a slow server, not a wait for something
        except OSError:
            pass

    server.script(script)
    outcome, took = timed(ask, idle_timeout_sec=0.3)
    assert outcome.failed.code == "TIMEOUT"
    assert 0.5 < took < 5


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
        task = asyncio.create_task(anext(provider.stream(REQUEST)))  # type: ignore[arg-type]
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
        task = asyncio.create_task(anext(provider.stream(REQUEST)))  # type: ignore[arg-type]
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
        answer = provider.stream(REQUEST)
        assert await anext(answer) == Delta("Hello")
        await provider.aclose()
        assert await watch.seen()

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
