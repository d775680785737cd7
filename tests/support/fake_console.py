"""A Windows console in memory: modes, code pages, a queue of input records, a screen in which text may be selected."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from conpty.console import Record, ResizeRecord
from conpty.key_records import KeyRecord

IN, OUT, EVENT = 11, 12, 13
COOKED, PLAIN, PAGES = 0x1F7, 0x3, (437, 850)
PATIENCE_SEC = 20.0


def key(unit: int, *, down: bool = True, virtual_key: int = 0, repeat: int = 1, control: int = 0) -> KeyRecord:
    """One record."""
    return KeyRecord(down, repeat, virtual_key, unit, control)


def typed(text: str) -> list[KeyRecord]:
    """What a console has for text that is typed or pasted: each UTF-16 unit pressed and released."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
    return [key(unit, down=down) for unit in units for down in (True, False)]


class FakeConsole:
    """Implements `ConsoleApi` and `HandlerApi`. `log` has what was called, in order."""

    def __init__(self, *, consoles: tuple[int, ...] = (0, 1), refused: int = 0) -> None:
        """`consoles`: the C descriptors that lead here. `refused`: bits of an output mode that are not known."""
        self.consoles = consoles
        self.refused = refused
        self.modes = {IN: COOKED, OUT: PLAIN}
        self.pages = PAGES
        self.window = (24, 80)
        self.log: list[str] = []
        self._printed = bytearray()
        self.writes: list[int] = []  # units of each
        self.takes = 1 << 30  # units in one write
        self.gone = False
        self.handler: Callable[[int], bool] | None = None
        self._changed = threading.Condition()
        self._records: deque[Record] = deque()
        self._stopped = False
        self._selecting = False

    # -- what the test does

    def type(self, text: str) -> None:
        """On the keyboard."""
        self.put(*typed(text))

    def put(self, *records: Record) -> None:
        """Into the input."""
        with self._changed:
            self._records.extend(records)
            self._changed.notify_all()

    def resize(self, rows: int, cols: int, *, event: bool) -> None:
        """Change the window; some hosts tell nobody."""
        self.window = (rows, cols)
        if event:
            self.put(ResizeRecord())

    def select(self, on: bool) -> None:
        """The user selects text: writes block meanwhile."""
        with self._changed:
            self._selecting = on
            self._changed.notify_all()

    def until_shown(self, text: str) -> str:
        """Wait for text on the screen; all that is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: text in self.screen, PATIENCE_SEC), self.screen[-2000:]
            return self.screen

    @property
    def screen(self) -> str:
        """Everything that was printed."""
        return bytes(self._printed).decode("utf-16-le", "surrogatepass")

    @property
    def unread(self) -> int:
        """Records that nobody has taken."""
        return len(self._records)

    # -- ConsoleApi

    def open(self, name: str) -> int | None:
        self.log.append(f"open {name}")
        return None if self.gone else {"CONIN$": IN, "CONOUT$": OUT}[name]

    def close(self, handle: int) -> None:
        self.log.append(f"close {handle}")

    def is_console(self, fd: int) -> bool:
        return fd in self.consoles

    def mode(self, handle: int) -> int | None:
        self.log.append(f"mode {handle}")
        return None if self.gone else self.modes[handle]

    def set_mode(self, handle: int, mode: int) -> bool:
        self.log.append(f"set_mode {handle} {mode:#x}")
        if self.gone or mode & self.refused:
            return False
        self.modes[handle] = mode
        return True

    def code_pages(self) -> tuple[int, int]:
        self.log.append("code_pages")
        return self.pages

    def set_code_pages(self, pages: tuple[int, int]) -> None:
        self.log.append(f"set_code_pages {pages}")
        self.pages = pages

    def window_size(self, handle: int) -> tuple[int, int] | None:
        return None if self.gone else self.window

    def cursor(self, handle: int) -> tuple[int, int] | None:
        return None

    def new_event(self) -> int:
        return EVENT

    def set_event(self, event: int) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def wait(self, handle: int, event: int) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._records or self._stopped or self.gone)
            if self.gone:
                raise OSError("the handle is invalid")
            return not self._stopped

    def read(self, handle: int) -> list[Record]:
        with self._changed:
            return [self._records.popleft() for _ in range(min(256, len(self._records)))]

    def write(self, handle: int, text: str) -> int:
        with self._changed:
            self._changed.wait_for(lambda: not self._selecting or self.gone)
            if self.gone:
                raise OSError("the handle is invalid")
            units = text.encode("utf-16-le", "surrogatepass")[: 2 * self.takes]
            self.log.append("write")
            self.writes.append(len(units) // 2)
            self._printed += units
            self._changed.notify_all()
            return len(units) // 2

    # -- HandlerApi

    def set_handler(self, handler: Callable[[int], bool] | None) -> None:
        self.handler = handler

    def allow_interrupts(self) -> None:
        self.log.append("allow_interrupts")
