"""The logic of the pipe transport over a pretended pipe: real event loop, socket pairs for ends, errors as Windows has
them. The real pipe is tried under Wine, and on Windows.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neocode.errors import ConfigError
from neocode.gateway.transport import pipe_name, windows, windows_lock

ADDRESS = r"\\.\pipe\neocode-test"
ME, OTHER = "S-1-5-21-1", "S-1-5-21-2"


class NumberedError(OSError):
    """An OSError with Windows' number, as ctypes makes them."""

    def __init__(self, number: int, kind: int) -> None:
        super().__init__(kind, "as the system says")
        self.winerror = number


class End:
    """A server's end; `arrived` is set when a client has connected."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.sock: socket.socket | None = None
        self.closed = False
        self.vanished = False

    def close(self) -> None:
        self.closed = True
        if self.sock is not None:
            self.sock.close()


class FakePipes:
    """Pipes in one process. `whose` is what the other end's process says it is, or raises."""

    def __init__(self) -> None:
        self.free: list[End] = []
        self.made: list[End] = []
        self.whose: str | OSError = ME
        self.taken = 0  # refusals of a first end that are still to come
        self.no_room = 0
        self.busy = 0
        self.denied = False

    def user_sid(self) -> str:
        return ME

    def is_elevated(self) -> bool:
        return False

    def create(self, name: str, *, first: bool) -> End:
        if first and self.taken:
            self.taken -= 1
            raise PermissionError(13, "Access is denied")
        if not first and self.no_room:
            self.no_room -= 1
            raise OSError(12, "no room")
        end = End()
        self.free.append(end)
        self.made.append(end)
        return end

    def connect(self, name: str) -> End:
        if self.denied:
            raise PermissionError(13, "Access is denied")
        self.free = [end for end in self.free if not end.closed]
        if not self.free and not self.made:
            raise FileNotFoundError(2, "no such pipe")
        if self.busy or not self.free:
            self.busy = max(0, self.busy - 1)
            raise NumberedError(windows.ERROR_PIPE_BUSY, 22)
        server, client = self.free.pop(), End()
        server.sock, client.sock = socket.socketpair()
        server.arrived.set()
        return client

    def client_sid(self, pipe: Any) -> str:
        if isinstance(self.whose, OSError):
            raise self.whose
        return self.whose

    server_sid = client_sid

    async def accept(self, pipe: End) -> None:
        await pipe.arrived.wait()
        if pipe.vanished:
            raise BrokenPipeError(32, "came and went")

    async def attach(self, pipe: End, protocol: asyncio.BaseProtocol) -> asyncio.BaseTransport:
        assert pipe.sock is not None
        pipe.sock.setblocking(False)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: protocol, sock=pipe.sock)
        return transport


