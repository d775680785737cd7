"""Unix sockets. Invariants: the socket is never wider than 0600, a live one is never unlinked, only the one we
made is removed, and no byte passes to or from another user.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from neocode import paths
from neocode.errors import ConfigError
from neocode.gateway.places import ensure_parent

assert sys.platform != "win32"  # for type checkers; transport/__init__.py chooses

ProtocolT = TypeVar("ProtocolT", bound=asyncio.BaseProtocol)

MAX_PATH_BYTES = 107 if sys.platform == "linux" else 103  # sun_path of unix(7) and unix(4), less its NUL
SOCKET_UMASK = 0o177
BACKLOG = 256  # clients that may wait while the loop is busy; more than the connections we allow
ACCEPT_BATCH = 16  # in one turn of the loop; more, from a peer that only comes and goes, would fill the 128 places
RETRY_SEC = 0.01  # a full backlog empties within one turn of the server's loop
LOCK_SUFFIX = ".lock"


def default_address() -> str:
    """`~/.neocode/run/gateway.sock`. Raises ConfigError when no home directory is known."""
    return str(paths.run_dir() / "gateway.sock")


def fit_address(address: str) -> tuple[str, str]:
    """An absolute path short enough for a socket, and a line for the user when it is another than the one asked for.

    Raises:
        ConfigError: it is too long and `$XDG_RUNTIME_DIR` does not help.
    """
    path = os.path.abspath(address)
    size = len(os.fsencode(path))
    if size <= MAX_PATH_BYTES:
        return path, ""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    short = os.path.join(runtime, f"neocode-{name}", "gateway.sock")
    if os.path.isabs(runtime) and len(os.fsencode(short)) <= MAX_PATH_BYTES:
        return short, f"the socket path is too long ({size} bytes), {short} is used instead"
    raise ConfigError(
        f"the socket path is {size} bytes long, the system takes {MAX_PATH_BYTES}: {path}",
        "set XDG_RUNTIME_DIR, or name a shorter one with --gateway",
    )


def prepare(address: str) -> None:
    """Make the socket's directory. Raises ConfigError when it is not fit for a socket."""
    path = Path(address)
    if path.parent.name.startswith("neocode-") and str(path.parent.parent) == os.environ.get("XDG_RUNTIME_DIR"):
        paths.ensure_private_dir(path.parent)
        return
    ensure_parent(path)


async def connect(
    address: str, factory: Callable[[], ProtocolT], timeout: float
) -> tuple[asyncio.BaseTransport, ProtocolT]:
    """Connect within `timeout` seconds to a server of the same user.

    Raises:
        FileNotFoundError, ConnectionRefusedError: nobody listens.
        TimeoutError: the server's backlog stayed full.
        ConfigError: the socket is another user's, or may not be used.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await _connect(sock, address, timeout)
        if _peer_uid(sock) != os.geteuid():
            raise ConfigError(f"the gateway at {address} belongs to another user", "name another with --gateway")
        return await asyncio.get_running_loop().create_unix_connection(factory, sock=sock)
    except BaseException:
        sock.close()
        raise


async def _connect(sock: socket.socket, address: str, timeout: float) -> None:
    """connect(2), again while the backlog is full: a non-blocking Unix socket then says EAGAIN, not EINPROGRESS."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            sock.connect(address)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(errno.ETIMEDOUT, f"the gateway at {address} accepts nobody") from None
            await asyncio.sleep(RETRY_SEC)
        except (FileNotFoundError, ConnectionRefusedError):
            raise
        except OSError as error:
            raise ConfigError(f"cannot connect to {address}: {error.strerror}", "check its owner and mode") from error
        else:
            return


class Listener:
    """A listening socket of ours; `close` stops accepting and removes the file if it is still this one."""

    def __init__(self, address: str, server: asyncio.AbstractServer, identity: tuple[int, int]) -> None:
        self.address = address
        self._server = server
        self._identity = identity

    def is_reachable(self) -> bool:
        """Whether the address still leads here; a clean-up of temporary files may have removed the socket."""
        try:
            return _identity(self.address) == self._identity
        except OSError:
            return False

    def close(self) -> None:
        """Idempotent."""
        with contextlib.suppress(OSError):
            if self.is_reachable():
                os.unlink(self.address)
        self._server.close()


