"""A gateway in this process or in another, raw sockets to talk to it, and a home directory of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neocode.gateway import transport
from neocode.gateway.auth import load_or_create_token
from neocode.gateway.endpoint import Endpoint, resolve_endpoint
from neocode.gateway.limits import Limits
from neocode.gateway.server import GatewayServer

HERE = Path(__file__).parent
if sys.platform == "win32":  # Unix sockets, modes and signals
    collect_ignore = ["test_gateway_hostile.py", "test_gateway_lifecycle.py", "test_gateway_transport.py"]


def _load_fake_ask() -> Any:
    spec = importlib.util.spec_from_file_location("gateway_fake_ask", HERE / "fake_ask.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FakeAsk = _load_fake_ask().FakeAsk


class Raw:
    """A client that says exactly what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._number = 0

    @classmethod
    async def connect(cls, endpoint: Endpoint, authenticate: bool = True) -> Raw:
        raw = cls(*await _streams(endpoint.address))
        if authenticate:
            token = json.loads(endpoint.token_file.read_text())["token"]
            answer = await raw.call("gateway.authenticate", {"token": token})
            assert answer["result"]["payload"]["subject_id"] == "local_admin"
        return raw

    def send(self, message: bytes | dict[str, Any]) -> None:
        self.writer.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def recv(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self.reader.readline(), 15)
        assert line.endswith(b"\n"), f"closed after {line!r}"
        message: dict[str, Any] = json.loads(line)
        return message

    async def call(self, method: str, params: Any = None) -> dict[str, Any]:
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": str(self._number), "method": method, "params": params or {}})
        while True:
            answer = await self.recv()
            if answer.get("id") == str(self._number):
                return answer

    async def event(self) -> dict[str, Any]:
        while True:
            message = await self.recv()
            if message.get("method") == "gateway.event":
                params: dict[str, Any] = message["params"]
                return params

    async def at_end(self) -> bool:
        """Wait for the server to close; True when it sent nothing more."""
        try:
            return await asyncio.wait_for(self.reader.read(), 15) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.writer.close()


async def _streams(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader = asyncio.StreamReader(limit=4 << 20)
    connected, protocol = await transport.connect(address, lambda: asyncio.StreamReaderProtocol(reader), 15)
    assert isinstance(connected, asyncio.WriteTransport)
    return reader, asyncio.StreamWriter(connected, protocol, reader, asyncio.get_running_loop())


@asynccontextmanager
async def serve(endpoint: Endpoint, limits: Limits | None = None, ask: Any = None) -> AsyncIterator[SimpleNamespace]:
    """A gateway on a real socket in this process."""
    transport.prepare(endpoint.address)
    token = await load_or_create_token(endpoint.token_file)
    service = ask or FakeAsk()
    server = GatewayServer(service, token, address=endpoint.address, limits=limits, version="1.0.0")
    listener = await transport.listen(endpoint.address, server.connection)
    try:
        yield SimpleNamespace(server=server, ask=service, endpoint=endpoint)
    finally:
        listener.close()
        await server.shutdown()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run an asynchronous test; it ends within 45 s."""

    async def bounded() -> None:
        await asyncio.wait_for(main, 45)

    asyncio.run(bounded())


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait for a condition that other tasks bring about."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "the condition never came true"
        await asyncio.sleep(0.005)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short home directory (a socket's path has 107 bytes), and no settings of the person who runs the tests."""
    directory = Path(tempfile.mkdtemp(prefix="ngw-"))
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("NEOCODE_HOME", str(directory / "n"))
    monkeypatch.delenv("NEOCODE_GATEWAY", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def endpoint(home: Path) -> Endpoint:
    return resolve_endpoint()


@pytest.fixture
def gw() -> SimpleNamespace:
    """The helpers of this file."""

    def daemon_argv(endpoint: Endpoint, *extra: str) -> list[str]:
        script = str(HERE / "fake_daemon.py")
        return [
            sys.executable, script, "--listen", endpoint.address, "--token-file", str(endpoint.token_file), *extra,
        ]  # fmt: skip

    async def attack(endpoint: Endpoint, name: str, count: int) -> asyncio.subprocess.Process:
        """Start an attack; it is under way when this returns."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(HERE / "attack.py"),
            endpoint.address,
            str(endpoint.token_file),
            name,
            str(count),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 20) == b"attacking\n"
        return process

    return SimpleNamespace(
        attack=attack,
        FakeAsk=FakeAsk,
        Raw=Raw,
        serve=serve,
        run=run,
        until=until,
        daemon_argv=daemon_argv,
    )
