"""Named pipes on an asyncio proactor loop. Invariants: a pipe made here lets in its owner alone and no remote client;
the end that a client opens never lets the server act in its name; no blocking call on the loop.

asyncio's own pipe server has no security descriptor and message mode, so of asyncio only `accept_pipe` and the duplex
transport are used. Both are private; a test under each Python pins them.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from ctypes import wintypes
from typing import Any, cast

from conpty import sddl, security

if sys.platform == "win32":
    from asyncio.windows_utils import PipeHandle

assert sys.platform == "win32"

PIPE_ACCESS_DUPLEX, FILE_FLAG_OVERLAPPED, FILE_FLAG_FIRST_PIPE_INSTANCE = 0x3, 0x40000000, 0x80000
PIPE_TYPE_BYTE, PIPE_REJECT_REMOTE_CLIENTS = 0x0, 0x8
PIPE_UNLIMITED_INSTANCES = 255
BUFFER_BYTES = 64 * 1024
GENERIC_READ, GENERIC_WRITE = 0x80000000, 0x40000000
OPEN_EXISTING = 3
SECURITY_SQOS_PRESENT, SECURITY_IDENTIFICATION = 0x100000, 0x10000
ERROR_PIPE_BUSY = 231

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_DWORD = ctypes.POINTER(wintypes.DWORD)
_SECURITY = ctypes.POINTER(security.SecurityAttributes)
_kernel32.CreateNamedPipeW.restype = wintypes.HANDLE
_kernel32.CreateNamedPipeW.argtypes = [wintypes.LPCWSTR, *[wintypes.DWORD] * 6, _SECURITY]
_kernel32.CreateFileW.restype = wintypes.HANDLE
_kernel32.CreateFileW.argtypes = [
    wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD, _SECURITY, wintypes.DWORD, wintypes.DWORD, wintypes.HANDLE
]  # fmt: skip
for _name in ("GetNamedPipeClientProcessId", "GetNamedPipeServerProcessId"):
    getattr(_kernel32, _name).restype = wintypes.BOOL
    getattr(_kernel32, _name).argtypes = [wintypes.HANDLE, _DWORD]


def user_sid() -> str:
    """The SID of the user that we run as. Raises OSError."""
    return security.current_sid()


def is_elevated() -> bool:
    """Whether we run as administrator beside an ordinary half of the same user. Raises OSError."""
    return security.is_elevated()


def create(name: str, *, first: bool) -> PipeHandle:
    """A server's end that nobody is connected to. `first`: refuse when the name is in use already.

    Raises:
        PermissionError: with `first`, somebody owns the name.
        OSError: any other reason.
    """
    flags = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (FILE_FLAG_FIRST_PIPE_INSTANCE if first else 0)
    mode = PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS
    with security.attributes(sddl.owner_only(user_sid())) as owner_only:
        handle = _kernel32.CreateNamedPipeW(
            name, flags, mode, PIPE_UNLIMITED_INSTANCES, BUFFER_BYTES, BUFFER_BYTES, 0, ctypes.byref(owner_only)
        )
    if handle == security.INVALID_HANDLE:
        raise security.last_error(name)
    return PipeHandle(handle)


def connect(name: str) -> PipeHandle:
    """A client's end, at once. The server may ask who we are, not act in our name.

    Raises:
        FileNotFoundError: there is no such pipe.
        OSError: `winerror` ERROR_PIPE_BUSY while no server's end is free.
    """
    flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION
    handle = _kernel32.CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, None, OPEN_EXISTING, flags, None)
    if handle == security.INVALID_HANDLE:
        raise security.last_error(name)
    return PipeHandle(handle)


def client_sid(pipe: PipeHandle) -> str:
    """The user of the process that connected to this server's end. Raises OSError."""
    return security.process_sid(_process(_kernel32.GetNamedPipeClientProcessId, pipe))


def server_sid(pipe: PipeHandle) -> str:
    """The user of the process that made the pipe which this client's end is connected to. Raises OSError."""
    return security.process_sid(_process(_kernel32.GetNamedPipeServerProcessId, pipe))


async def accept(pipe: PipeHandle) -> None:
    """Wait for a client. Raises OSError: this one came and went."""
    loop = cast(Any, asyncio.get_running_loop())
    await loop._proactor.accept_pipe(pipe)


async def attach(pipe: PipeHandle, protocol: asyncio.BaseProtocol) -> asyncio.BaseTransport:
    """A transport that owns `pipe`; `protocol` has been told of it when this returns."""
    loop = cast(Any, asyncio.get_running_loop())
    told = loop.create_future()
    transport: asyncio.BaseTransport = loop._make_duplex_pipe_transport(pipe, protocol, waiter=told)
    try:
        await told
    except BaseException:
        transport.close()
        raise
    return transport


def _process(function: Any, pipe: PipeHandle) -> int:
    pid = wintypes.DWORD()
    if not function(pipe.handle, ctypes.byref(pid)):
        raise security.last_error()
    return int(pid.value)
