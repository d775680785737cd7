"""A home with a gateway of its own for this process and the commands it runs; findings as the proxy makes them."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli import FOREIGN, NeoHome
from fake_openai import FakeServer, fake_server

from ptyproxy.ports import Finding
from ptyproxy.records import CommandRecord, Output

DEADLINE_SEC = 20.0

MakeFinding = Callable[..., Finding]
Until = Callable[..., Awaitable[None]]


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[NeoHome]:
    with tempfile.TemporaryDirectory(prefix="neo") as path:
        neo = NeoHome(Path(path))
        for name in FOREIGN:
            monkeypatch.delenv(name, raising=False)
        for name in ("HOME", "LANG", "TERM"):
            monkeypatch.setenv(name, neo.env[name])
        try:
            yield neo
        finally:
            neo.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def model(home: NeoHome, server: FakeServer) -> NeoHome:
    """A home whose provider is the scripted server, on this machine."""
    use_model(home, server.url)
    return home


@pytest.fixture
def remote(home: NeoHome, server: FakeServer) -> NeoHome:
    """The same under an address that is not loopback: 0.0.0.0 leads here, but nobody can know."""
    use_model(home, server.url.replace("127.0.0.1", "0.0.0.0"))
    return home


def use_model(home: NeoHome, url: str) -> None:
    added = home.run("provider", "add", "work", "--kind", "openai", "--base-url", url, "--model", "m1")
    used = home.run("use", "work")
    assert (added.returncode, used.returncode) == (0, 0), added.stderr + used.stderr


@pytest.fixture
def finding() -> MakeFinding:
    """`finding(command, output, exit_code=, automatic=, near=)`."""

    def make(
        command: str | None = "make",
        output: bytes | Output = b"make: *** [all] Error 2\r\n",
        *,
        exit_code: int = 2,
        automatic: bool = False,
        near: tuple[tuple[CommandRecord, Output], ...] = (),
        cwd: str = "/srv/project",
    ) -> Finding:
        record = command_record(command, exit_code, cwd) if command is not None else None
        whole = output if isinstance(output, Output) else Output(b"", 0, output)
        return Finding(record, whole, 80, "bash", automatic, near)

    return make


def command_record(command: str, exit_code: int, cwd: str = "/srv/project") -> CommandRecord:
    return CommandRecord(1, command, True, cwd, exit_code, 100.0, 101.5, 0, 10, "neocode")


@pytest.fixture
def record() -> Callable[[str, int], CommandRecord]:
    return command_record


@pytest.fixture
def until() -> Until:
    """Waits until a condition holds, which it must do within the deadline and before `task` ends."""

    async def wait(condition: Callable[[], object], task: asyncio.Task[Any] | None = None) -> None:
        deadline = time.monotonic() + DEADLINE_SEC
        while not condition():
            if task is not None and task.done():
                raise AssertionError("it ended early") from task.exception()
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)

    return wait


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What asyncio logs of a forgotten failure would be printed over the user's screen."""
    yield
    gc.collect()
    assert [entry.getMessage() for entry in caplog.records if entry.name == "asyncio"] == []
