"""Named pipes, with the function names of `unix.py`. Invariant: nothing here pretends to work before it does; each
entry point that would need a pipe says so in one line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn, TypeVar

from neocode.errors import GatewayUnreachable

ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)


def _unavailable() -> NoReturn:
    raise GatewayUnreachable(
        "named pipes are not available yet on Windows", "run it inside WSL until a later version brings them"
    )


def default_address() -> str:
    """`\\\\.\\pipe\\neocode-gateway-<16 hex of sha256(user SID)>`."""
    _unavailable()


def fit_address(address: str) -> tuple[str, str]:
    """The pipe's full name, and a line for the user when it is another than the one asked for."""
    return address, ""


def prepare(address: str) -> None:
    """A pipe has no directory."""


async def connect(
    address: str, factory: Callable[[], ProtocolT], timeout: float
) -> tuple[asyncio.BaseTransport, ProtocolT]:
    """Connect within `timeout` seconds to a server of the same user."""
    _unavailable()


class Listener:
    """A listening pipe of ours."""

    def __init__(self, address: str) -> None:
        self.address = address

    def is_reachable(self) -> bool:
        """Whether the address still leads here; a pipe's name cannot be taken away."""
        return True

    def close(self) -> None:
        """Stop accepting."""


async def listen(address: str, factory: Callable[[], asyncio.BaseProtocol]) -> Listener:
    """Listen at `address`."""
    _unavailable()


def peer_is_ours(transport: asyncio.BaseTransport) -> bool:
    """True when the process at the other end runs as our user."""
    return False


class Lock:
    """An advisory lock that lives as long as this process holds it."""

    def is_valid(self) -> bool:
        """Whether the next process that wants the lock still meets ours."""
        return True

    def release(self) -> None:
        """Give it up."""


def acquire_lock(address: str, suffix: str = ".lock") -> Lock | None:
    """Take the lock that belongs to `address` without waiting; None when another process holds it."""
    _unavailable()


def lock_holder(address: str) -> int | None:
    """The pid of the process that holds the daemon's lock at `address`; None when nobody does."""
    return None
