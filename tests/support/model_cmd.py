"""A console on a screen model, and a cmd.exe that addresses rows as conhost's line input does: by their number.

`inner` is what the child's pseudo console believes to be on the screen: it sees the child's bytes only.
"""

from __future__ import annotations

import queue
import threading

import pyte
from fake_console import FakeConsole

ROWS, COLS = 24, 80
NOT_FOUND = "is not recognized as an internal or external command,\r\noperable program or batch file."


class ModelConsole(FakeConsole):
    """The user's console. What scrolls out of it is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.window = (ROWS, COLS)
        self.outer = pyte.HistoryScreen(COLS, ROWS, history=10_000)
        self._stream = pyte.Stream(self.outer)

    def write(self, handle: int, text: str) -> int:
        taken = super().write(handle, text)
        self._stream.feed(text)
        return taken

    def cursor(self, handle: int) -> tuple[int, int] | None:
        return self.place

    def shrink(self, rows: int) -> None:
        """Make the window lower, with the cursor in its last row; what does not fit goes out at its top."""
        row, col = self.place
        self._stream.feed(f"\x1b[{ROWS};1H" + "\n" * (row - rows + 1))
        self._stream.feed(f"\x1b[H\x1b[{ROWS - rows}L")  # what pyte is about to cut off
        self.outer.resize(rows, COLS)
        self._stream.feed(f"\x1b[{rows};{col + 1}H")
        self.resize(rows, COLS, event=True)

    @property
    def place(self) -> tuple[int, int]:
        """Row and column of the cursor."""
        return place(self.outer)

    @property
    def lines(self) -> list[str]:
        """All that can be read, the oldest first."""
        above = ["".join(line[col].data for col in range(COLS)) for line in list(self.outer.history.top)]
        return [line.rstrip() for line in (*above, *self.outer.display)]


class ModelCmd:
    """Implements `PtyBackend`."""

    name, pid = "model", 0

    def __init__(self, prompt: bytes) -> None:
        """`prompt`: as PROMPT would hold it."""
        text = prompt.replace(b"$e", b"\x1b").replace(b"$P", b"C:\\").replace(b"$G", b">").replace(b"$_", b"\r\n")
        self._prompt = text.decode()
        self.visible = self._prompt.rpartition("neocode;A\x1b\\")[2]  # what ends each prompt
        self.prompts = 0
        self.inner = pyte.Screen(COLS, ROWS)
        self._stream = pyte.Stream(self.inner)
        self._output: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._line = ""
        self._at = (0, 0)
        self.ran: list[str] = []
        self._print("Microsoft Windows [Version 10.0]\r\n")
        self._new_prompt()

    @property
    def place(self) -> tuple[int, int]:
        """Row and column of the cursor, as the child has it."""
        return place(self.inner)

    def job(self, text: str) -> None:
        """A background program prints a line; like many it asks for the row first."""
        row, _ = self.place
        self._print(f"\x1b[{row + 1};1H{text}\r\n")

    def _print(self, text: str) -> None:
        self._stream.feed(text)
        self._output.put(text.encode())

    def _new_prompt(self) -> None:
        self._print("\r\n")
        for piece in self._prompt:  # a write of its own for each character
            self._print(piece)
        self._line, self._at = "", self.place
        self.prompts += 1

    def _key(self, key: str) -> None:
        if key != "\r":
            row, col = self._at[0] + 1, self._at[1] + len(self._line) + 1
            self._line += key
            self._print(f"\x1b[{row};{col}H{key}\x1b[{row};{col + 1}H")  # as conhost 1.22 and later do
            return
        line = self._line
        self._print("\r\n")
        self.ran.append(line)
        if line == "cls":
            self._print("\x1b[H\x1b[2J\x1b[3J")
        elif line.startswith("rows "):
            self._print("".join(f"row {number}\r\n" for number in range(int(line[5:]))))
        elif line:
            self._print(f"'{line.split()[0].lstrip('@')}' {NOT_FOUND}\r\n")
        self._new_prompt()

    # -- PtyBackend

    def read(self) -> bytes:
        return self._output.get()

    def write(self, data: bytes) -> None:
        for key in data.decode():
            self._key(key)

    def resize(self, rows: int, cols: int) -> None:
        self.inner.resize(rows, cols)

    def wait(self, timeout: float | None) -> int | None:
        return 0 if self._ended.wait(timeout) else None

    def close(self) -> None:
        self._ended.set()
        self._output.put(b"")


def place(screen: pyte.Screen) -> tuple[int, int]:
    """A console knows of no column behind the last."""
    return screen.cursor.y, min(screen.cursor.x, screen.columns - 1)
