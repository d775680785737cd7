"""Our own environment as Windows holds it: names as they were spelled, and cmd.exe's folder of each drive (`=C:`).

Invariant: nothing is changed; `os.environ`, which has neither, stays what the rest of us reads.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

from conpty.environment import split_entry

assert sys.platform == "win32"

CHARACTER_BYTES = ctypes.sizeof(ctypes.c_wchar)

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.GetEnvironmentStringsW.argtypes = []
_kernel32.GetEnvironmentStringsW.restype = ctypes.c_void_p
_kernel32.FreeEnvironmentStringsW.argtypes = [ctypes.c_void_p]
_kernel32.FreeEnvironmentStringsW.restype = wintypes.BOOL


def own_environment() -> dict[str, str]:
    """Every variable of this process. Raises OSError."""
    block: int | None = _kernel32.GetEnvironmentStringsW()
    if not block:
        raise ctypes.WinError(ctypes.get_last_error())
    try:
        found, at = {}, block
        while entry := ctypes.wstring_at(at):
            name, value = split_entry(entry)
            found[name] = value
            at += (len(entry) + 1) * CHARACTER_BYTES
        return found
    finally:
        _kernel32.FreeEnvironmentStringsW(block)