class Echo(asyncio.Protocol):
    """Sends back what it gets."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)  # type: ignore[attr-defined]


class Client(asyncio.Protocol):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.got = asyncio.Event()
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.got.set()


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakePipes:
    monkeypatch.setenv("NEOCODE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(windows, "RECOVER_SEC", 0.001)
    fake = FakePipes()
    monkeypatch.setattr(windows, "_pipes", lambda: fake)
    return fake


async def exchange(data: bytes = b"hello") -> bytes:
    transport, client = await windows.connect(ADDRESS, Client, 2.0)
    transport.write(data)  # type: ignore[attr-defined]
    await asyncio.wait_for(client.got.wait(), 5)
    transport.close()
    return client.data


def test_clients_one_after_the_other_and_at_once_are_served(pipes: FakePipes) -> None:
    async def main() -> None:
        listener = await windows.listen(ADDRESS, Echo)
        assert await exchange() == b"hello"
        assert await asyncio.gather(*(exchange(b"x%d" % number) for number in range(40))) == [
            b"x%d" % number for number in range(40)
        ]
        assert listener.is_reachable()
        listener.close()
        listener.close()
        assert all(end.closed for end in pipes.made if not end.arrived.is_set())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not listener.is_reachable()

    asyncio.run(main())


def test_an_end_is_free_before_the_one_before_it_is_given_away(pipes: FakePipes) -> None:
    async def main() -> None:
        served: list[int] = []

        class Counting(Echo):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                served.append(sum(not end.closed and not end.arrived.is_set() for end in pipes.made))

        listener = await windows.listen(ADDRESS, Counting)
        await asyncio.sleep(0)
        await exchange()
        assert served == [windows.FREE_ENDS]
        listener.close()

    asyncio.run(main())


def test_a_listener_closed_at_once_leaves_no_end_that_nobody_serves(pipes: FakePipes) -> None:
    async def main() -> None:
        (await windows.listen(ADDRESS, Echo)).close()
        assert all(end.closed for end in pipes.made)

    asyncio.run(main())


def test_a_client_that_came_and_went_costs_nothing(pipes: FakePipes) -> None:
    async def main() -> None:
        listener = await windows.listen(ADDRESS, Echo)
        await asyncio.sleep(0)
        for end in list(pipes.made):
            end.vanished = True
            end.arrived.set()
        pipes.free.clear()
        pipes.no_room = 3
        assert await exchange() == b"hello"
        listener.close()

    asyncio.run(main())


def test_a_busy_pipe_is_tried_again_until_the_deadline(pipes: FakePipes) -> None:
    async def main() -> None:
        listener = await windows.listen(ADDRESS, Echo)
        pipes.busy = 5
        assert await exchange() == b"hello"
        pipes.busy = 10_000
        with pytest.raises(TimeoutError, match="accepts nobody"):
            await windows.connect(ADDRESS, Client, 0.05)
        listener.close()

    asyncio.run(main())


def test_nobody_listening_is_said_as_on_unix(pipes: FakePipes) -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(windows.connect(ADDRESS, Client, 1.0))


@pytest.mark.parametrize(
    ("whose", "error", "words"),
    [
        (OTHER, ConfigError, "belongs to another user"),
        (PermissionError(13, "Access is denied"), ConfigError, "cannot tell whose"),
        (OSError(22, "no such process"), ConnectionRefusedError, "has ended"),
    ],
)
def test_a_server_that_is_not_ours_gets_no_byte(
    pipes: FakePipes, whose: str | OSError, error: type[Exception], words: str
) -> None:
    async def main() -> None:
        received: list[bytes] = []

        class Thief(asyncio.Protocol):
            def data_received(self, data: bytes) -> None:
                received.append(data)

            def connection_lost(self, exc: Exception | None) -> None:
                received.append(b"closed")

        listener = await windows.listen(ADDRESS, Thief)
        pipes.whose = whose
        with pytest.raises(error, match=words):
            await windows.connect(ADDRESS, Client, 1.0)
        while not received:
            await asyncio.sleep(0.005)
        assert received == [b"closed"]
        listener.close()

    asyncio.run(main())


def test_a_pipe_that_may_not_be_opened_is_one_line(pipes: FakePipes) -> None:
    pipes.denied = True
    with pytest.raises(ConfigError, match="Access is denied"):
        asyncio.run(windows.connect(ADDRESS, Client, 1.0))


def test_the_name_of_a_gateway_that_just_died_is_taken_over(pipes: FakePipes) -> None:
    async def main() -> None:
        pipes.taken = 3
        listener = await windows.listen(ADDRESS, Echo)
        assert await exchange() == b"hello"
        listener.close()

    asyncio.run(main())


def test_a_name_that_somebody_owns_is_left_to_him(pipes: FakePipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "TAKE_OVER_SEC", 0.05)
    pipes.taken = 10_000
    with pytest.raises(ConfigError, match="another program listens"):
        asyncio.run(windows.listen(ADDRESS, Echo))
    assert pipes.made == []


def test_a_foreign_client_is_recognised(pipes: FakePipes) -> None:
    class Transport(asyncio.BaseTransport):
        pass

    ours = Transport({"pipe": End.__new__(End)})
    assert windows.peer_is_ours(ours)
    assert not windows.peer_is_ours(Transport())
    for whose in (OTHER, PermissionError(13, "Access is denied")):
        pipes.whose = whose
        assert not windows.peer_is_ours(ours)


def test_the_address_is_made_of_the_users_sid(pipes: FakePipes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEOCODE_HOME")
    plain = windows.default_address()
    assert plain == r"\\.\pipe\neocode-gateway-" + hashlib.sha256(ME.encode()).hexdigest()[:16]
    monkeypatch.setenv("NEOCODE_HOME", "/somewhere")
    assert len({plain, windows.default_address(), pipe_name.user_address(ME, elevated=True)}) == 3
    assert windows.default_address() == windows.default_address()


@pytest.mark.parametrize("given", [ADDRESS, "neocode-test", "//./pipe/neocode-test", r"\\.\PIPE\neocode-test"])
def test_every_spelling_of_a_pipe_is_the_same_address(given: str) -> None:
    assert windows.fit_address(given) == (ADDRESS, "")


@pytest.mark.parametrize(
    "given", [r"\\server\pipe\x", "//server/pipe/x", r"C:\x.sock", "a/b", r"\\.\pipe\a\b", "", " ", "a\nb", "x" * 300]
)
def test_what_is_no_pipe_of_this_machine_is_refused(given: str) -> None:
    with pytest.raises(ConfigError):
        windows.fit_address(given)


def test_this_pythons_asyncio_has_the_private_parts_that_the_real_pipe_needs() -> None:
    """They are no promise of CPython's: whoever moves to a new version hears it here."""
    from asyncio.proactor_events import BaseProactorEventLoop

    make = inspect.signature(BaseProactorEventLoop._make_duplex_pipe_transport)  # type: ignore[attr-defined]
    assert list(make.parameters)[:4] == ["self", "sock", "protocol", "waiter"]
    source = Path(asyncio.__file__).with_name("windows_events.py").read_text(encoding="utf-8")
    proactor = next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "IocpProactor")
    accept = next(n for n in proactor.body if isinstance(n, ast.FunctionDef) and n.name == "accept_pipe")
    assert [argument.arg for argument in accept.args.args] == ["self", "pipe"]


