"""The daemon as a real process: started, shared, replaced, stopped."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from neocode import paths
from neocode.ask.types import AskParams
from neocode.errors import ConfigError, GatewayUnreachable
from neocode.gateway import daemon_log, transport
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.daemon_log import open_log, read_new
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.lifecycle import daemon_argv, ensure_daemon, stop_daemon

READY_SEC = 30.0  # of a loaded machine


@pytest.fixture
def pids(home: Path) -> Path:
    """Where each started daemon writes its pid."""
    return home / "pids"


@pytest.fixture(autouse=True)
def no_daemon_survives(pids: Path) -> Iterator[None]:
    yield
    for pid in started(pids):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def started(pids: Path) -> list[int]:
    """The daemons so far."""
    return [int(pid) for pid in pids.read_text().split()] if pids.exists() else []


def exists(path: str) -> bool:
    return os.path.lexists(path)


def start_on_full_disk(argv: list[str]) -> subprocess.Popen[bytes]:
    with open("/dev/full", "wb") as full:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=full, stderr=full)


def lengthen_log(size: int) -> None:
    with open(daemon_log.log_file(), "ab") as log:
        log.write(b"x" * size + b"\n")


async def ensure(gw: SimpleNamespace, endpoint: Endpoint, pids: Path, *extra: str, **kwargs: Any) -> GatewayClient:
    argv = gw.daemon_argv(endpoint, "--pids", str(pids), *extra)
    return await ensure_daemon(endpoint, argv=argv, ready_sec=READY_SEC, **kwargs)


def test_a_client_that_finds_no_daemon_starts_one_of_its_own_session(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        client = await ensure(gw, endpoint, pids)
        pid = (await client.call("gateway.status", {}))["pid"]
        assert pid == started(pids)[0]
        assert os.getsid(pid) == pid
        if sys.platform == "linux":
            assert os.readlink(f"/proc/{pid}/cwd") == "/"
            assert os.readlink(f"/proc/{pid}/fd/0") == os.devnull
            assert os.readlink(f"/proc/{pid}/fd/2") == str(daemon_log.log_file())
        assert stat.S_IMODE(daemon_log.log_file().stat().st_mode) == 0o600
        assert "".join([event.payload.get("delta", "") async for event in await client.ask(AskParams("a b"))]) == "ab"
        await client.close()
        assert await stop_daemon(endpoint) is True
        assert await stop_daemon(endpoint) is False
        assert not exists(endpoint.address)

    gw.run(main())


def test_ten_clients_at_once_get_one_daemon(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        clients = await asyncio.gather(*(ensure(gw, endpoint, pids) for _ in range(10)))
        seen = {(await client.call("gateway.status", {}))["pid"] for client in clients}
        assert [*seen] == started(pids)
        for client in clients:
            await client.close()

    gw.run(main())


def test_ten_daemons_at_once_leave_one_and_the_others_say_so_and_exit_0(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        argv = gw.daemon_argv(endpoint, "--pids", str(pids))
        started = [await asyncio.create_subprocess_exec(*argv, stderr=asyncio.subprocess.PIPE) for _ in range(5)]
        words = [asyncio.ensure_future(process.communicate()) for process in started]
        await asyncio.wait(words, timeout=READY_SEC, return_when=asyncio.FIRST_COMPLETED)
        await gw.until(lambda: sum(word.done() for word in words) == 4, READY_SEC)
        for process, word in zip(started, words, strict=True):
            if word.done():
                assert process.returncode == 0
                assert b"a gateway is already running at" in word.result()[1]
        async with await GatewayClient.open(endpoint) as client:
            assert (await client.call("gateway.status", {}))["pid"] in [process.pid for process in started]
        await stop_daemon(endpoint)
        await asyncio.gather(*words)
        assert all(process.returncode == 0 for process in started)

    gw.run(main())


def test_without_start_nothing_is_started(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        with pytest.raises(GatewayAbsent):
            await ensure(gw, endpoint, pids, start=False)
        assert started(pids) == []

    gw.run(main())


def test_a_daemon_that_dies_at_start_is_quoted_in_one_line(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        daemon_log.log_file().parent.mkdir(parents=True)
        daemon_log.log_file().write_text("an older line\n")
        with pytest.raises(GatewayUnreachable) as error:
            await ensure(gw, endpoint, pids, "--fail", "neocode: config.yaml line 3: not YAML \x1b[31m")
        assert error.value.one_line() == "the gateway did not start: config.yaml line 3: not YAML ?[31m"
        with pytest.raises(GatewayUnreachable, match=r"did not start: it ended with code 3$"):
            await ensure_daemon(endpoint, argv=[sys.executable, "-c", "raise SystemExit(3)"], ready_sec=READY_SEC)
        with pytest.raises(GatewayUnreachable, match="cannot start /no/such"):
            await ensure_daemon(endpoint, argv=["/no/such"])

    gw.run(main())


def test_a_daemon_that_never_accepts_is_given_up_after_its_time(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        argv = [
            sys.executable,
            "-c",
            f"import os,time; open({str(pids)!r},'w').write(str(os.getpid())); time.sleep(60)",
        ]
        with pytest.raises(GatewayUnreachable, match="was not ready within 1 s"):
            await ensure_daemon(endpoint, argv=argv, ready_sec=1.0)

    gw.run(main())


def test_a_daemon_goes_on_without_a_log_and_still_says_why_it_died(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        paths.ensure_private_dir(paths.home())
        paths.log_dir().write_text("a file where the directory should be")
        with pytest.raises(GatewayUnreachable, match="did not start: no luck"):
            await ensure(gw, endpoint, pids, "--fail", "no luck")
        client = await ensure(gw, endpoint, pids)
        assert (await client.call("gateway.status", {}))["message"] == "running"
        await client.close()

    gw.run(main())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_daemon_whose_log_disk_is_full_goes_on(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        process = start_on_full_disk(gw.daemon_argv(endpoint, "--pids", str(pids)))
        await gw.until(lambda: exists(endpoint.address), READY_SEC)
        async with await GatewayClient.open(endpoint) as client:
            await client.call("gateway.testProvider", {"name": "offline"})
        await stop_daemon(endpoint)
        assert await asyncio.to_thread(process.wait, 20) == 0

    gw.run(main())


def test_a_home_that_cannot_hold_the_socket_is_one_line(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        paths.ensure_private_dir(paths.home())
        paths.run_dir().write_text("")
        with pytest.raises(ConfigError) as error:
            await ensure(gw, endpoint, pids)
        assert "\n" not in error.value.one_line()
        assert started(pids) == []

    gw.run(main())


def test_sigterm_cancels_the_running_asks_and_exits_0(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        process = await asyncio.create_subprocess_exec(*gw.daemon_argv(endpoint, "--pids", str(pids)))
        client = await _open_when_ready(gw, endpoint)
        stream = await client.ask(AskParams("hang"))
        await stream.__anext__()
        process.send_signal(signal.SIGTERM)
        last = [event async for event in stream][-1]
        assert (last.event_type, last.payload["code"]) == ("ask_error", "CANCELED")
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert not exists(endpoint.address)
        assert transport.lock_holder(endpoint.address) is None
        await client.close()

    gw.run(main())


async def _open_when_ready(gw: SimpleNamespace, endpoint: Endpoint) -> GatewayClient:
    await gw.until(lambda: exists(endpoint.address), READY_SEC)
    while True:
        try:
            return await GatewayClient.open(endpoint)
        except GatewayAbsent:
            await asyncio.sleep(0.01)


def test_a_closed_terminal_does_not_end_the_daemon(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        client = await ensure(gw, endpoint, pids)
        os.kill(started(pids)[0], signal.SIGHUP)
        assert (await client.call("gateway.ping", {}))["message"] == "pong"
        await client.close()

    gw.run(main())


def test_an_idle_daemon_stops_and_a_connected_client_keeps_it(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        argv = gw.daemon_argv(endpoint, "--pids", str(pids), "--idle", "0.4")
        process = await asyncio.create_subprocess_exec(*argv)
        client = await _open_when_ready(gw, endpoint)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), 1.0)
        await client.close()
        assert await asyncio.wait_for(process.wait(), 20) == 0
        assert not exists(endpoint.address)

    gw.run(main())


def test_a_killed_daemons_socket_and_lock_are_taken_over(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        first = await ensure(gw, endpoint, pids)
        os.kill(started(pids)[0], signal.SIGKILL)
        await first.wait_closed()
        assert exists(endpoint.address)
        second = await ensure(gw, endpoint, pids)
        assert (await second.call("gateway.status", {}))["pid"] == started(pids)[1]
        await second.close()

    gw.run(main())


def test_a_daemon_whose_socket_was_removed_listens_again_and_keeps_its_clients(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        first = await ensure(gw, endpoint, pids)
        os.unlink(endpoint.address)
        second = await ensure(gw, endpoint, pids)
        answers = [await client.call("gateway.status", {}) for client in (first, second)]
        assert [answer["pid"] for answer in answers] == started(pids)[:1] * 2
        await first.close()
        await second.close()

    gw.run(main())


def test_a_daemon_whose_directory_was_removed_ends_and_another_can_serve(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        first = await ensure(gw, endpoint, pids)
        shutil.rmtree(Path(endpoint.address).parent)
        await asyncio.wait_for(first.wait_closed(), READY_SEC)
        second = await ensure(gw, endpoint, pids)
        assert (await second.call("gateway.status", {}))["pid"] == started(pids)[1]
        await second.close()

    gw.run(main())


def test_a_newer_client_replaces_an_idle_older_daemon(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        await (await ensure(gw, endpoint, pids, "--version", "1.9.0", version="1.9.0")).close()
        client = await ensure(gw, endpoint, pids, "--version", "1.10.0", version="1.10.0")
        assert (client.server_version, client.notes) == ("1.10.0", [])
        assert len(started(pids)) == 2
        older = await ensure(gw, endpoint, pids, "--version", "1.9.0", version="1.9.0")
        assert (older.server_version, older.notes) == ("1.10.0", [])
        await client.close()
        await older.close()

    gw.run(main())


def test_a_newer_client_uses_a_busy_older_daemon_and_names_it(
    gw: SimpleNamespace, endpoint: Endpoint, pids: Path
) -> None:
    async def main() -> None:
        busy = await ensure(gw, endpoint, pids, "--version", "0.9", version="0.9")
        stream = await busy.ask(AskParams("hang"))
        client = await ensure(gw, endpoint, pids, version="1.0.0")
        assert client.server_version == "0.9"
        assert len(client.notes) == 1
        assert "version 0.9, older than 1.0.0, and busy" in client.notes[0]
        assert stream.run_id
        await client.close()
        await busy.close()

    gw.run(main())


def test_stop_ends_a_daemon_that_cannot_be_talked_to(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        await (await ensure(gw, endpoint, pids)).close()
        endpoint.token_file.unlink()
        assert await stop_daemon(endpoint, timeout=1.0) is True
        await (await ensure(gw, endpoint, pids)).close()
        assert len(started(pids)) == 2

    gw.run(main())


def test_the_started_command_is_this_interpreter_with_the_same_address_and_token(endpoint: Endpoint) -> None:
    assert daemon_argv(endpoint) == [
        sys.executable, "-I", "-m", "neocode", "gateway", "run",
        "--listen", endpoint.address, "--token-file", str(endpoint.token_file),
    ]  # fmt: skip


def test_the_log_is_rotated_and_its_last_new_line_is_short_and_printable(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_log, "MAX_LOG_BYTES", 100)
    path = daemon_log.log_file()
    for number in range(6):
        fd = open_log(path)
        assert fd is not None
        os.write(fd, f"{number}".encode() * 150 + b"\n")
        os.close(fd)
    names = sorted(file.name for file in path.parent.iterdir())
    assert names == ["gateway.log", "gateway.log.1", "gateway.log.2", "gateway.log.3"]
    assert path.read_text()[0] == "5"
    assert path.with_name("gateway.log.3").read_text()[0] == "2"
    assert read_new(path, path.stat().st_size) == ""
    assert read_new(path, 0) == "5" * 150
    assert read_new(path.with_name("none"), 0) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no statvfs")
def test_a_daemon_that_a_full_disk_kept_from_saying_why_is_explained(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with daemon_log.StartOutput() as output:
        assert output.last_line() == ""
        monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=0))
        assert output.last_line() == f"no space left on the disk of {daemon_log.log_file()}"


def test_a_running_daemon_rotates_its_own_log(gw: SimpleNamespace, endpoint: Endpoint, pids: Path) -> None:
    async def main() -> None:
        client = await ensure(gw, endpoint, pids)
        lengthen_log(daemon_log.MAX_LOG_BYTES)
        await client.close()
        await stop_daemon(endpoint)
        assert daemon_log.log_file().with_name("gateway.log.1").stat().st_size > daemon_log.MAX_LOG_BYTES
        assert daemon_log.log_file().stat().st_size < 1000

    gw.run(main())
