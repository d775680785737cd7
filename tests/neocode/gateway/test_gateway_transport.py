"""Sockets, locks and the token file: modes, owners, and what is refused in one line."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from neocode.errors import ConfigError, NeocodeError
from neocode.gateway import transport
from neocode.gateway.auth import TokenMissing, load_or_create_token, read_token, tokens_equal, wait_for_token
from neocode.gateway.endpoint import Endpoint, resolve_endpoint
from neocode.gateway.transport import unix, windows

OTHER_UID = 12345


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def exists(path: str) -> bool:
    return os.path.lexists(path)


async def listen(address: str) -> transport.Listener:
    return await transport.listen(address, asyncio.Protocol)


def test_the_default_address_lies_in_a_private_directory_and_the_socket_is_private(
    gw: SimpleNamespace, endpoint: Endpoint, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        modes: list[int] = []
        bind = socket.socket.bind

        def watched(self: socket.socket, address: str) -> None:
            bind(self, address)
            modes.append(mode(address))

        monkeypatch.setattr(socket.socket, "bind", watched)
        previous = os.umask(0)
        try:
            listener = await listen(endpoint.address)
        finally:
            assert os.umask(previous) == 0
        assert endpoint.address == str(home / "n" / "run" / "gateway.sock")
        assert modes == [0o600]
        assert mode(endpoint.address) == 0o600
        assert mode(home / "n" / "run") == 0o700
        listener.close()
        assert not exists(endpoint.address)

    gw.run(main())


def test_a_stale_socket_is_replaced_and_a_live_one_never(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        transport.prepare(endpoint.address)
        stale = socket.socket(socket.AF_UNIX)
        stale.bind(endpoint.address)
        stale.close()
        listener = await listen(endpoint.address)
        inode = os.lstat(endpoint.address).st_ino
        with pytest.raises(ConfigError, match="another program listens"):
            await listen(endpoint.address)
        assert os.lstat(endpoint.address).st_ino == inode
        listener.close()

    gw.run(main())


def test_a_live_socket_with_a_full_backlog_is_live(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        transport.prepare(endpoint.address)
        with socket.socket(socket.AF_UNIX) as busy:
            busy.bind(endpoint.address)
            busy.listen(0)
            waiting = []
            for _ in range(3):
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                client.connect_ex(endpoint.address)
                waiting.append(client)
            with pytest.raises(ConfigError, match="another program listens"):
                await listen(endpoint.address)
            with pytest.raises(TimeoutError):
                await transport.connect(endpoint.address, asyncio.Protocol, 0.1)
            for client in waiting:
                client.close()

    gw.run(main())


def test_on_exit_only_our_own_socket_is_removed(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        listener = await listen(endpoint.address)
        os.unlink(endpoint.address)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(endpoint.address)
            listener.close()
            assert exists(endpoint.address)

    gw.run(main())


def test_what_is_no_socket_is_left_alone(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    transport.prepare(endpoint.address)
    Path(endpoint.address).write_text("mine")

    async def main() -> None:
        with pytest.raises(ConfigError, match="is not a socket"):
            await listen(endpoint.address)

    gw.run(main())
    assert Path(endpoint.address).read_text() == "mine"


def test_a_socket_of_another_user_gets_no_byte(
    gw: SimpleNamespace, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        received: list[bytes] = []

        class Thief(asyncio.Protocol):
            def data_received(self, data: bytes) -> None:
                received.append(data)

            def connection_lost(self, exc: Exception | None) -> None:
                received.append(b"closed")

        listener = await transport.listen(endpoint.address, Thief)
        monkeypatch.setattr(unix, "_peer_uid", lambda sock: OTHER_UID)
        with pytest.raises(ConfigError, match="belongs to another user"):
            await transport.connect(endpoint.address, asyncio.Protocol, 1.0)
        await gw.until(lambda: received)
        assert received == [b"closed"]
        listener.close()

    gw.run(main())


def test_the_peers_uid_is_read_from_the_kernel(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    left, right = socket.socketpair()
    with left, right:
        assert unix._peer_uid(left) == os.geteuid()


def test_a_path_that_is_too_long_moves_to_the_runtime_directory_and_says_so(
    gw: SimpleNamespace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEOCODE_HOME", str(home / ("d" * 100)))
    with pytest.raises(ConfigError, match="bytes long"):
        resolve_endpoint()
    runtime = home / "x"
    runtime.mkdir(mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    endpoint = resolve_endpoint()
    assert endpoint.address.startswith(str(runtime))
    assert endpoint.address in endpoint.note
    assert resolve_endpoint() == endpoint

    async def main() -> None:
        listener = await listen(endpoint.address)
        assert mode(Path(endpoint.address).parent) == 0o700
        listener.close()

    gw.run(main())


@pytest.mark.parametrize(("length", "fits"), [(107, True), (108, False)])
@pytest.mark.skipif(sys.platform != "linux", reason="the length is Linux's")
def test_the_longest_path_that_fits_is_used_as_it_is(gw: SimpleNamespace, home: Path, length: int, fits: bool) -> None:
    path = str(home) + "/" + "s" * (length - len(str(home)) - 1)
    if not fits:
        with pytest.raises(ConfigError):
            transport.fit_address(path)
        return
    assert transport.fit_address(path) == (path, "")

    async def main() -> None:
        (await listen(path)).close()

    gw.run(main())


def test_flag_then_environment_then_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    default = resolve_endpoint()
    assert (default.address, default.token_file) == (
        str(home / "n" / "run" / "gateway.sock"),
        home / "n" / "auth.json",
    )
    monkeypatch.setenv("NEOCODE_GATEWAY", str(home / "env.sock"))
    assert resolve_endpoint().address == str(home / "env.sock")
    monkeypatch.chdir(home)
    chosen = resolve_endpoint("flag.sock", "t.json")
    assert (chosen.address, chosen.token_file) == (os.path.join(os.getcwd(), "flag.sock"), Path.cwd() / "t.json")


def test_a_named_directory_is_judged_and_never_changed(home: Path) -> None:
    open_to_all = home / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(ConfigError, match="written to by other users"):
        transport.prepare(str(open_to_all / "g.sock"))
    assert mode(open_to_all) == 0o777
    readable = home / "readable"
    readable.mkdir(mode=0o755)
    transport.prepare(str(readable / "g.sock"))
    assert mode(readable) == 0o755
    transport.prepare(str(home / "made" / "g.sock"))
    assert mode(home / "made") == 0o700
    (home / "file").write_text("")
    with pytest.raises(ConfigError, match="not a directory"):
        transport.prepare(str(home / "file" / "g.sock"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = home / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, OTHER_UID, OTHER_UID)
    with pytest.raises(ConfigError, match="belongs to another user"):
        transport.prepare(str(theirs / "g.sock"))
    monkeypatch.setenv("NEOCODE_HOME", str(theirs))
    with pytest.raises(ConfigError, match="belongs to another user"):
        asyncio.run(load_or_create_token(theirs / "auth.json"))


def test_home_unset_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEOCODE_HOME", raising=False)
    monkeypatch.delenv("NEOCODE_GATEWAY", raising=False)
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(ConfigError) as error:
        resolve_endpoint()
    assert "\n" not in error.value.one_line()


def test_one_process_holds_the_lock_and_its_pid_is_known(endpoint: Endpoint) -> None:
    transport.prepare(endpoint.address)
    assert transport.lock_holder(endpoint.address) is None
    lock = transport.acquire_lock(endpoint.address)
    assert lock is not None
    assert mode(endpoint.address + ".lock") == 0o600
    assert transport.acquire_lock(endpoint.address) is None
    assert transport.lock_holder(endpoint.address) == os.getpid()
    lock.release()
    assert transport.lock_holder(endpoint.address) is None
    again = transport.acquire_lock(endpoint.address)
    assert again is not None
    again.release()


def test_the_token_file_is_as_the_protocol_draws_it(endpoint: Endpoint) -> None:
    async def main() -> None:
        token = await load_or_create_token(endpoint.token_file)
        content = json.loads(endpoint.token_file.read_text())
        assert list(content) == ["version", "token", "created_at", "updated_at"]
        assert (content["version"], content["token"], len(token)) == (1, token, 43)
        assert content["created_at"] == content["updated_at"]
        assert content["created_at"].endswith("Z")
        assert mode(endpoint.token_file) == 0o600
        assert mode(endpoint.token_file.parent) == 0o700
        assert [path.name for path in endpoint.token_file.parent.iterdir() if path.name.startswith(".")] == []
        assert await load_or_create_token(endpoint.token_file) == token
        others = await asyncio.gather(*(load_or_create_token(endpoint.token_file) for _ in range(5)))
        assert set(others) == {token}

    asyncio.run(main())


def test_a_client_waits_for_a_token_that_is_being_made(endpoint: Endpoint) -> None:
    async def main() -> None:
        waiting = asyncio.ensure_future(wait_for_token(endpoint.token_file, 10))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert await load_or_create_token(endpoint.token_file) == await waiting
        with pytest.raises(TokenMissing, match="missing"):
            await wait_for_token(endpoint.token_file.with_name("none"), 0.05)

    asyncio.run(main())


def test_a_token_file_that_is_not_safe_or_no_token_file_is_refused_in_one_line(endpoint: Endpoint) -> None:
    path = endpoint.token_file
    asyncio.run(load_or_create_token(path))
    good = path.read_text()
    real = path.with_name("real")

    def refusal() -> str:
        with pytest.raises(ConfigError) as error:
            read_token(path)
        with pytest.raises(ConfigError):
            asyncio.run(load_or_create_token(path))
        assert "\n" not in error.value.one_line()
        assert json.loads(good)["token"] not in error.value.one_line()
        return error.value.one_line()

    path.rename(real)
    path.symlink_to(real)
    assert "is a symlink" in refusal()
    path.unlink()
    os.link(real, path)
    assert "more than one hard link" in refusal()
    path.unlink()
    path.mkdir()
    assert "not a regular file" in refusal()
    path.rmdir()
    os.mkfifo(path, 0o600)
    assert "not a regular file" in refusal()
    path.unlink()
    path.write_text(good)
    path.chmod(0o640)
    assert "open to other users" in refusal()
    path.chmod(0o600)
    for bad in ("", "{}", "not json", good.replace('"version":1', '"version":2'), good[:-20], "\udcff"):
        path.write_bytes(bad.encode("utf-8", "surrogateescape"))
        assert "not a gateway token file" in refusal()
    path.write_text(good)
    assert read_token(path) == json.loads(good)["token"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_file_of_another_user_is_refused(endpoint: Endpoint) -> None:
    asyncio.run(load_or_create_token(endpoint.token_file))
    os.chown(endpoint.token_file, OTHER_UID, OTHER_UID)
    with pytest.raises(ConfigError, match="belongs to another user"):
        read_token(endpoint.token_file)


def test_a_disk_that_takes_no_token_leaves_no_half_of_one(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="no space left"):
        asyncio.run(load_or_create_token(endpoint.token_file))
    assert [path.name for path in endpoint.token_file.parent.iterdir()] == ["auth.json.lock"]


def test_tokens_are_compared_whatever_they_hold() -> None:
    assert tokens_equal("a" * 43, "a" * 43)
    assert not tokens_equal("a" * 42, "a" * 43)
    assert not tokens_equal("é\ud800", "a" * 43)


def test_windows_has_the_same_functions_and_names_what_is_missing_elsewhere() -> None:
    assert {name for name in transport.__all__ if not hasattr(windows, name)} == set()
    with pytest.raises(NeocodeError, match="no named pipes"):
        windows.default_address()
    with pytest.raises(NeocodeError, match="no named pipes"):
        asyncio.run(windows.connect("x", asyncio.Protocol, 1.0))
