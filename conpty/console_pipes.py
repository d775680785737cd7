"""The two pipes of a pseudo console. Our ends are overlapped, so that a read or a write can be told to stop; conhost's
are plain, as it needs them.

Invariants: a buffer that Windows may still write to lives in its `Overlapped` until Windows has let go of it; nobody
but us and the holder of `far_end` has the pipe open (one instance, no remote clients).
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import secrets
import sys
from ctypes import wintypes

if sys.platform == "win32":
    import _winapi  # what multiprocessing does its pipes with

assert sys.platform == "win32"

PIPE_BYTES = 64 * 1024  # how far the child may be ahead of us
PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND = 0x1, 0x2
FILE_FLAG_OVERLAPPED, FILE_FLAG_FIRST_PIPE_INSTANCE = 0x40000000, 0x80000
PIPE_REJECT_REMOTE_CLIENTS = 0x8  # with the zeros PIPE_TYPE_BYTE and PIPE_WAIT
GENERIC_READ, GENERIC_WRITE = 0x80000000, 0x40000000
OPEN_EXISTING = 3
INFINITE = 0xFFFFFFFF
LONGEST_WAIT_MS = INFINITE - 1

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.CreateEventW.argtypes = [ctypes.c_void_p, wintypes.BOOL, wintypes.BOOL, wintypes.LPCWSTR]
_kernel32.CreateEventW.restype = wintypes.HANDLE
_kernel32.SetEvent.argtypes = [wintypes.HANDLE]
_kernel32.SetEvent.restype = wintypes.BOOL


def create_event(manual_reset: bool) -> int:
    """An event that is not set. Raises OSError."""
    event: int | None = _kernel32.CreateEventW(None, manual_reset, False, None)
    if not event:
        raise ctypes.WinError(ctypes.get_last_error())
    return event


def open_pipe(our_access: int, their_access: int) -> tuple[int, int]:
    """A pipe of one direction: (our end, overlapped; the far end, plain). Raises OSError."""
    name = rf"\\.\pipe\neocode-conpty-{os.getpid()}-{secrets.token_hex(16)}"
    mode = our_access | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE
    ours = _winapi.CreateNamedPipe(name, mode, PIPE_REJECT_REMOTE_CLIENTS, 1, PIPE_BYTES, PIPE_BYTES, 0, 0)
    try:
        return ours, _winapi.CreateFile(name, their_access, 0, 0, OPEN_EXISTING, 0, 0)
    except BaseException:
        _winapi.CloseHandle(ours)
        raise


def open_with_event(manual_reset: bool, our_access: int, their_access: int) -> tuple[int, int, int]:
    """An event, and what `open_pipe` gives. Raises OSError, and then leaves nothing open."""
    event = create_event(manual_reset)
    try:
        return event, *open_pipe(our_access, their_access)
    except BaseException:
        _winapi.CloseHandle(event)
        raise


class OutputPipe:
    """What the console shows."""

    def __init__(self) -> None:
        self._wake, self._handle, self.far_end = open_with_event(False, PIPE_ACCESS_INBOUND, GENERIC_WRITE)
        self._pending: _winapi.Overlapped | None = None

    def read(self, timeout: float | None) -> bytes | None:
        """What has come; `b""` once the far end is closed; None after `timeout` seconds without any, or by `wake`."""
        try:
            if self._pending is None:
                self._pending, _ = _winapi.ReadFile(self._handle, PIPE_BYTES, overlapped=True)
            events = [self._pending.event, self._wake]
            if _winapi.WaitForMultipleObjects(events, False, milliseconds(timeout)) != _winapi.WAIT_OBJECT_0:
                return None  # what is under way stays so, for the next call
            operation, self._pending = self._pending, None
            operation.GetOverlappedResult(True)
        except OSError:  # ERROR_BROKEN_PIPE, and whatever else: nothing will come any more
            self._pending = None
            return b""
        return operation.getbuffer() or None

    def wake(self) -> None:
        """Make the `read` that waits, or else the next one, return None."""
        _kernel32.SetEvent(self._wake)

    def close(self) -> None:
        """Close our end and the event."""
        if self._pending is not None:
            cancel(self._pending)
            self._pending = None
        for handle in (self._handle, self._wake):
            _winapi.CloseHandle(handle)


class InputPipe:
    """What is typed."""

    def __init__(self) -> None:
        self._stop, self._handle, self.far_end = open_with_event(True, PIPE_ACCESS_OUTBOUND, GENERIC_READ)

    def write(self, data: bytes) -> None:
        """Block until the far end has taken all. BrokenPipeError when it is closed, or by `stop`."""
        operation, _ = _winapi.WriteFile(self._handle, data, overlapped=True)
        if _winapi.WaitForMultipleObjects([self._stop, operation.event], False, INFINITE) == _winapi.WAIT_OBJECT_0:
            cancel(operation)
            raise BrokenPipeError(errno.EPIPE, "the child's terminal is closed")
        operation.GetOverlappedResult(True)

    def stop(self) -> None:
        """Make every `write` fail from now on, the one that waits too."""
        _kernel32.SetEvent(self._stop)

    def close(self) -> None:
        """Close our end and the event."""
        for handle in (self._handle, self._stop):
            _winapi.CloseHandle(handle)


def cancel(operation: _winapi.Overlapped) -> None:
    """End an operation, and wait until Windows has let go of its buffer."""
    operation.cancel()
    try:
        operation.GetOverlappedResult(True)
    except OSError:
        pass


def milliseconds(timeout: float | None) -> int:
    """A wait for Windows; None waits for ever."""
    return INFINITE if timeout is None else min(max(math.ceil(timeout * 1000), 0), LONGEST_WAIT_MS)
