"""Who a process is, and files that are the user's alone (advapi32). Invariant: a file or directory made here has its
owner-only DACL from its first moment; every handle and every buffer of the system's is given back.

Every failure is an OSError with `winerror`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterator
from ctypes import wintypes

from conpty import sddl

if sys.platform == "win32":
    import msvcrt

assert sys.platform == "win32"

TOKEN_QUERY, TOKEN_USER, TOKEN_ELEVATION_TYPE = 0x8, 1, 18
ELEVATED = 2  # TokenElevationTypeFull: the strong half of a split token
PROCESS_QUERY_LIMITED_INFORMATION = 0x1000
SDDL_REVISION_1, SE_FILE_OBJECT = 1, 1
OWNER, DACL, PROTECTED_DACL = 0x1, 0x4, 0x80000000
READ_WRITE = 0x80000000 | 0x40000000  # GENERIC_READ, GENERIC_WRITE
# FILE_APPEND_DATA, FILE_READ_ATTRIBUTES, READ_CONTROL, SYNCHRONIZE: every write goes to the end
APPEND_ONLY = 0x4 | 0x80 | 0x20000 | 0x100000
SHARE_READ_WRITE = 0x1 | 0x2
SHARE_ALL = SHARE_READ_WRITE | 0x4  # delete: the file may be renamed and replaced while it is open
CREATE_NEW, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL = 1, 4, 0x80
INVALID_HANDLE = wintypes.HANDLE(-1).value


class SecurityAttributes(ctypes.Structure):
    """SECURITY_ATTRIBUTES."""

    _fields_ = (("size", wintypes.DWORD), ("descriptor", ctypes.c_void_p), ("inherit", wintypes.BOOL))


_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)
_POINTER, _DWORD = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(wintypes.DWORD)


def _declare(library: ctypes.WinDLL, name: str, result: object, *arguments: object) -> None:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = list(arguments)


_declare(_kernel32, "GetCurrentProcess", wintypes.HANDLE)
_declare(_kernel32, "OpenProcess", wintypes.HANDLE, wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_declare(_kernel32, "CloseHandle", wintypes.BOOL, wintypes.HANDLE)
_declare(_kernel32, "LocalFree", ctypes.c_void_p, ctypes.c_void_p)
_declare(_kernel32, "CreateDirectoryW", wintypes.BOOL, wintypes.LPCWSTR, ctypes.POINTER(SecurityAttributes))
_declare(
    _kernel32, "CreateFileW", wintypes.HANDLE, wintypes.LPCWSTR, wintypes.DWORD, wintypes.DWORD,
    ctypes.POINTER(SecurityAttributes), wintypes.DWORD, wintypes.DWORD, wintypes.HANDLE,
)  # fmt: skip
_declare(_advapi32, "OpenProcessToken", wintypes.BOOL, wintypes.HANDLE, wintypes.DWORD, ctypes.POINTER(wintypes.HANDLE))
_declare(
    _advapi32, "GetTokenInformation", wintypes.BOOL, wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD,
    _DWORD,
)  # fmt: skip
_declare(_advapi32, "ConvertSidToStringSidW", wintypes.BOOL, ctypes.c_void_p, _POINTER)
_declare(
    _advapi32, "ConvertStringSecurityDescriptorToSecurityDescriptorW", wintypes.BOOL, wintypes.LPCWSTR,
    wintypes.DWORD, _POINTER, _DWORD,
)  # fmt: skip
_declare(
    _advapi32, "ConvertSecurityDescriptorToStringSecurityDescriptorW", wintypes.BOOL, ctypes.c_void_p,
    wintypes.DWORD, wintypes.DWORD, _POINTER, _DWORD,
)  # fmt: skip
_declare(
    _advapi32, "GetNamedSecurityInfoW", wintypes.DWORD, wintypes.LPCWSTR, ctypes.c_int, wintypes.DWORD,
    _POINTER, _POINTER, _POINTER, _POINTER, _POINTER,
)  # fmt: skip
_declare(_advapi32, "SetFileSecurityW", wintypes.BOOL, wintypes.LPCWSTR, wintypes.DWORD, ctypes.c_void_p)


@functools.cache
def current_sid() -> str:
    """The SID of the user that this process runs as."""
    return _token_sid(_kernel32.GetCurrentProcess())


@functools.cache
def is_elevated() -> bool:
    """Whether this is the strong half of an administrator's split token; false where tokens are not split."""
    with _token(_kernel32.GetCurrentProcess()) as token:
        kind, size = wintypes.DWORD(), wintypes.DWORD()
        if not _advapi32.GetTokenInformation(
            token, TOKEN_ELEVATION_TYPE, ctypes.byref(kind), ctypes.sizeof(kind), ctypes.byref(size)
        ):
            raise last_error()
        return kind.value == ELEVATED


def process_sid(pid: int) -> str:
    """The SID of the user that process `pid` runs as; an elevated one does not tell others."""
    handle = _kernel32.OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, False, pid)
    if not handle:
        raise last_error()
    try:
        return _token_sid(handle)
    finally:
        _kernel32.CloseHandle(handle)


