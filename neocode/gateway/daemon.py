"""The gateway process from its lock to its last flush. Invariants: the lock is held for life; the socket exists only
while somebody will answer on it; the exit code is 0 unless nothing could be started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from neocode import __version__
from neocode.ask.types import AskPort
from neocode.errors import EXIT_OK, ConfigError
from neocode.gateway import transport
from neocode.gateway.auth import load_or_create_token
from neocode.gateway.daemon_log import configure_logging
from neocode.gateway.limits import Limits
from neocode.gateway.server import GatewayServer

_log = logging.getLogger(__name__)

IDLE_SEC = 300.0
LOCK_WAIT_SEC = 5.0  # a predecessor that no longer accepts flushes for 2 s
POLL_SEC = 0.05
WATCH_SEC = 1.0  # between looks at our own socket; a starting client waits 5 s for it

MakeAsk = Callable[[], Awaitable[AskPort]]


async def run_daemon(
    address: str,
    token_file: Path,
    make_ask: MakeAsk,
    *,
    idle_timeout_sec: float = IDLE_SEC,
    limits: Limits | None = None,
    version: str = __version__,
) -> int:
    """Serve at `address` until SIGTERM, SIGINT, `gateway.shutdown` or `idle_timeout_sec` without a client (0: never).

    Returns 0, also when another gateway already serves there.

    Raises:
        ConfigError: the directory, lock, socket or token file cannot be used.
    """
    configure_logging()
    stop = asyncio.Event()
    with _signals(stop):
        transport.prepare(address)
        lock = await _take_lock(address)
        if lock is None:
            _log.info("a gateway is already running at %s (pid %s)", address, transport.lock_holder(address))
            return EXIT_OK
        try:
            return await _serve(address, token_file, make_ask, stop, lock, idle_timeout_sec, limits, version)
        finally:
            lock.release()


async def _serve(
    address: str,
    token_file: Path,
    make_ask: MakeAsk,
    stop: asyncio.Event,
    lock: transport.Lock,
    idle_timeout_sec: float,
    limits: Limits | None,
    version: str,
) -> int:
    token = await load_or_create_token(token_file)
    ask = await make_ask()
    server: GatewayServer | None = None
    try:
        server = GatewayServer(ask, token, address=address, limits=limits, version=version)
        listener = await transport.listen(address, server.connection)
        _log.info("gateway %s listens at %s", version, address)
        listening = asyncio.ensure_future(_keep_listening(listener, server, lock))
        try:
            reason = await _wait_for_end(server, stop, listening, idle_timeout_sec)
        finally:
            listening.cancel()
            await asyncio.wait([listening])
        _log.info("gateway stops: %s", reason)
    finally:
        if server is None:
            await ask.aclose()
        else:
            await server.shutdown()
    return EXIT_OK


async def _take_lock(address: str) -> transport.Lock | None:
    """None when another gateway serves; a predecessor that is just ending is waited for."""
    deadline = time.monotonic() + LOCK_WAIT_SEC
    while True:
        lock = transport.acquire_lock(address)
        if lock is not None:
            return lock
        if time.monotonic() >= deadline or await _accepts(address):
            return None
        await asyncio.sleep(POLL_SEC)


async def _accepts(address: str) -> bool:
    try:
        probe, _ = await transport.connect(address, asyncio.Protocol, POLL_SEC)
    except OSError:
        return False
    probe.close()
    return True


async def _keep_listening(listener: transport.Listener, server: GatewayServer, lock: transport.Lock) -> None:
    """Listen until cancelled, again when the socket was removed from under us. Ends when that cannot be: our lock was
    removed too, so that another gateway may serve here, or the directory cannot be used."""
    try:
        while True:
            await asyncio.sleep(WATCH_SEC)
            if listener.is_reachable():
                continue
            listener.close()
            if not lock.is_valid():
                return
            try:
                listener = await transport.listen(listener.address, server.connection)
            except ConfigError as error:
                _log.error("%s", error.message)
                return
            _log.info("the socket was removed; gateway listens at %s again", listener.address)
    finally:
        listener.close()


async def _wait_for_end(
    server: GatewayServer, stop: asyncio.Event, listening: asyncio.Future[None], idle_timeout_sec: float
) -> str:
    """Why the gateway is to end."""
    ends: dict[asyncio.Future[Any], str] = {
        asyncio.ensure_future(stop.wait()): "signal",
        asyncio.ensure_future(server.stop_requested.wait()): "shutdown requested",
        listening: "its socket was removed",
    }
    try:
        while True:
            await asyncio.wait(ends, timeout=_idle_left(server, idle_timeout_sec), return_when=asyncio.FIRST_COMPLETED)
            for task, reason in ends.items():
                if task.done():
                    return reason
            since = server.idle_since
            if idle_timeout_sec > 0 and since is not None and time.monotonic() - since >= idle_timeout_sec:
                return f"idle for {idle_timeout_sec:g} s"
    finally:
        for task in ends:
            task.cancel()


def _idle_left(server: GatewayServer, idle_timeout_sec: float) -> float | None:
    """Seconds until idleness has to be looked at again."""
    if idle_timeout_sec <= 0:
        return None
    idle_since = server.idle_since
    idle = 0.0 if idle_since is None else time.monotonic() - idle_since
    return max(0.01, idle_timeout_sec - idle)


if sys.platform == "win32":

    @contextlib.contextmanager
    def _signals(stop: asyncio.Event) -> Iterator[None]:
        """Ctrl-Break and Ctrl-C end the daemon; proactor loops have no add_signal_handler."""
        loop = asyncio.get_running_loop()

        def on_signal(number: int, frame: object) -> None:
            loop.call_soon_threadsafe(stop.set)

        kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
        previous = {kind: signal.signal(kind, on_signal) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in previous.items():
                signal.signal(kind, handler)

else:

    @contextlib.contextmanager
    def _signals(stop: asyncio.Event) -> Iterator[None]:
        """SIGTERM and SIGINT end the daemon; a closed terminal does not. The starter's signal mask is dropped."""
        loop = asyncio.get_running_loop()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        hangup = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        loop.add_signal_handler(signal.SIGINT, stop.set)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGTERM)
            loop.remove_signal_handler(signal.SIGINT)
            signal.signal(signal.SIGHUP, hangup)
