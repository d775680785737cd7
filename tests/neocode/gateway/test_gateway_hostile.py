"""Peers that flood, stall or lie. What counts each time: another client's pings come back quickly meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from neocode.gateway.endpoint import Endpoint
from neocode.gateway.lifecycle import ensure_daemon, stop_daemon

ATTACKERS = 24
QUICK_SEC = 2.0  # for a loaded machine; idle it takes 0.1 s, and serving attackers in turn takes 4 s
PINGS = 15

Attack = Callable[[Any, Endpoint], Awaitable[None]]


async def flood(raw: Any, frame: bytes) -> None:
    """Write `frame` as fast as the gateway takes it, and read what comes."""

    async def swallow() -> None:
        while await raw.reader.read(1 << 16):
            pass

    reader = asyncio.ensure_future(swallow())
    try:
        while True:
            raw.writer.write(frame)
            await raw.writer.drain()
            await asyncio.sleep(0)
    except ConnectionError:
        pass
    finally:
        reader.cancel()
        raw.close()


def call(method: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":1,"method":"gateway.{method}","params":{params}}}\n'.encode()


async def garbage(gw: Any, endpoint: Endpoint) -> None:
    while True:
        await flood(await gw.Raw.connect(endpoint), b"\x00\xff garbage \n" * 500)


async def pings(gw: Any, endpoint: Endpoint) -> None:
    await flood(await gw.Raw.connect(endpoint), call("ping", "{}") * 500)


async def blank_lines(gw: Any, endpoint: Endpoint) -> None:
    await flood(await gw.Raw.connect(endpoint), b"\n \r\n" * 16_000)


async def bindings(gw: Any, endpoint: Endpoint) -> None:
    frames = b"".join(call("bindStream", f'{{"session_id":"s-{number}","state":{{"a":1}}}}') for number in range(300))
    await flood(await gw.Raw.connect(endpoint), frames)


async def big_frames(gw: Any, endpoint: Endpoint) -> None:
    text = '"' + "x" * ((1 << 20) - 200) + '"'
    await flood(await gw.Raw.connect(endpoint), call("bindStream", f'{{"session_id":{text}}}'))


async def nested_json(gw: Any, endpoint: Endpoint) -> None:
    block = "[" * 60 + "]" * 60
    frame = call("bindStream", '{"session_id":"s","state":{"a":[' + ",".join([block] * 8000) + "]}}")
    await flood(await gw.Raw.connect(endpoint), frame)


async def churn(gw: Any, endpoint: Endpoint) -> None:
    while True:
        raw = await gw.Raw.connect(endpoint, authenticate=False)
        raw.send(b'{"jsonrpc":')
        raw.close()


async def deaf(gw: Any, endpoint: Endpoint) -> None:
    while True:
        raw = await gw.Raw.connect(endpoint)
        raw.writer.transport.pause_reading()
        try:
            for _ in range(2000):
                raw.writer.write(call("ping", "{}") * 50)
                await raw.writer.drain()
        except ConnectionError:
            pass
        raw.close()


async def slow_loris(gw: Any, endpoint: Endpoint) -> None:
    raw = await gw.Raw.connect(endpoint)
    for byte in call("ping", "{}") * 1000:
        raw.writer.write(bytes([byte]))
        await asyncio.sleep(0.002)


@asynccontextmanager
async def attacked(gw: SimpleNamespace, endpoint: Endpoint, name: str) -> AsyncIterator[Any]:
    """A raw client of a gateway under attack. Gateway and attackers are processes of their own, so that the delay that
    the client sees is the gateway's alone.
    """
    await (await ensure_daemon(endpoint, argv=gw.daemon_argv(endpoint), ready_sec=30.0)).close()
    attackers = await gw.attack(endpoint, name, ATTACKERS)
    try:
        yield await gw.Raw.connect(endpoint)
        assert attackers.returncode is None, "the attack ended before the test did"
    finally:
        attackers.kill()
        await attackers.wait()
        await stop_daemon(endpoint)


@pytest.mark.parametrize(
    "attack", [garbage, pings, blank_lines, bindings, big_frames, nested_json, churn, deaf, slow_loris]
)
def test_an_attacked_gateway_answers_others_quickly(gw: SimpleNamespace, endpoint: Endpoint, attack: Attack) -> None:
    async def main() -> None:
        async with attacked(gw, endpoint, attack.__name__) as victim:
            delays = []
            for _ in range(PINGS):
                started = time.monotonic()
                answer = await victim.call("gateway.ping")
                delays.append(time.monotonic() - started)
                assert answer["result"]["payload"]["message"] == "pong"
                await asyncio.sleep(0.03)
            assert max(delays) < QUICK_SEC, [round(delay, 3) for delay in delays]

    gw.run(main())


def test_a_chunk_reaches_its_client_while_others_flood(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with attacked(gw, endpoint, "big_frames") as raw:
            started = time.monotonic()
            await raw.call("gateway.ask", {"user_query": "a b c"})
            while (await raw.event())["event"] != "ask_done":
                pass
            assert time.monotonic() - started < QUICK_SEC

    gw.run(main())


def order_of(running: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of requests in the order in which the gateway handles them, from now on."""
    seen: list[str] = []
    handle = running.server.handle

    def noting(connection: Any, request: Any) -> Any:
        seen.append(request.request_id)
        return handle(connection, request)

    monkeypatch.setattr(running.server, "handle", noting)
    return seen


def ping(request_id: str, size: int = 0) -> bytes:
    """A ping of at least `size` bytes."""
    return f'{{"jsonrpc":"2.0","id":"{request_id}","method":"gateway.ping","x":"{"x" * size}"}}\n'.encode()


def test_large_requests_wait_for_a_small_one_that_came_after_them(
    gw: SimpleNamespace, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            clients = [await gw.Raw.connect(endpoint) for _ in range(20)]
            light = await gw.Raw.connect(endpoint)
            seen = order_of(running, monkeypatch)
            for number, raw in enumerate(clients):
                raw.send(ping(f"large-{number}", 100_000))
            light.send(ping("light"))
            await gw.until(lambda: len(seen) == 21)
            assert seen.index("light") <= 2, seen

    gw.run(main())


def test_who_has_used_much_waits_for_who_has_not(
    gw: SimpleNamespace, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            clients = [await gw.Raw.connect(endpoint) for _ in range(20)]
            for connection in running.server._connections:
                connection._load.add(1.0, time.monotonic())
            light = await gw.Raw.connect(endpoint)
            seen = order_of(running, monkeypatch)
            for number, raw in enumerate(clients):
                raw.send(ping(f"heavy-{number}"))
            light.send(ping("light"))
            await gw.until(lambda: len(seen) == 21)
            assert seen.index("light") <= 2, seen

    gw.run(main())
