"""The gateway over the real named pipe: the real daemon in its own process, the real client, the offline provider."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from conpty import pipe_api, processes, sddl, security
from neocode import paths
from neocode.ask.types import TERMINAL_DIAGNOSIS, AskParams
from neocode.config.file import update_config
from neocode.errors import ConfigError
from neocode.gateway import daemon_log, transport
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.endpoint import Endpoint, resolve_endpoint
from neocode.gateway.framing import MAX_FRAME_BYTES
from neocode.gateway.lifecycle import ensure_daemon, stop_daemon
from neocode.providers.base import AskContext

LOG = "npm ERR! code ECONNREFUSED\nnpm ERR! connect ECONNREFUSED 127.0.0.1:4873\n"
CLIENTS = 20
ECHO_FRAME = 1 << 20
SE_KERNEL_OBJECT = 6


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home, and so a pipe, of these tests' own; what was started is stopped at the end."""
    directory = tmp_path_factory.mktemp("home") / ".neocode"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEOCODE_HOME", str(directory))
        patch.delenv("NEOCODE_GATEWAY", raising=False)
        yield directory
        run(stop_daemon(resolve_endpoint()))


@pytest.fixture
def endpoint(home: Path) -> Endpoint:
    return resolve_endpoint()


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Run an asynchronous test; it ends within 45 s."""

    async def bounded() -> Any:
        return await asyncio.wait_for(main, 45)

    return asyncio.run(bounded())


async def diagnose(client: GatewayClient, session: str) -> str:
    context = AskContext(log=LOG, shell="cmd", os="windows", cwd="C:\\", lang="en", near_commands=())
    answer = await client.ask(AskParams("why?", session, (TERMINAL_DIAGNOSIS,), "C:\\", context))
    said = []
    async for event in answer:
        if event.event_type == "ask_chunk":
            said.append(str(event.payload["delta"]))
        else:
            assert event.event_type == "ask_done", event
            assert event.payload["full_response"] == "".join(said)
            break
    return "".join(said)


def test_the_gateway_is_started_detached_and_answers(endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint) as client:
            assert "4873" in await diagnose(client, "diag-ask-1")

    run(main())


def test_it_outlives_its_starter_and_shares_no_console_with_anybody(home: Path, endpoint: Endpoint) -> None:
    """Who is not on our console gets no Ctrl-C of it, and is not closed with its window."""
    run(stop_daemon(endpoint))
    program = (
        "import asyncio\nfrom neocode.gateway.endpoint import resolve_endpoint\n"
        "from neocode.gateway.lifecycle import ensure_daemon\n"
        "async def main():\n    async with await ensure_daemon(resolve_endpoint()): pass\nasyncio.run(main())"
    )
    starter = subprocess.Popen([sys.executable, "-c", program])
    assert starter.wait(30) == 0

    async def main() -> int:
        async with await GatewayClient.open(endpoint) as client:
            return int((await client.call("gateway.status", {}))["pid"])

    pid = run(main())
    assert processes.is_alive(pid)
    assert not processes.is_alive(starter.pid)
    assert os.getpid() in console_processes()
    assert pid not in console_processes()
    assert transport.lock_holder(endpoint.address) == pid


def console_processes() -> list[int]:
    """The processes on our console."""
    found = (ctypes.c_uint32 * 64)()
    number = ctypes.WinDLL("kernel32").GetConsoleProcessList(found, len(found))
    return list(found[: min(number, len(found))])


def test_a_ctrl_c_on_its_starters_console_reaches_the_starter_and_not_it(endpoint: Endpoint) -> None:
    run(stop_daemon(endpoint))
    program = (
        "import asyncio, ctypes, signal, sys, time\nfrom neocode.gateway.endpoint import resolve_endpoint\n"
        "from neocode.gateway.lifecycle import ensure_daemon\n"
        "async def main():\n    async with await ensure_daemon(resolve_endpoint()): pass\nasyncio.run(main())\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(7))\n"
        "ctypes.WinDLL('kernel32').GenerateConsoleCtrlEvent(0, 0)\ntime.sleep(20)"
    )
    # a console of its own, or this test would be hit as well
    starter = subprocess.Popen([sys.executable, "-c", program], creationflags=subprocess.CREATE_NEW_CONSOLE)
    assert starter.wait(30) == 7

    async def main() -> None:
        async with await GatewayClient.open(endpoint) as client:
            assert (await client.call("gateway.ping", {}))["message"] == "pong"

    run(main())


def test_several_starters_at_once_get_one_gateway(endpoint: Endpoint) -> None:
    run(stop_daemon(endpoint))

    async def main() -> None:
        clients = await asyncio.gather(*(ensure_daemon(endpoint) for _ in range(4)))
        pids = {(await client.call("gateway.status", {}))["pid"] for client in clients}
        for client in clients:
            await client.close()
        assert len(pids) == 1

    run(main())


def test_twenty_clients_ask_at_once(endpoint: Endpoint) -> None:
    async def one(number: int) -> str:
        async with await GatewayClient.open(endpoint, timeout=20) as client:
            return await diagnose(client, f"diag-ask-{number}")

    async def main() -> None:
        async with await ensure_daemon(endpoint):
            answers = await asyncio.gather(*(one(number) for number in range(CLIENTS)))
        assert len(set(answers)) == 1
        assert "4873" in answers[0]

    run(main())


def test_a_notification_reaches_the_shell_that_it_is_for(endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint) as shell, await GatewayClient.open(endpoint) as command:
            await shell.bind("shell-1-1-00000000", role="shell", state={"pid": os.getpid(), "cwd": "C:\\Küche"})
            await command.bind("cli-1", role="cli")
            answer = await command.trigger("diagnose", "shell-1-1-00000000", {"note": "你好"})
            assert answer["ok"] is True
            told = await asyncio.wait_for(shell.notification(), 5)
            assert (told.action, told.payload) == ("diagnose", {"note": "你好"})

    run(main())


def test_a_frame_of_a_mebibyte_is_taken_and_a_longer_one_ends_the_connection(endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint) as client:
            overhead = len(b'{"jsonrpc":"2.0","id":"99","method":"gateway.ping","params":{"x":""}}\n')
            pong = await client.call("gateway.ping", {"x": "y" * (MAX_FRAME_BYTES - overhead)})
            assert pong["message"] == "pong"
            received = asyncio.StreamReader()
            link, _ = await transport.connect(endpoint.address, lambda: asyncio.StreamReaderProtocol(received), 5)
            link.write(b"x" * (MAX_FRAME_BYTES + 2))  # type: ignore[attr-defined]
            answer = json.loads(await asyncio.wait_for(received.readline(), 10))
            assert answer["error"]["data"]["gateway_code"] == "invalid_frame"
            assert await asyncio.wait_for(received.read(), 10) == b""
            link.close()
            assert (await client.call("gateway.ping", {}))["message"] == "pong"

    run(main())


def test_large_frames_pass_both_ways_between_many_ends_at_once(home: Path) -> None:
    address = rf"\\.\pipe\neocode-test-{os.getpid()}-echo"

    class Echo(asyncio.Protocol):
        def connection_made(self, link: asyncio.BaseTransport) -> None:
            assert transport.peer_is_ours(link)
            self.link = link

        def data_received(self, data: bytes) -> None:
            self.link.write(data)  # type: ignore[attr-defined]

    async def one(number: int) -> None:
        received = asyncio.StreamReader(limit=2 * ECHO_FRAME)
        link, _ = await transport.connect(address, lambda: asyncio.StreamReaderProtocol(received), 20)
        frame = bytes([65 + number]) * (ECHO_FRAME - 1) + b"\n"
        link.write(frame)  # type: ignore[attr-defined]
        assert await asyncio.wait_for(received.readline(), 30) == frame
        link.close()

    async def main() -> None:
        listener = await transport.listen(address, Echo)
        await asyncio.gather(*(one(number) for number in range(CLIENTS)))
        listener.close()
        await asyncio.sleep(0.1)  # the server's ends go when they hear that their clients have gone
        with pytest.raises(FileNotFoundError):
            await transport.connect(address, asyncio.Protocol, 0.1)

    run(main())


def test_a_client_that_is_killed_or_cuts_its_frame_leaves_nothing_behind(endpoint: Endpoint) -> None:
    program = (
        "import asyncio, sys\nfrom neocode.gateway.client import GatewayClient\n"
        "from neocode.gateway.endpoint import resolve_endpoint\n"
        "async def main():\n    client = await GatewayClient.open(resolve_endpoint())\n"
        "    client._transport.write(b'{\"jsonrpc\":')\n    print('open', flush=True)\n    await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )

    async def connections(client: GatewayClient) -> int:
        return int((await client.call("gateway.status", {}))["connections"])

    async def main() -> None:
        async with await ensure_daemon(endpoint) as client:
            for _ in range(3):
                link, _ = await transport.connect(endpoint.address, asyncio.Protocol, 5)
                link.write(b'{"half":')  # type: ignore[attr-defined]
                link.abort()  # type: ignore[attr-defined]
            victim = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert victim.stdout is not None
            assert (await victim.stdout.readline()).strip() == b"open"
            assert await connections(client) >= 2
            victim.kill()
            await victim.communicate()
            deadline = time.monotonic() + 10
            while await connections(client) > 1:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            assert "4873" in await diagnose(client, "diag-ask-after")

    run(main())


def test_who_is_at_the_other_end_is_known_both_ways(endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint):
            pipe = pipe_api.connect(endpoint.address)
            try:
                assert pipe_api.server_sid(pipe) == security.current_sid()
            finally:
                pipe.close()

    run(main())


def test_a_gateway_of_another_user_is_given_nothing(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint):
            monkeypatch.setattr(pipe_api, "server_sid", lambda pipe: "S-1-5-21-9-9-9-9")
            with pytest.raises(ConfigError, match="belongs to another user"):
                await GatewayClient.open(endpoint)

    run(main())


def test_what_is_on_disk_is_the_users_alone(home: Path, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint) as client:
            await diagnose(client, "diag-ask-kept")

    run(main())
    update_config(lambda settings: settings.update(ask={"max_sessions": 7}))
    expected = [
        home,
        paths.auth_file(),
        paths.config_file(),
        paths.run_dir(),
        paths.log_dir(),
        paths.state_dir() / "ask.db",
    ]
    for path in (*expected, daemon_log.log_file()):
        assert path.exists()
        assert security.strangers(str(path)) == [], path
        assert not security.is_foreign(str(path))


def test_a_token_that_others_may_read_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    token = tmp_path / "auth.json"
    run(_make_token(token))
    os.unlink(token)
    token.write_text('{"version":1,"token":"' + "x" * 43 + '","created_at":"","updated_at":""}')
    if not security.strangers(str(token)):
        pytest.skip("this directory lets in nobody else")
    from neocode.gateway.auth import read_token

    with pytest.raises(ConfigError, match="open to other users"):
        read_token(token)
    security.restrict(str(token))
    assert read_token(token) == "x" * 43


async def _make_token(path: Path) -> None:
    from neocode.gateway.auth import load_or_create_token

    await load_or_create_token(path)


def test_a_log_that_is_open_can_be_rotated(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(daemon_log, "MAX_LOG_BYTES", 10)
    log = tmp_path / "logs" / "gateway.log"
    first = daemon_log.open_log(log)
    assert first is not None
    assert os.path.samestat(os.fstat(first), os.stat(log))
    os.write(first, b"more than ten bytes\n")
    second = daemon_log.open_log(log)
    assert second is not None
    os.write(first, b"late\n")
    os.write(second, b"new\n")
    assert (log.read_bytes(), log.with_name("gateway.log.1").read_bytes()) == (b"new\n", b"more than ten bytes\nlate\n")
    os.close(first)
    os.close(second)


def test_stop_ends_it_and_the_name_is_free(endpoint: Endpoint) -> None:
    async def main() -> None:
        async with await ensure_daemon(endpoint):
            pass
        assert await stop_daemon(endpoint)
        with pytest.raises(GatewayAbsent):
            await GatewayClient.open(endpoint)
        assert transport.lock_holder(endpoint.address) is None
        assert not await stop_daemon(endpoint)

    run(main())


def test_the_pipes_own_list_names_its_owner_alone() -> None:
    pipe = pipe_api.create(rf"\\.\pipe\neocode-test-{os.getpid()}-dacl", first=True)
    try:
        text = security._told(security._advapi32.GetSecurityInfo, pipe.handle, SE_KERNEL_OBJECT)
        assert sddl.strangers(text, security.current_sid()) == []
        assert [entry.trustee for entry in sddl.aces(text)] == [security.current_sid()]
    finally:
        pipe.close()
