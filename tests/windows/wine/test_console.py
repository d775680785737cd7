"""The console's own calls against a real kernel32: modes, code pages, keys, sizes, text."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator
from ctypes import wintypes

import pytest

from conpty.console import Console
from conpty.console_api import INPUT_RECORD, KEY_EVENT, SIZES, Kernel32Console, _load
from conpty.console_events import CTRL_C, ControlEvents

State = tuple[int | None, int | None, tuple[int, int]]


@pytest.fixture
def api() -> Kernel32Console:
    return Kernel32Console()


@pytest.fixture
def handles(api: Kernel32Console) -> Iterator[tuple[int, int]]:
    """CONIN$ and CONOUT$, as somebody else sees them."""
    found = api.open("CONIN$"), api.open("CONOUT$")
    assert found[0] is not None
    assert found[1] is not None
    yield found[0], found[1]
    for handle in found:
        api.close(handle)


def state(api: Kernel32Console, handles: tuple[int, int]) -> State:
    return api.mode(handles[0]), api.mode(handles[1]), api.code_pages()


def press(handle: int, *keys: tuple[int, int, bool]) -> None:
    """Put (unit, virtual key, down) into the console's input."""
    records = (INPUT_RECORD * len(keys))()
    for record, (unit, virtual_key, down) in zip(records, keys, strict=True):
        record.EventType = KEY_EVENT
        key = record.Event.KeyEvent
        key.bKeyDown, key.wRepeatCount, key.wVirtualKeyCode, key.UnicodeChar = down, 1, virtual_key, unit
    dll = _load()
    dll.WriteConsoleInputW.argtypes = [wintypes.HANDLE, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p]
    written = wintypes.DWORD()
    assert dll.WriteConsoleInputW(handle, records, len(keys), ctypes.byref(written))
    assert written.value == len(keys)


def test_the_structures_have_the_sizes_of_windows() -> None:
    assert {structure.__name__: ctypes.sizeof(structure) for structure in SIZES} == {
        "COORD": 4,
        "SMALL_RECT": 8,
        "CONSOLE_SCREEN_BUFFER_INFO": 22,
        "KEY_EVENT_RECORD": 16,
        "INPUT_RECORD": 20,
    }


def test_standard_handles_that_are_the_console_are_known_from_others(api: Kernel32Console) -> None:
    assert api.is_console(0)
    with open("NUL", "rb") as null:
        assert not api.is_console(null.fileno())
    assert not api.is_console(999)


def test_raw_mode_is_taken_and_everything_is_put_back(api: Kernel32Console, handles: tuple[int, int]) -> None:
    before = state(api, handles)
    console = Console(api)
    console.enter()
    raw_in, raw_out = api.mode(handles[0]), api.mode(handles[1])
    assert raw_in is not None
    assert raw_out is not None
    assert raw_in & 0x20F == 0x208
    assert raw_out & 0x5 == 0x5
    api.set_code_pages((65001, 65001))
    assert api.code_pages() == (65001, 65001)
    console.close()
    assert state(api, handles) == before


def test_an_exception_that_nobody_catches_puts_everything_back(api: Kernel32Console, handles: tuple[int, int]) -> None:
    before = state(api, handles)
    program = (
        "from conpty.console import Console; from conpty.console_api import Kernel32Console as K;"
        "k = K(); c = Console(k); c.enter(); k.set_code_pages((65001, 65001)); raise SystemExit(3)"
    )
    done = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)
    assert done.returncode == 3
    assert state(api, handles) == before


def test_typed_text_arrives_with_its_surrogates_joined(api: Kernel32Console, handles: tuple[int, int]) -> None:
    console = Console(api)
    console.enter()
    try:
        press(handles[0], (0xE9, 0, True), (0xE9, 0, False), (0xD83D, 0, True), (0xDE00, 0, True), (0, 0x10, True))
        press(handles[0], (0x4F60, 0x12, False), (3, 0x43, True), (ord("!"), 0, True))
        seen = b""
        while not seen.endswith(b"!"):
            typed = console.read()
            assert typed is not None
            seen += typed.data
        assert seen == "é😀你\x03!".encode()
    finally:
        console.close()