@contextlib.contextmanager
def attributes(text: str) -> Iterator[SecurityAttributes]:
    """SECURITY_ATTRIBUTES with the descriptor that `text` (SDDL) describes, not inheritable."""
    with _descriptor(text) as descriptor:
        yield SecurityAttributes(ctypes.sizeof(SecurityAttributes), descriptor, False)


def make_directory(path: str) -> None:
    """Make a directory that lets in the user alone, and so does what is made in it. Raises FileExistsError."""
    with attributes(sddl.owner_only(current_sid(), inherited=True)) as security:
        if not _kernel32.CreateDirectoryW(path, ctypes.byref(security)):
            raise last_error(path)


def create_file(path: str) -> int:
    """A descriptor of a new, empty file that lets in the user alone. Raises FileExistsError."""
    return _open(path, READ_WRITE, CREATE_NEW)


def open_append(path: str) -> int:
    """A descriptor that appends to `path`, made owner-only when missing; others may rename the file meanwhile."""
    return _open(path, APPEND_ONLY, OPEN_ALWAYS)


def open_file(path: str) -> int:
    """A descriptor of `path` for reading and writing, made owner-only when missing; nobody can remove it meanwhile."""
    return _open(path, READ_WRITE, OPEN_ALWAYS, SHARE_READ_WRITE)


def read_sddl(path: str) -> str:
    """Owner and DACL of a file or directory."""
    return _told(_advapi32.GetNamedSecurityInfoW, path, SE_FILE_OBJECT)


def restrict(path: str) -> None:
    """Let in the user alone from now on; in a directory also to what is made in it, not to what is there already."""
    with _descriptor(sddl.owner_only(current_sid(), inherited=os.path.isdir(path))) as descriptor:
        if not _advapi32.SetFileSecurityW(path, DACL | PROTECTED_DACL, descriptor):
            raise last_error(path)


def strangers(path: str, mask: int = sddl.READ | sddl.WRITE) -> list[str]:
    """SIDs of others than the user and the administrators that have a right of `mask` on `path`."""
    return sddl.strangers(read_sddl(path), current_sid(), mask)


def is_foreign(path: str) -> bool:
    """Whether `path` belongs to another user."""
    return sddl.is_foreign(read_sddl(path), current_sid())


def last_error(path: str | None = None) -> OSError:
    """The error of the call just made, as an OSError of the fitting kind."""
    code = ctypes.get_last_error()
    return OSError(0, ctypes.FormatError(code).strip(), path, code)


def _open(path: str, access: int, disposition: int, share: int = SHARE_ALL) -> int:
    with attributes(sddl.owner_only(current_sid())) as security:
        handle = _kernel32.CreateFileW(
            path, access, share, ctypes.byref(security), disposition, FILE_ATTRIBUTE_NORMAL, None
        )
    if handle == INVALID_HANDLE:
        raise last_error(path)
    try:
        return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY | os.O_NOINHERIT)
    except BaseException:
        _kernel32.CloseHandle(handle)
        raise


def _told(function: Callable[..., int], what: str | int, kind: int) -> str:
    descriptor, text = ctypes.c_void_p(), ctypes.c_void_p()
    wanted = OWNER | DACL
    code = function(what, kind, wanted, None, None, None, None, ctypes.byref(descriptor))
    if code:
        raise ctypes.WinError(code)
    try:
        if not _advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor, SDDL_REVISION_1, wanted, ctypes.byref(text), None
        ):
            raise last_error()
        return _taken(text)
    finally:
        _kernel32.LocalFree(descriptor)


@contextlib.contextmanager
def _descriptor(text: str) -> Iterator[ctypes.c_void_p]:
    descriptor = ctypes.c_void_p()
    if not _advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
        text, SDDL_REVISION_1, ctypes.byref(descriptor), None
    ):
        raise last_error()
    try:
        yield descriptor
    finally:
        _kernel32.LocalFree(descriptor)


@contextlib.contextmanager
def _token(process: int) -> Iterator[wintypes.HANDLE]:
    token = wintypes.HANDLE()
    if not _advapi32.OpenProcessToken(process, TOKEN_QUERY, ctypes.byref(token)):
        raise last_error()
    try:
        yield token
    finally:
        _kernel32.CloseHandle(token)


def _token_sid(process: int) -> str:
    with _token(process) as token:
        size = wintypes.DWORD()
        _advapi32.GetTokenInformation(token, TOKEN_USER, None, 0, ctypes.byref(size))
        user = ctypes.create_string_buffer(size.value)
        if not _advapi32.GetTokenInformation(token, TOKEN_USER, user, size, ctypes.byref(size)):
            raise last_error()
        sid = ctypes.c_void_p.from_buffer(user)  # TOKEN_USER begins with the pointer to the SID, which follows it
        text = ctypes.c_void_p()
        if not _advapi32.ConvertSidToStringSidW(sid, ctypes.byref(text)):
            raise last_error()
        return _taken(text)


def _taken(text: ctypes.c_void_p) -> str:
    """The string at `text`, which the system allocated and we free."""
    assert text.value is not None
    try:
        return ctypes.wstring_at(text.value)
    finally:
        _kernel32.LocalFree(text)
