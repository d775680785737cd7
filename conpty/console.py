"""The console we were started in: raw mode, keys and sizes in, text out. Its calls are handed in, so that fakes fit.

Invariants: modes and code pages are saved before anything is changed, and put back by `restore`, which every way out
calls (`leave`, `close`, the end of the interpreter) and which never waits; one thread reads and one writes.
"""

from __future__ import annotations

import atexit
import codecs
import threading
from typing import NamedTuple, Protocol

from conpty.console_rows import ChildRows, Place
from conpty.key_records import KeyDecoder, KeyRecord

# GetConsoleMode / SetConsoleMode
PROCESSED_INPUT, LINE_INPUT, ECHO_INPUT, WINDOW_INPUT, VT_INPUT = 0x1, 0x2, 0x4, 0x8, 0x200
PROCESSED_OUTPUT, VT_OUTPUT, NO_AUTO_RETURN = 0x1, 0x4, 0x8
CHUNK_CHARACTERS = 4096  # at most 8192 UTF-16 units: more in one WriteConsoleW is refused by some hosts
# ConPTY's own two modes; a terminal that one of them stayed on in would send what no other program understands
FAREWELL = "\x1b[?9001l\x1b[?1004l"


class ResizeRecord(NamedTuple):
    """A WINDOW_BUFFER_SIZE_RECORD. Its size is the buffer's, not the window's: ask for that."""


Record = KeyRecord | ResizeRecord


class ConsoleApi(Protocol):
    """What is called of Windows. A handle is a number; None: there is no such thing."""

    def open(self, name: str) -> int | None:
        """Open `CONIN$` or `CONOUT$`, wherever the standard handles lead."""
        ...

    def close(self, handle: int) -> None:
        """Close a handle of `open` or `new_event`."""
        ...

    def is_console(self, fd: int) -> bool:
        """Whether a C descriptor leads to a console."""
        ...

    def mode(self, handle: int) -> int | None:
        """GetConsoleMode."""
        ...

    def set_mode(self, handle: int, mode: int) -> bool:
        """SetConsoleMode; False when it is refused."""
        ...

    def code_pages(self) -> tuple[int, int]:
        """Of input and output."""
        ...

    def set_code_pages(self, pages: tuple[int, int]) -> None:
        """Put them back."""
        ...

    def window_size(self, handle: int) -> tuple[int, int] | None:
        """Rows and columns that are to be seen (srWindow; the buffer may have thousands more)."""
        ...

    def cursor(self, handle: int) -> tuple[int, int] | None:
        """Row and column of the cursor, from 0, in the window; None when the window does not show it."""
        ...

    def new_event(self) -> int:
        """An event that stays set."""
        ...

    def set_event(self, event: int) -> None:
        """From any thread."""
        ...

    def wait(self, handle: int, event: int) -> bool:
        """Block until there is input (True) or the event is set (False). Raises OSError."""
        ...

    def read(self, handle: int) -> list[Record]:
        """What there is, at least one record of whatever kind (those of no use are left out). Raises OSError."""
        ...

    def write(self, handle: int, text: str) -> int:
        """WriteConsoleW: blocks while the user selects text. UTF-16 units that were taken. Raises OSError."""
        ...


class Typed(NamedTuple):
    """What one read gave: UTF-8 bytes, and whether the size may have changed."""

    data: bytes
    resized: bool