def test_stop_ends_a_read_that_waits(api: Kernel32Console) -> None:
    console = Console(api)
    done = threading.Event()

    def read() -> None:
        while console.read() is not None:
            pass
        done.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    console.stop()
    assert done.wait(10)
    reader.join(10)
    console.close()


def test_the_size_is_what_is_to_be_seen(api: Kernel32Console, handles: tuple[int, int]) -> None:
    size = api.window_size(handles[1])
    assert size is not None
    assert all(0 < number < 1000 for number in size)
    assert api.window_size(handles[0]) is None


def test_text_is_printed_whatever_the_code_page_says(api: Kernel32Console, handles: tuple[int, int]) -> None:
    """The cursor's column says how many cells were printed."""
    console = Console(api)
    console.enter()
    try:
        assert api.write(handles[1], "\r") == 1
        data = "né你x".encode()
        for at in range(len(data)):
            console.write(data[at : at + 1])
        assert read_cells(handles[1], 2) == "né"
        console.write(("y" * 10_000 + "\r\n").encode())
    finally:
        console.leave()
        console.close()


def read_cells(handle: int, count: int) -> str:
    """The first cells of the cursor's row."""
    dll = _load()
    from conpty.console_api import CONSOLE_SCREEN_BUFFER_INFO, COORD

    info = CONSOLE_SCREEN_BUFFER_INFO()
    assert dll.GetConsoleScreenBufferInfo(handle, info)
    dll.ReadConsoleOutputCharacterW.argtypes = [
        wintypes.HANDLE,
        ctypes.c_void_p,
        wintypes.DWORD,
        COORD,
        ctypes.c_void_p,
    ]
    buffer, read = ctypes.create_unicode_buffer(count + 1), wintypes.DWORD()
    at = COORD(0, info.dwCursorPosition.Y)
    assert dll.ReadConsoleOutputCharacterW(handle, buffer, count, at, ctypes.byref(read))
    return buffer.value


def test_an_interrupt_is_taken_by_the_handler_and_ends_nobody() -> None:
    """In a process of its own, for the event goes to all that share a console."""
    program = (
        "import threading, ctypes; from conpty.console_events import ControlEvents;"
        "from conpty.console_api import Kernel32Console; e = ControlEvents(Kernel32Console());"
        "told = threading.Event(); e.notify = told.set; e.install(); e.install();"
        "print(e._api._handler(0), e.interrupted, told.is_set()); e.close(); raise SystemExit(5)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=30, check=False)
    assert (done.returncode, done.stdout.split()) == (5, [b"1", b"True", b"True"])


def test_the_handler_is_called_by_windows_itself(api: Kernel32Console) -> None:
    events = ControlEvents(api)
    told = threading.Event()
    events.notify = told.set
    events.install()
    try:
        dll = _load()
        assert dll.GenerateConsoleCtrlEvent(CTRL_C, 0)
        assert told.wait(10)
        assert events.interrupted
    finally:
        events.close()


def test_the_cursors_place_is_told_in_the_window(api: Kernel32Console, handles: tuple[int, int]) -> None:
    """What keeps the child's rows where it has them. (Wine's console takes the VT mode and shows the sequences.)"""
    api.write(handles[1], "\r\n")
    before = api.cursor(handles[1])
    size = api.window_size(handles[1])
    assert before is not None
    assert size is not None
    api.write(handles[1], "\r\nabc")
    assert api.cursor(handles[1]) == (min(before[0] + 1, size[0] - 1), 3)
    api.write(handles[1], "\r\n" * size[0])
    assert api.cursor(handles[1]) == (size[0] - 1, 0)
