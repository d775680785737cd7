"""Processes by their handles. Invariant: a handle is owned by the one object that holds it, and closed by it."""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

assert sys.platform == "win32"

INFINITE = 0xFFFFFFFF
WAIT_OBJECT_0 = 0
DUPLICATE_SAME_ACCESS = 2

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.WaitForSingleObject.argtypes = [wintypes.HANDLE, wintypes.DWORD]
_kernel32.WaitForSingleObject.restype = wintypes.DWORD
_kernel32.GetExitCodeProcess.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD)]
_kernel32.GetExitCodeProcess.restype = wintypes.BOOL
_kernel32.TerminateProcess.argtypes = [wintypes.HANDLE, wintypes.UINT]
_kernel32.TerminateProcess.restype = wintypes.BOOL
_kernel32.CloseHandle.argtypes = [wintypes.HANDLE]
_kernel32.CloseHandle.restype = wintypes.BOOL
_kernel32.GetCurrentProcess.argtypes = []
_kernel32.GetCurrentProcess.restype = wintypes.HANDLE
_kernel32.DuplicateHandle.argtypes = [
    wintypes.HANDLE,
    wintypes.HANDLE,
    wintypes.HANDLE,
    ctypes.POINTER(wintypes.HANDLE),
    wintypes.DWORD,
    wintypes.BOOL,
    wintypes.DWORD,
]
_kernel32.DuplicateHandle.restype = wintypes.BOOL
_kernel32.SetConsoleCtrlHandler.argtypes = [ctypes.c_void_p, wintypes.BOOL]
_kernel32.SetConsoleCtrlHandler.restype = wintypes.BOOL


class WindowsProcess:
    """A `ChildProcess` over a process handle, which it owns."""

    def __init__(self, handle: int, pid: int) -> None:
        self.pid = pid
        self._handle = handle

    def wait(self) -> int:
        """Block until the process has ended; its exit code, 259 (STILL_ACTIVE) being a code like any other."""
        if _kernel32.WaitForSingleObject(self._handle, INFINITE) != WAIT_OBJECT_0:
            raise ctypes.WinError(ctypes.get_last_error())
        code = wintypes.DWORD()
        if not _kernel32.GetExitCodeProcess(self._handle, ctypes.byref(code)):
            raise ctypes.WinError(ctypes.get_last_error())
        return code.value

    def terminate(self, exit_code: int) -> None:
        """End the process. One that has ended, or that we may not end, is no error."""
        _kernel32.TerminateProcess(self._handle, exit_code)

    def release(self) -> None:
        """Close the handle."""
        _kernel32.CloseHandle(self._handle)


class WindowsProcesses:
    """The real `winpty_pty.ProcessApi`."""

    def adopt(self, handle: int, pid: int) -> WindowsProcess:
        """A process by a handle of somebody else's, which is duplicated: theirs may be closed at any time."""
        own = wintypes.HANDLE()
        me = _kernel32.GetCurrentProcess()
        if not _kernel32.DuplicateHandle(me, handle, me, ctypes.byref(own), 0, False, DUPLICATE_SAME_ACCESS):
            raise ctypes.WinError(ctypes.get_last_error())
        return WindowsProcess(own.value or 0, pid)

    def restore_ctrl_c(self) -> None:
        """Undo "ignore Ctrl-C", which processes inherit: from a parent started with CREATE_NEW_PROCESS_GROUP, say."""
        _kernel32.SetConsoleCtrlHandler(None, False)
