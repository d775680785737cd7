"""Who started us, and who still lives, without opening more than is needed: a snapshot of names serves, and it is there
in milliseconds. Invariant: no error but "unknown": a process that may not be looked at is alive and has its name.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from ctypes import wintypes
from typing import NamedTuple

assert sys.platform == "win32"

TH32CS_SNAPPROCESS = 0x2
SYNCHRONIZE = 0x100000
WAIT_TIMEOUT = 0x102
ERROR_ACCESS_DENIED = 5
INVALID_HANDLE = wintypes.HANDLE(-1).value
MAX_GENERATIONS = 16  # a parent's number may be used again: the chain could be a circle


class ProcessEntry(ctypes.Structure):
    """PROCESSENTRY32W."""

    _fields_ = (
        ("size", wintypes.DWORD),
        ("usage", wintypes.DWORD),
        ("pid", wintypes.DWORD),
        ("heap", ctypes.c_size_t),
        ("module", wintypes.DWORD),
        ("threads", wintypes.DWORD),
        ("parent", wintypes.DWORD),
        ("priority", wintypes.LONG),
        ("flags", wintypes.DWORD),
        ("name", wintypes.WCHAR * 260),
    )


class Process(NamedTuple):
    """`name` is its program's file name, like `cmd.exe`."""

    pid: int
    name: str


_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_ENTRY = ctypes.POINTER(ProcessEntry)
for _name, _result, _arguments in (
    ("CreateToolhelp32Snapshot", wintypes.HANDLE, (wintypes.DWORD, wintypes.DWORD)),
    ("Process32FirstW", wintypes.BOOL, (wintypes.HANDLE, _ENTRY)),
    ("Process32NextW", wintypes.BOOL, (wintypes.HANDLE, _ENTRY)),
    ("OpenProcess", wintypes.HANDLE, (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)),
    ("WaitForSingleObject", wintypes.DWORD, (wintypes.HANDLE, wintypes.DWORD)),
    ("CloseHandle", wintypes.BOOL, (wintypes.HANDLE,)),
):
    getattr(_kernel32, _name).restype = _result
    getattr(_kernel32, _name).argtypes = list(_arguments)


def ancestors(pid: int) -> list[Process]:
    """The parent of `pid`, its parent and so on, as far as they are still there."""
    known = {entry.pid: (entry.parent, entry.name) for entry in _snapshot()}
    found: list[Process] = []
    parent = known.get(pid, (0, ""))[0]
    while parent in known and parent != pid and len(found) < MAX_GENERATIONS:
        grandparent, name = known[parent]
        found.append(Process(parent, name))
        parent = grandparent
    return found


def children(pid: int) -> list[Process]:
    """Whom `pid` has started, as far as they are still there."""
    return [Process(entry.pid, entry.name) for entry in _snapshot() if entry.parent == pid and entry.pid != pid]


def is_alive(pid: int) -> bool:
    """Whether a process with this number runs."""
    handle = _kernel32.OpenProcess(SYNCHRONIZE, False, pid)
    if not handle:
        return ctypes.get_last_error() == ERROR_ACCESS_DENIED
    try:
        return bool(_kernel32.WaitForSingleObject(handle, 0) == WAIT_TIMEOUT)
    finally:
        _kernel32.CloseHandle(handle)


def _snapshot() -> Iterator[ProcessEntry]:
    """Every process; the same structure each time."""
    handle = _kernel32.CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0)
    if handle == INVALID_HANDLE:
        return
    entry = ProcessEntry(size=ctypes.sizeof(ProcessEntry))
    try:
        more = _kernel32.Process32FirstW(handle, ctypes.byref(entry))
        while more:
            yield entry
            more = _kernel32.Process32NextW(handle, ctypes.byref(entry))
    finally:
        _kernel32.CloseHandle(handle)
