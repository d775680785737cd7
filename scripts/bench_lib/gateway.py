"""What the gateway costs: the delay it adds to a chunk, and its memory. Real processes, Unix sockets only.

Invariant: the gateway and the bare echo send the same stamped chunks at the same rate, and the same process receives
both, so that the difference is the gateway's.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from neocode.ask.types import AskEvent, AskParams, AskTicket, Emit, ProviderInfo, SessionInfo
from neocode.gateway.client import GatewayClient
from neocode.gateway.daemon import run_daemon
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.lifecycle import ensure_daemon, stop_daemon
from neocode.paths import HOME_ENV

CHUNKS = 100  # per ask
INTERVAL_SEC = 0.02  # 50 chunks a second, a quick model
FILLER = "x" * 40  # a chunk's usual length
WARM_UP = 5  # chunks of each ask that are not counted
READY_SEC = 20.0
KIB = 1024


class StampingAsk:
    """An ask service whose chunks carry the time they were sent at."""

    def __init__(self) -> None:
        self._runs: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, ask: AskParams, emit: Emit) -> AskTicket:
        ticket = AskTicket(ask.session_id, f"run-{ask.session_id}")
        self._runs[ticket.run_id] = ticket.session_id
        task = asyncio.get_running_loop().create_task(self._stream(ticket, emit))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return ticket

    async def _stream(self, ticket: AskTicket, emit: Emit) -> None:
        async for stamp in stamps():
            emit(AskEvent("ask_chunk", ticket.session_id, ticket.run_id, {"delta": f"{stamp} {FILLER}"}))
        emit(AskEvent("ask_done", ticket.session_id, ticket.run_id, {"full_response": ""}))
        del self._runs[ticket.run_id]

    async def cancel(self, *, run_id: str = "", session_id: str = "") -> bool:
        return False

    async def delete(self, session_id: str) -> bool:
        return False

    def create(self, session_id: str) -> str:
        return session_id

    def sessions(self) -> list[SessionInfo]:
        return []

    def running(self) -> dict[str, str]:
        return self._runs

    def provider(self) -> ProviderInfo:
        return ProviderInfo("bench", "")

    async def check_provider(self, name: str) -> str:
        return ""

    async def list_models(self, name: str) -> list[str]:
        return []

    async def reload(self) -> list[str]:
        return []

    async def aclose(self) -> None:
        for task in list(self._tasks):
            task.cancel()


async def stamps() -> AsyncIterator[float]:
    """The times at which chunks are sent; CLOCK_MONOTONIC is the same in every process."""
    next_at = time.monotonic()
    for _ in range(CHUNKS):
        next_at += INTERVAL_SEC
        await asyncio.sleep(max(0.0, next_at - time.monotonic()))
        yield time.monotonic()


def measure_delay(asks: int) -> dict[str, float]:
    """Delay of a chunk from `emit` to the client's iterator with `asks` concurrent asks, each on a connection of its
    own, against a bare asyncio server that sends the same. Milliseconds: gateway_p50, gateway_p95, echo_p50, echo_p95,
    added_p50, added_p95; and chunks, the number counted.
    """
    gateway = sorted(asyncio.run(_gateway_delays(asks)))
    echo = sorted(asyncio.run(_echo_delays(asks)))
    numbers = {"chunks": float(len(gateway))}
    for name, part in (("p50", 0.50), ("p95", 0.95)):
        numbers[f"gateway_{name}"] = _percentile(gateway, part) * 1000
        numbers[f"echo_{name}"] = _percentile(echo, part) * 1000
        numbers[f"added_{name}"] = numbers[f"gateway_{name}"] - numbers[f"echo_{name}"]
    return {name: round(value, 3) for name, value in numbers.items()}


def measure_memory(connections: int = 100, argv: Sequence[str] | None = None) -> dict[str, float]:
    """Resident memory of an idle gateway (idle_mib) and what one authenticated, bound connection adds
    (per_connection_kib). `argv` starts another daemon than the bench's own; `{address}` and `{token_file}` in it are
    replaced.
    """
    return asyncio.run(_memory(connections, argv))


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


@asynccontextmanager
async def _endpoint() -> AsyncIterator[Endpoint]:
    """An address in a directory of its own, which is the home of whatever is started meanwhile."""
    directory = Path(tempfile.mkdtemp(prefix="ngb-"))
    previous = os.environ.get(HOME_ENV)
    os.environ[HOME_ENV] = str(directory)
    try:
        yield Endpoint(str(directory / "g.sock"), directory / "auth.json")
    finally:
        if previous is None:
            del os.environ[HOME_ENV]
        else:
            os.environ[HOME_ENV] = previous
        shutil.rmtree(directory, ignore_errors=True)


def _serve_argv(kind: str, endpoint: Endpoint) -> list[str]:
    return [sys.executable, __file__, kind, endpoint.address, str(endpoint.token_file)]


async def _gateway_delays(asks: int) -> list[float]:
    async with _endpoint() as endpoint:
        first = await ensure_daemon(endpoint, argv=_serve_argv("gateway", endpoint), ready_sec=READY_SEC)
        clients = [first] + [await GatewayClient.open(endpoint) for _ in range(asks - 1)]
        delays: list[float] = []

        async def ask(client: GatewayClient, number: int) -> None:
            stream = await client.ask(AskParams("go", session_id=f"bench-{number}"))
            seen = 0
            async for event in stream:
                if event.event_type == "ask_chunk":
                    seen += 1
                    if seen > WARM_UP:
                        delays.append(time.monotonic() - float(event.payload["delta"].split(" ", 1)[0]))

        await asyncio.gather(*(ask(client, number) for number, client in enumerate(clients)))
        for client in clients:
            await client.close()
        await stop_daemon(endpoint)
        return delays


async def _echo_delays(connections: int) -> list[float]:
    async with _endpoint() as endpoint:
        process = await asyncio.create_subprocess_exec(*_serve_argv("echo", endpoint), env=_environment())
        try:
            deadline = time.monotonic() + READY_SEC
            while not os.path.exists(endpoint.address) and time.monotonic() < deadline:  # noqa: ASYNC240
                await asyncio.sleep(0.01)
            delays: list[float] = []

            async def receive() -> None:
                reader, writer = await asyncio.open_unix_connection(endpoint.address)
                writer.write(b"go\n")
                seen = 0
                while line := await reader.readline():
                    seen += 1
                    if seen > WARM_UP:
                        delays.append(time.monotonic() - float(line.split(b" ", 1)[0]))
                writer.close()

            await asyncio.gather(*(receive() for _ in range(connections)))
            return delays
        finally:
            process.kill()
            await process.wait()


async def _memory(connections: int, argv: Sequence[str] | None) -> dict[str, float]:
    async with _endpoint() as endpoint:
        command = [part.format(address=endpoint.address, token_file=endpoint.token_file) for part in argv or ()]
        first = await ensure_daemon(endpoint, argv=command or _serve_argv("gateway", endpoint), ready_sec=READY_SEC)
        process = psutil.Process((await first.call("gateway.status", {}))["pid"])
        idle = process.memory_info().rss
        clients = [await GatewayClient.open(endpoint) for _ in range(connections)]
        for number, client in enumerate(clients):
            await client.bind(f"bench-{number}", role="shell", state={"busy": False, "pid": number, "cwd": "/home/me"})
        full = process.memory_info().rss
        for client in [first, *clients]:
            await client.close()
        await stop_daemon(endpoint)
        return {
            "idle_mib": round(idle / KIB / KIB, 1),
            "per_connection_kib": round((full - idle) / KIB / connections, 1),
        }


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}


async def _serve_echo(address: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        async for stamp in stamps():
            writer.write(f"{stamp} {FILLER}\n".encode())
        writer.close()

    server = await asyncio.start_unix_server(talk, address)
    await server.serve_forever()


async def _make_ask() -> StampingAsk:
    return StampingAsk()


def _serve(kind: str, address: str, token_file: str) -> None:
    if kind == "echo":
        asyncio.run(_serve_echo(address))
    else:
        asyncio.run(run_daemon(address, Path(token_file), _make_ask))


if __name__ == "__main__":
    _serve(*sys.argv[1:4])
