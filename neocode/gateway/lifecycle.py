"""Finding, starting, replacing and stopping the one daemon, seen from a client.

Invariants: ten clients that find no daemon start one; a busy daemon is never replaced; a daemon that fails to start
is reported with its own last words.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import neocode
from neocode import __version__
from neocode.errors import GatewayUnreachable, NeocodeError
from neocode.gateway import transport
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.daemon_log import StartOutput
from neocode.gateway.detach import start_detached
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.protocol import RpcError
from neocode.gateway.wire import GatewayBroke

READY_SEC = 20.0 if sys.platform == "win32" else 5.0
STOP_SEC = 5.0
POLL_SEC = 0.02
ENDING_SEC = 1.0  # a daemon that is just ending may still accept, and closes
STARTING_SUFFIX = ".starting"  # the lock of the one client that starts a daemon


def daemon_argv(endpoint: Endpoint) -> list[str]:
    """The command that serves `endpoint`: the same interpreter, the same address and token file."""
    command = [sys.executable, "-I", "-m", "neocode", "gateway", "run"]
    return [*command, "--listen", endpoint.address, "--token-file", str(endpoint.token_file)]


async def ensure_daemon(
    endpoint: Endpoint,
    *,
    start: bool = True,
    argv: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    ready_sec: float = READY_SEC,
    version: str = __version__,
) -> GatewayClient:
    """An authenticated connection to the gateway, which is started when there is none and `start` is true.

    `argv` replaces `daemon_argv(endpoint)`; `environ` is the daemon's environment (default: ours). A daemon older
    than `version` is replaced when it is idle; a busy one is used, and named in the client's `notes`.

    Raises:
        GatewayUnreachable: none runs and none could be started; the line quotes the daemon's last one.
        ConfigError, RpcError: as `GatewayClient.open`.
    """
    command = list(argv) if argv is not None else daemon_argv(endpoint)
    env = _daemon_environment(os.environ if environ is None else environ)
    try:
        client = await _open(endpoint)
    except GatewayAbsent:
        if not start:
            raise
        client = await _start(endpoint, command, env, ready_sec)
    if start and _parts(client.server_version) < _parts(version):
        client = await _replace(client, endpoint, command, env, ready_sec, version)
    if endpoint.note:
        client.notes.append(endpoint.note)
    return client


async def stop_daemon(endpoint: Endpoint, *, timeout: float = STOP_SEC) -> bool:
    """Stop the gateway at `endpoint` and wait for its end; False when none runs.

    One that cannot be talked to (other token, hung) gets SIGTERM, and SIGKILL after `timeout` seconds.

    Raises:
        GatewayUnreachable: it could not be stopped.
    """
    try:
        async with await GatewayClient.open(endpoint) as client:
            await client.call("gateway.shutdown", {})
            await asyncio.wait_for(client.wait_closed(), timeout)
    except GatewayAbsent:
        if transport.lock_holder(endpoint.address) is None:
            return False
    except (NeocodeError, asyncio.TimeoutError):
        pass
    for number in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if number is not None:
            _signal_holder(endpoint.address, number)
        if await _unlocked(endpoint.address, timeout):
            return True
    raise GatewayUnreachable(f"the gateway at {endpoint.address} does not stop", "end its process")


def _signal_holder(address: str, number: int) -> None:
    pid = transport.lock_holder(address)
    if pid is not None and pid > 1:
        try:
            os.kill(pid, number)
        except OSError as error:
            raise GatewayUnreachable(
                f"cannot stop the gateway (pid {pid}): {error.strerror}", "end its process"
            ) from error


async def _unlocked(address: str, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while transport.lock_holder(address) is not None:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(POLL_SEC)
    return True


async def _start(endpoint: Endpoint, command: list[str], environ: dict[str, str], ready_sec: float) -> GatewayClient:
    transport.prepare(endpoint.address)
    deadline = time.monotonic() + ready_sec
    while True:
        lock = transport.acquire_lock(endpoint.address, STARTING_SUFFIX)
        if lock is not None:
            break
        client = await _try_open(endpoint)
        if client is not None:
            return client
        if time.monotonic() >= deadline:
            raise GatewayUnreachable(f"another program has been starting the gateway for {ready_sec:g} s", "try again")
        await asyncio.sleep(POLL_SEC)
    try:
        return await _try_open(endpoint) or await _spawn(endpoint, command, environ, ready_sec)
    finally:
        lock.release()


async def _open(endpoint: Endpoint) -> GatewayClient:
    """`GatewayClient.open`, again for a moment when it is closed at once: then a daemon is ending."""
    deadline = time.monotonic() + ENDING_SEC
    while True:
        try:
            return await GatewayClient.open(endpoint)
        except GatewayBroke:
            if time.monotonic() >= deadline:
                raise GatewayUnreachable(
                    f"the gateway at {endpoint.address} closes every connection", "it may serve 128 clients already"
                ) from None
        await asyncio.sleep(POLL_SEC)


async def _try_open(endpoint: Endpoint) -> GatewayClient | None:
    try:
        return await GatewayClient.open(endpoint)
    except (GatewayAbsent, GatewayBroke):
        return None


async def _spawn(endpoint: Endpoint, command: list[str], environ: dict[str, str], ready_sec: float) -> GatewayClient:
    with StartOutput() as output:
        try:
            process = start_detached(command, output.fd, environ)
        except OSError as error:
            raise GatewayUnreachable(
                f"cannot start {command[0]}: {error.strerror}", "check the installation"
            ) from error
        deadline = time.monotonic() + ready_sec
        while True:
            client = await _try_open(endpoint)
            if client is not None:
                return client
            if process.returncode:  # 0: another daemon was first, it will accept soon
                words = output.last_line()  # with what to do, when it is an error of ours
                hint = "" if words else "neocode gateway run may show more"
                raise GatewayUnreachable(
                    f"the gateway did not start: {words or f'it ended with code {process.returncode}'}", hint
                )
            if time.monotonic() >= deadline:
                words = output.last_line()
                said = f": {words}" if words else ""
                raise GatewayUnreachable(f"the gateway was not ready within {ready_sec:g} s{said}", "try again")
            await asyncio.sleep(POLL_SEC)


async def _replace(
    old: GatewayClient,
    endpoint: Endpoint,
    command: list[str],
    environ: dict[str, str],
    ready_sec: float,
    version: str,
) -> GatewayClient:
    """A newer daemon instead of an idle older one; a busy one stays."""
    try:
        status = await old.call("gateway.status", {})
        idle = status.get("connections") == 1 and not status.get("asks")
        if idle:
            await old.call("gateway.shutdown", {})
            await asyncio.wait_for(old.wait_closed(), STOP_SEC)
    except (RpcError, asyncio.TimeoutError):
        idle = False
    if not idle:
        old.notes.append(
            f"the running gateway is version {old.server_version}, older than {version}, and busy: it is used as it is "
            "(neocode gateway restart replaces it)"
        )
        return old
    await old.close()
    return await _start(endpoint, command, environ, ready_sec)


def _parts(version: str) -> tuple[int, ...]:
    """`1.2.3.dev4` as (1, 2, 3); what is no version is older than everything."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _daemon_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The starter's environment; a checkout that is not installed stays importable although the daemon runs in `/`."""
    env = dict(environ)
    root = str(Path(neocode.__file__).resolve().parent.parent)
    if os.path.basename(root) not in ("site-packages", "dist-packages"):
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [root, env.get("PYTHONPATH", "")]))
    return env