class Console:
    """Raises OSError when the process has no console."""

    def __init__(self, api: ConsoleApi) -> None:
        self._api = api
        opened_in, opened_out = api.open("CONIN$"), api.open("CONOUT$")
        if opened_in is None or opened_out is None:
            for handle in (opened_in, opened_out):
                if handle is not None:
                    api.close(handle)
            raise OSError("no console")
        self._in, self._out = opened_in, opened_out
        self._saved = (api.mode(self._in), api.mode(self._out), api.code_pages())
        self._stop = api.new_event()
        self._lock = threading.Lock()  # `restore` comes from other threads too
        self._keys = KeyDecoder()
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._own_text = codecs.getincrementaldecoder("utf-8")("replace")  # may come between a character's two parts
        self._rows = ChildRows()
        self._vt_output = False
        self._open = True
        atexit.register(self.restore)

    def size(self) -> tuple[int, int] | None:
        """Rows and columns of the window."""
        return self._api.window_size(self._out) if self._open else None

    def enter(self, *, keys: bool = True, screen: bool = True) -> None:
        """Raw keys with VT sequences for those that have no character, and a screen that takes VT sequences.

        Quick Edit stays as the user has it: it is how they select and paste there.
        """
        mode_in, mode_out, _ = self._saved
        if keys and mode_in is not None:
            raw = mode_in & ~(PROCESSED_INPUT | LINE_INPUT | ECHO_INPUT) | WINDOW_INPUT
            if not self._api.set_mode(self._in, raw | VT_INPUT):
                self._api.set_mode(self._in, raw)
        if screen and mode_out is not None:
            mode = mode_out | PROCESSED_OUTPUT | VT_OUTPUT
            self._vt_output = self._api.set_mode(self._out, mode | NO_AUTO_RETURN) or self._api.set_mode(
                self._out, mode
            )

    def leave(self) -> None:
        """Undo ConPTY's modes in the terminal, then `restore`. Waits for a console that takes nothing just now."""
        if self._vt_output:
            self._vt_output = False
            try:
                self._write_text(FAREWELL)
            except OSError:
                pass  # the console is gone, and its modes with it
        self.restore()

    def restore(self) -> None:
        """Modes and code pages as they were. Idempotent, from any thread."""
        with self._lock:
            if not self._open:
                return
            mode_in, mode_out, pages = self._saved
            for handle, mode in ((self._in, mode_in), (self._out, mode_out)):
                if mode is not None and self._api.mode(handle) != mode:
                    self._api.set_mode(handle, mode)
            if self._api.code_pages() != pages:
                self._api.set_code_pages(pages)

    def read(self) -> Typed | None:
        """Block until something was typed or the size may have changed; None after `stop`. Raises OSError."""
        while self._api.wait(self._in, self._stop):
            records = self._api.read(self._in)
            data = self._keys.feed(record for record in records if isinstance(record, KeyRecord))
            resized = any(isinstance(record, ResizeRecord) for record in records)
            if data or resized:
                return Typed(data, resized)
        return None

    def stop(self) -> None:
        """Make `read` return None, now and later. From any thread."""
        self._api.set_event(self._stop)

    def write(self, data: bytes) -> None:
        """Print the child's UTF-8; a character that is cut at the end waits for its rest. Raises OSError."""
        text = self._text.decode(data)
        if text and self._rows.may_differ and self._vt_output:
            text = self._rows.theirs(self._place(), (self.size() or (1, 1))[0]) + text
        self._write_text(text)

    def show(self, data: bytes) -> None:
        """Print UTF-8 of our own, which the child's pseudo console does not know of. Raises OSError."""
        self._rows.ours(self._place())
        self._write_text(self._own_text.decode(data))

    def _place(self) -> Place | None:
        found = self._api.cursor(self._out)
        return None if found is None else Place(*found)

    def _write_text(self, text: str) -> None:
        for at in range(0, len(text), CHUNK_CHARACTERS):
            rest = text[at : at + CHUNK_CHARACTERS]
            while rest:
                units = rest.encode("utf-16-le", "surrogatepass")
                taken = self._api.write(self._out, rest)
                if taken <= 0:
                    raise OSError("the console takes nothing")
                rest = units[2 * taken :].decode("utf-16-le", "surrogatepass")

    def close(self) -> None:
        """Restore, and close the handles; nobody may be reading any more. Idempotent."""
        self.restore()
        atexit.unregister(self.restore)
        with self._lock:
            if self._open:
                self._open = False
                for handle in (self._in, self._out, self._stop):
                    self._api.close(handle)
