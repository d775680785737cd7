"""The console functions of kernel32, typed: a 64-bit handle without argtypes would be cut to 32 bits.

Source: learn.microsoft.com/windows/console; sizes of the structures as wincon.h has them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import wintypes

from conpty.console import Record, ResizeRecord
from conpty.key_records import KeyRecord

assert sys.platform == "win32"

GENERIC_READ, GENERIC_WRITE = 0x80000000, 0x40000000
SHARE_READ_WRITE = 0x1 | 0x2
OPEN_EXISTING = 3
INVALID_HANDLE = ctypes.c_void_p(-1).value
INFINITE = 0xFFFFFFFF
WAIT_OBJECT_0, WAIT_FAILED = 0, 0xFFFFFFFF
KEY_EVENT, WINDOW_BUFFER_SIZE_EVENT = 0x1, 0x4
RECORDS = 256  # at once; a character that is typed makes two


class COORD(ctypes.Structure):
    _fields_ = [("X", ctypes.c_short), ("Y", ctypes.c_short)]


class SMALL_RECT(ctypes.Structure):
    _fields_ = [(name, ctypes.c_short) for name in ("Left", "Top", "Right", "Bottom")]


class CONSOLE_SCREEN_BUFFER_INFO(ctypes.Structure):
    _fields_ = [
        ("dwSize", COORD),
        ("dwCursorPosition", COORD),
        ("wAttributes", wintypes.WORD),
        ("srWindow", SMALL_RECT),
        ("dwMaximumWindowSize", COORD),
    ]


class KEY_EVENT_RECORD(ctypes.Structure):
    _fields_ = [
        ("bKeyDown", wintypes.BOOL),
        ("wRepeatCount", wintypes.WORD),
        ("wVirtualKeyCode", wintypes.WORD),
        ("wVirtualScanCode", wintypes.WORD),
        ("UnicodeChar", wintypes.WORD),  # as a number: it may be half a character
        ("dwControlKeyState", wintypes.DWORD),
    ]


class EVENT(ctypes.Union):
    _fields_ = [("KeyEvent", KEY_EVENT_RECORD), ("dwSize", COORD), ("raw", ctypes.c_byte * 16)]


class INPUT_RECORD(ctypes.Structure):
    _fields_ = [("EventType", wintypes.WORD), ("Event", EVENT)]


SIZES = {COORD: 4, SMALL_RECT: 8, CONSOLE_SCREEN_BUFFER_INFO: 22, KEY_EVENT_RECORD: 16, INPUT_RECORD: 20}
for _structure, _size in SIZES.items():
    assert ctypes.sizeof(_structure) == _size, _structure

Handler = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.DWORD)


def _load() -> ctypes.WinDLL:
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    handle, dword, boolean = wintypes.HANDLE, wintypes.DWORD, wintypes.BOOL
    count, pointer = ctypes.POINTER(wintypes.DWORD), ctypes.c_void_p
    for name, result, arguments in (
        ("CreateFileW", handle, (wintypes.LPCWSTR, dword, dword, pointer, dword, dword, handle)),
        ("CloseHandle", boolean, (handle,)),
        ("GetConsoleMode", boolean, (handle, count)),
        ("SetConsoleMode", boolean, (handle, dword)),
        ("GetConsoleCP", wintypes.UINT, ()),
        ("GetConsoleOutputCP", wintypes.UINT, ()),
        ("SetConsoleCP", boolean, (wintypes.UINT,)),
        ("SetConsoleOutputCP", boolean, (wintypes.UINT,)),
        ("GetConsoleScreenBufferInfo", boolean, (handle, ctypes.POINTER(CONSOLE_SCREEN_BUFFER_INFO))),
        ("CreateEventW", handle, (pointer, boolean, boolean, wintypes.LPCWSTR)),
        ("SetEvent", boolean, (handle,)),
        ("WaitForMultipleObjects", dword, (dword, ctypes.POINTER(handle), boolean, dword)),
        ("ReadConsoleInputW", boolean, (handle, ctypes.POINTER(INPUT_RECORD), dword, count)),
        ("WriteConsoleW", boolean, (handle, ctypes.c_char_p, dword, count, pointer)),
        ("SetConsoleCtrlHandler", boolean, (pointer, boolean)),
    ):
        function = getattr(kernel32, name)
        function.restype, function.argtypes = result, arguments
    return kernel32


class Kernel32Console:
    """Implements `console.ConsoleApi` and `console_events.HandlerApi`."""

    def __init__(self) -> None:
        self._dll = _load()
        self._handler: object = None  # a callback that nobody holds is freed
        self._records = (INPUT_RECORD * RECORDS)()

    def open(self, name: str) -> int | None:
        """See `ConsoleApi.open`."""
        access = GENERIC_READ | GENERIC_WRITE
        handle = self._dll.CreateFileW(name, access, SHARE_READ_WRITE, None, OPEN_EXISTING, 0, None)
        return None if handle in (None, INVALID_HANDLE) else int(handle)

    def close(self, handle: int) -> None:
        """See `ConsoleApi.close`."""
        self._dll.CloseHandle(handle)

    def is_console(self, fd: int) -> bool:
        """See `ConsoleApi.is_console`. (isatty is true for NUL as well.)"""
        import msvcrt

        try:
            return self.mode(msvcrt.get_osfhandle(fd)) is not None
        except OSError:
            return False

    def mode(self, handle: int) -> int | None:
        """See `ConsoleApi.mode`."""
        mode = wintypes.DWORD()
        return mode.value if self._dll.GetConsoleMode(handle, mode) else None

    def set_mode(self, handle: int, mode: int) -> bool:
        """See `ConsoleApi.set_mode`."""
        return bool(self._dll.SetConsoleMode(handle, mode))

    def code_pages(self) -> tuple[int, int]:
        """See `ConsoleApi.code_pages`."""
        return self._dll.GetConsoleCP(), self._dll.GetConsoleOutputCP()

    def set_code_pages(self, pages: tuple[int, int]) -> None:
        """See `ConsoleApi.set_code_pages`."""
        self._dll.SetConsoleCP(pages[0])
        self._dll.SetConsoleOutputCP(pages[1])

    def window_size(self, handle: int) -> tuple[int, int] | None:
        """See `ConsoleApi.window_size`."""
        info = CONSOLE_SCREEN_BUFFER_INFO()
        if not self._dll.GetConsoleScreenBufferInfo(handle, info):
            return None
        window = info.srWindow
        return window.Bottom - window.Top + 1, window.Right - window.Left + 1

    def cursor(self, handle: int) -> tuple[int, int] | None:
        """See `ConsoleApi.cursor`."""
        info = CONSOLE_SCREEN_BUFFER_INFO()
        if not self._dll.GetConsoleScreenBufferInfo(handle, info):
            return None
        at, window = info.dwCursorPosition, info.srWindow
        return (at.Y - window.Top, at.X) if window.Top <= at.Y <= window.Bottom else None

    def new_event(self) -> int:
        """See `ConsoleApi.new_event`."""
        event = self._dll.CreateEventW(None, True, False, None)
        if not event:
            raise ctypes.WinError(ctypes.get_last_error())
        return int(event)

    def set_event(self, event: int) -> None:
        """See `ConsoleApi.set_event`."""
        self._dll.SetEvent(event)

    def wait(self, handle: int, event: int) -> bool:
        """See `ConsoleApi.wait`."""
        handles = (wintypes.HANDLE * 2)(event, handle)
        found = self._dll.WaitForMultipleObjects(2, handles, False, INFINITE)
        if found == WAIT_FAILED:
            raise ctypes.WinError(ctypes.get_last_error())
        return bool(found != WAIT_OBJECT_0)

    def read(self, handle: int) -> list[Record]:
        """See `ConsoleApi.read`. By one thread."""
        count = wintypes.DWORD()
        if not self._dll.ReadConsoleInputW(handle, self._records, RECORDS, count):
            raise ctypes.WinError(ctypes.get_last_error())
        found: list[Record] = []
        for record in self._records[: count.value]:
            if record.EventType == KEY_EVENT:
                key = record.Event.KeyEvent
                found.append(
                    KeyRecord(
                        bool(key.bKeyDown),
                        key.wRepeatCount,
                        key.wVirtualKeyCode,
                        key.UnicodeChar,
                        key.dwControlKeyState,
                    )
                )
            elif record.EventType == WINDOW_BUFFER_SIZE_EVENT:
                found.append(ResizeRecord())
        return found

    def write(self, handle: int, text: str) -> int:
        """See `ConsoleApi.write`."""
        units = text.encode("utf-16-le", "surrogatepass")
        written = wintypes.DWORD()
        if not self._dll.WriteConsoleW(handle, units, len(units) // 2, written, None):
            raise ctypes.WinError(ctypes.get_last_error())
        return written.value

    def set_handler(self, handler: Callable[[int], bool] | None) -> None:
        """See `HandlerApi.set_handler`."""
        if self._handler is not None:
            self._dll.SetConsoleCtrlHandler(self._handler, False)
        self._handler = None if handler is None else Handler(handler)
        if self._handler is not None:
            self._dll.SetConsoleCtrlHandler(self._handler, True)

    def allow_interrupts(self) -> None:
        """See `HandlerApi.allow_interrupts`."""
        self._dll.SetConsoleCtrlHandler(None, False)
