"""Named pipes, with the function names of `unix.py`. Invariants: no byte passes to or from another user; whoever owns
the name before us is never joined, and nothing else than a pipe is ever used in its place.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from neocode import paths
from neocode.errors import ConfigError
from neocode.gateway.transport.pipe_name import full_address, user_address
from neocode.gateway.transport.windows_lock import Lock, acquire_lock, lock_holder

__all__ = [
    "Listener",
    "Lock",
    "acquire_lock",
    "connect",
    "default_address",
    "fit_address",
    "listen",
    "lock_holder",
    "peer_is_ours",
    "prepare",
]

ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)

ERROR_PIPE_BUSY = 231
FREE_ENDS = 8  # that wait for clients; more clients at once find it busy and come again
RETRY_SEC = 0.01  # a free end is there again within one turn of the server's loop
RECOVER_SEC = 0.5  # between attempts to make an end when the system has no room
TAKE_OVER_SEC = 2.0  # clients of a gateway that just died hold its name until they notice


class Pipes(Protocol):
    """What `conpty.pipe_api` does; tests bring their own."""

    def user_sid(self) -> str: ...
    def is_elevated(self) -> bool: ...
    def create(self, name: str, *, first: bool) -> Any: ...
    def connect(self, name: str) -> Any: ...
    def client_sid(self, pipe: Any) -> str: ...
    def server_sid(self, pipe: Any) -> str: ...
    async def accept(self, pipe: Any) -> None: ...
    async def attach(self, pipe: Any, protocol: asyncio.BaseProtocol) -> asyncio.BaseTransport: ...


if sys.platform == "win32":

    def _pipes() -> Pipes:
        """The system's, loaded when the first pipe is needed."""
        from conpty import pipe_api

        return pipe_api

else:

    def _pipes() -> Pipes:
        raise ConfigError("this system has no named pipes", "use a socket")


def default_address() -> str:
    """`\\\\.\\pipe\\neocode-gateway-<16 hex>`; see `pipe_name.user_address`. Raises OSError."""
    pipes = _pipes()
    return user_address(pipes.user_sid(), elevated=pipes.is_elevated(), home=os.environ.get(paths.HOME_ENV, ""))


def fit_address(address: str) -> tuple[str, str]:
    """The pipe's full name, and nothing to tell the user. Raises ConfigError when it cannot be a pipe of ours."""
    return full_address(address), ""


def prepare(address: str) -> None:
    """Make the directory of the locks; a pipe has none. Raises ConfigError."""
    paths.ensure_private_dir(paths.run_dir())


async def connect(
    address: str, factory: Callable[[], ProtocolT], timeout: float
) -> tuple[asyncio.BaseTransport, ProtocolT]:
    """Connect within `timeout` seconds to a server of the same user.

    Raises:
        FileNotFoundError, ConnectionRefusedError: nobody listens.
        TimeoutError: no end of the pipe came free.
        ConfigError: the pipe is another user's, or may not be used.
    """
    pipes = _pipes()
    pipe = await _open(pipes, address, timeout)
    try:
        _require_our_server(pipes, pipe, address)
        protocol = factory()
        return await pipes.attach(pipe, protocol), protocol
    except BaseException:
        pipe.close()
        raise


async def _open(pipes: Pipes, address: str, timeout: float) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return pipes.connect(address)
        except FileNotFoundError:
            raise
        except OSError as error:
            if getattr(error, "winerror", 0) != ERROR_PIPE_BUSY:
                raise ConfigError(
                    f"cannot connect to {address}: {error.strerror}", "it may be another user's; see neocode doctor"
                ) from error
        if time.monotonic() >= deadline:
            raise TimeoutError(errno.ETIMEDOUT, f"the gateway at {address} accepts nobody")
        await asyncio.sleep(RETRY_SEC)


def _require_our_server(pipes: Pipes, pipe: Any, address: str) -> None:
    """Before a byte is sent: whoever made the pipe runs as our user."""
    try:
        sid = pipes.server_sid(pipe)
    except PermissionError as error:
        raise ConfigError(
            f"cannot tell whose the gateway at {address} is: {error.strerror}", "name another with --gateway"
        ) from error
    except OSError as error:  # its process is gone, and the pipe will be
        raise ConnectionRefusedError(errno.ECONNREFUSED, f"the gateway at {address} has ended") from error
    if sid != pipes.user_sid():
        raise ConfigError(f"the gateway at {address} belongs to another user", "name another with --gateway")


class Listener:
    """A listening pipe of ours; `close` stops accepting. Connections that were accepted live on."""

    def __init__(self, address: str, pipes: Pipes, factory: Callable[[], asyncio.BaseProtocol], first: Any) -> None:
        self.address = address
        self._pipes = pipes
        self._factory = factory
        self._ends = {first}  # what waits for a client
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._accept(end)) for end in (first, *[None] * (FREE_ENDS - 1))]

    def is_reachable(self) -> bool:
        """Whether somebody still accepts; a pipe's name itself cannot be taken away."""
        return not all(task.done() for task in self._tasks)

    def close(self) -> None:
        """Idempotent. A task that never ran closes nothing, so the ends are closed here."""
        for task in self._tasks:
            task.cancel()
        for end in self._ends:
            end.close()
        self._ends.clear()

    async def _accept(self, end: Any | None) -> None:
        """Hand over one client after the other; the next end is there before this one is given away."""
        end = end or await self._new_end()
        while True:
            try:
                await self._pipes.accept(end)
            except OSError:  # came and went
                self._ends.discard(end)
                end.close()
                end = await self._new_end()
                continue
            client, end = end, await self._new_end()
            self._ends.discard(client)
            try:
                await self._pipes.attach(client, self._factory())
            except OSError:
                client.close()

    async def _new_end(self) -> Any:
        while True:
            try:
                end = self._pipes.create(self.address, first=False)
            except OSError:
                await asyncio.sleep(RECOVER_SEC)
            else:
                self._ends.add(end)
                return end


async def listen(address: str, factory: Callable[[], asyncio.BaseProtocol]) -> Listener:
    """Listen at `address`. Hold the lock (`acquire_lock`) while you do.

    Raises:
        ConfigError: the name is in use, or the pipe cannot be made.
    """
    prepare(address)
    pipes = _pipes()
    deadline = time.monotonic() + TAKE_OVER_SEC
    while True:
        try:
            return Listener(address, pipes, factory, pipes.create(address, first=True))
        except PermissionError as error:
            if time.monotonic() >= deadline:
                raise ConfigError(
                    f"another program listens at {address}", "stop it, or name another pipe with --gateway"
                ) from error
        except OSError as error:
            raise ConfigError(f"cannot make the pipe {address}: {error.strerror}", "name another pipe") from error
        await asyncio.sleep(RETRY_SEC)


def peer_is_ours(transport: asyncio.BaseTransport) -> bool:
    """True when the process at the other end runs as our user."""
    pipe = transport.get_extra_info("pipe")
    pipes = _pipes()
    try:
        return pipe is not None and pipes.client_sid(pipe) == pipes.user_sid()
    except OSError:
        return False