async def listen(address: str, factory: Callable[[], asyncio.BaseProtocol]) -> Listener:
    """Listen at `address`, replacing a stale socket. Hold the lock (`acquire_lock`) while you do.

    Raises:
        ConfigError: someone accepts there already, another kind of file is there, or it cannot be made.
    """
    prepare(address)
    _remove_stale(address)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(SOCKET_UMASK)
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise ConfigError(f"cannot make the socket {address}: {error.strerror}", "name another path") from error
    finally:
        os.umask(previous)
    identity = _identity(address)
    sock.setblocking(False)
    server = await asyncio.get_running_loop().create_unix_server(factory, sock=sock, backlog=ACCEPT_BATCH)
    sock.listen(BACKLOG)  # asyncio has one number for both
    return Listener(address, server, identity)


def peer_is_ours(transport: asyncio.BaseTransport) -> bool:
    """True when the process at the other end runs as our user."""
    sock = transport.get_extra_info("socket")
    try:
        return sock is not None and _peer_uid(sock) == os.geteuid()
    except OSError:
        return False


class Lock:
    """An advisory lock that lives as long as this process holds it."""

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

    def is_valid(self) -> bool:
        """Whether the next process that wants the lock still meets ours; not after the file was removed."""
        try:
            return os.path.samestat(os.fstat(self._fd), os.lstat(self._path))
        except OSError:
            return False

    def release(self) -> None:
        """Give it up. The file stays: unlinking it would let two processes lock two files of one name."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def acquire_lock(address: str, suffix: str = LOCK_SUFFIX) -> Lock | None:
    """Take the lock beside `address` without waiting; None when another process holds it. Our pid goes into it.

    Raises:
        ConfigError: the lock file cannot be made.
    """
    path = address + suffix
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, paths.PRIVATE_FILE_MODE)
    except OSError as error:
        raise ConfigError(f"cannot make the lock {path}: {error.strerror}", "check its directory") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    with contextlib.suppress(OSError):  # a full disk costs the pid, not the lock
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return Lock(fd, path)


def lock_holder(address: str) -> int | None:
    """The pid of the process that holds the daemon's lock at `address`; None when nobody does."""
    try:
        fd = os.open(address + LOCK_SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.read(fd, 32).strip()
        return int(text) if text.isdigit() else None
    else:
        return None
    finally:
        os.close(fd)


def _identity(address: str) -> tuple[int, int]:
    info = os.lstat(address)
    return info.st_dev, info.st_ino


def _remove_stale(address: str) -> None:
    try:
        info = os.lstat(address)
    except OSError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        raise ConfigError(f"{address} is not a socket", "move it away, or name another path")
    if _accepts(address):
        raise ConfigError(f"another program listens at {address}", "stop it, or name another path")
    try:
        os.unlink(address)
    except OSError as error:
        raise ConfigError(f"cannot replace the stale socket {address}: {error.strerror}", "remove it") from error


def _accepts(address: str) -> bool:
    """True when a process listens there; a full backlog (EAGAIN) is a sign of life too."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
        return True


if sys.platform == "linux":

    def _peer_uid(sock: socket.socket) -> int:
        """SO_PEERCRED of unix(7): struct ucred {pid, uid, gid}."""
        credentials = struct.Struct("3i")
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size)
        return int(credentials.unpack(raw)[1])

else:

    def _peer_uid(sock: socket.socket) -> int:
        """LOCAL_PEERCRED of unix(4) on macOS and the BSDs: struct xucred {version, uid, ngroups, groups[16]}."""
        sol_local, local_peercred = 0, 1
        raw = sock.getsockopt(sol_local, local_peercred, 76)
        return int(struct.unpack_from("=II", raw)[1])
