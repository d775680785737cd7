"""Peers that flood, stall or lie. What counts each time: another client's pings come back quickly meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from neocode.gateway.endpoint import Endpoint
from neocode.gateway.limits import Limits

ATTACKERS = 24
QUICK_SEC = 2.0  # for a loaded machine; idle it takes 0.1 s, and a gateway that serves attackers in turn 4 s
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


@pytest.mark.parametrize(
    "attack", [garbage, pings, blank_lines, bindings, big_frames, nested_json, churn, deaf, slow_loris]
)
def test_an_attacked_gateway_answers_others_quickly(gw: SimpleNamespace, endpoint: Endpoint, attack: Attack) -> None:
    """The attackers run in a process of their own, so that their work does not count as the gateway's delay."""

    async def main() -> None:
        async with gw.serve(endpoint, Limits(call_sec=2.0)):
            attackers = await gw.attack(endpoint, attack.__name__, ATTACKERS)
            try:
                victim = await gw.Raw.connect(endpoint)
                delays = []
                for _ in range(PINGS):
                    started = time.monotonic()
                    answer = await victim.call("gateway.ping")
                    delays.append(time.monotonic() - started)
                    assert answer["result"]["payload"]["message"] == "pong"
                    await asyncio.sleep(0.03)
                assert max(delays) < QUICK_SEC, [round(delay, 3) for delay in delays]
                assert attackers.returncode is None, "the attack ended before the test did"
            finally:
                attackers.kill()
                await attackers.wait()

    gw.run(main())


def test_a_chunk_reaches_its_client_while_others_flood(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            attackers = await gw.attack(endpoint, "big_frames", ATTACKERS)
            try:
                raw = await gw.Raw.connect(endpoint)
                started = time.monotonic()
                await raw.call("gateway.ask", {"user_query": "a b c"})
                while (await raw.event())["event"] != "ask_done":
                    pass
                assert time.monotonic() - started < QUICK_SEC
            finally:
                attackers.kill()
                await attackers.wait()

    gw.run(main())