def test_a_lock_is_held_once_and_its_holder_known(pipes: FakePipes) -> None:
    windows.prepare(ADDRESS)
    lock = windows.acquire_lock(ADDRESS)
    assert lock is not None
    assert lock.is_valid()
    assert windows.lock_holder(ADDRESS) == os.getpid()
    assert windows.acquire_lock(ADDRESS) is None
    starting = windows.acquire_lock(ADDRESS, ".starting")
    assert starting is not None
    starting.release()
    lock.release()
    lock.release()
    assert not lock.is_valid()
    assert windows.lock_holder(ADDRESS) is None
    again = windows.acquire_lock(ADDRESS)
    assert again is not None
    again.release()


def test_a_lock_ends_with_its_process(pipes: FakePipes) -> None:
    windows.prepare(ADDRESS)
    program = (
        "import sys; from neocode.gateway.transport import windows_lock;"
        f"held = windows_lock.acquire_lock({ADDRESS!r}); print(held is not None, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"True"
    assert windows.acquire_lock(ADDRESS) is None
    assert windows.lock_holder(ADDRESS) == process.pid
    process.kill()
    process.communicate()
    lock = windows.acquire_lock(ADDRESS)
    assert lock is not None
    lock.release()


def test_locks_of_pipes_lie_in_our_directory_and_those_of_files_beside_them(pipes: FakePipes, tmp_path: Path) -> None:
    assert windows_lock.lock_path(ADDRESS) == tmp_path / "home" / "run" / "neocode-test.lock"
    assert windows_lock.lock_path(str(tmp_path / "auth.json")) == tmp_path / "auth.json.lock"
