"""The pyte screen that a replay is written to. Invariants: no call raises; a row that was left by wrapping says so;
what scrolls off at the top is kept.

It knows no colours. Overridden is what pyte 0.8.2 does otherwise than terminals: it splits wide characters at the
margin, jumps into a scrolling region from below it, keeps a stack of saved cursors.
"""

from __future__ import annotations

import re
from collections import deque
from functools import cache
from typing import Any

import pyte
from pyte import modes
from pyte.screens import Char, Margins, StaticDefaultDict

from ptyproxy.text import INVISIBLE, columns_of

HISTORY_ROWS = 10_000  # 256 KiB of short lines
WORK_BUDGET = 100_000  # lines moved by SU and SD and characters repeated by REP; nobody needs more in 256 KiB
WRAPPED = -1  # a key beside a row's columns: its line goes on in the next row

Row = StaticDefaultDict[int, Char]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _char(data: str) -> Char:
    return Char(data)


class ReplayScreen(pyte.Screen):
    """`columns` by `lines`, with a history."""

    def __init__(self, columns: int, lines: int) -> None:
        self.history: deque[Row] = deque(maxlen=HISTORY_ROWS)
        self._saved = (0, 0)
        self._budget = WORK_BUDGET
        super().__init__(columns, lines)

    def draw(self, data: str) -> None:
        """Write text; a character without a cell of its own joins the one before it."""
        if not data.isascii():
            data = _compiled(INVISIBLE).sub("", data)
        for char in data:
            width = 1 if " " <= char < "\u0300" else columns_of(char)
            if width == 0:
                self._join(char)
                continue
            if self.cursor.x + width > self.columns:
                self._margin(width)
            if modes.IRM in self.mode:
                self.insert_characters(width)
            row = self.buffer[self.cursor.y]
            row[self.cursor.x] = _char(char)
            if width == 2:
                row[self.cursor.x + 1] = _char("")
            self.cursor.x += width

    def _margin(self, width: int) -> None:
        """There is no room in this row."""
        if modes.DECAWM not in self.mode:
            self.cursor.x = max(0, self.columns - width)
            return
        self.buffer[self.cursor.y][WRAPPED] = _char("")
        self.carriage_return()
        self.index()

    def _join(self, char: str) -> None:
        row, at = self.buffer[self.cursor.y], self.cursor.x - 1
        if at > 0 and not row[at].data:
            at -= 1
        if at >= 0:
            row[at] = Char(row[at].data + char)

    def index(self) -> None:
        """IND: down one line; what leaves the screen at its top goes to the history."""
        top, bottom = self._region()
        if self.cursor.y == bottom and top == 0:
            self.history.append(self.buffer[0])
        super().index()

    def next_line(self) -> None:
        """NEL."""
        self.index()
        self.carriage_return()

    def cursor_down(self, count: int | None = None) -> None:
        """CUD; from below the scrolling region to the screen's end."""
        bottom = self._region().bottom
        limit = bottom if self.cursor.y <= bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), limit)

    def cursor_up(self, count: int | None = None) -> None:
        """CUU; from above the scrolling region to the screen's top."""
        top = self._region().top
        limit = top if self.cursor.y >= top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), limit)

    def save_cursor(self) -> None:
        """DECSC: there is one saved cursor."""
        self._saved = (self.cursor.y, min(self.cursor.x, self.columns - 1))

    def restore_cursor(self) -> None:
        """DECRC: may be used again and again."""
        self.cursor.y, self.cursor.x = self._saved

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """ED, by dropping rows; 3 drops the history (xterm)."""
        if how == 3:
            self.history.clear()
            return
        first, last = {0: (self.cursor.y + 1, self.lines), 1: (0, self.cursor.y)}.get(how, (0, self.lines))
        for y in range(first, last):
            self.buffer.pop(y, None)
        if how in (0, 1):
            self.erase_in_line(how)

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """EL, by dropping cells."""
        row = self.buffer[self.cursor.y]
        first, last = {0: (self.cursor.x, self.columns), 1: (0, self.cursor.x)}.get(how, (0, self.columns))
        for x in [x for x in row if first <= x <= last]:
            del row[x]
        if how != 1:
            row.pop(WRAPPED, None)
        if first == 0:  # and what comes here now does not continue the row above
            above = self.buffer[self.cursor.y - 1] if self.cursor.y else self.history[-1] if self.history else row
            above.pop(WRAPPED, None)

    def scroll(self, count: int) -> None:
        """SU for `count` lines, SD for `-count`; the cursor stays."""
        saved = self.cursor.y, self.cursor.x
        top, bottom = self._region()
        lines = min(abs(count), bottom - top + 1, self._budget)
        self._budget -= lines
        self.cursor.y = bottom if count > 0 else top
        for _ in range(lines):
            if count > 0:
                self.index()
            else:
                self.reverse_index()
        self.cursor.y, self.cursor.x = saved

    def repeat(self, count: int) -> None:
        """REP: the last character again, a row of it at most."""
        if self.cursor.x:
            count = min(count, self.columns, self._budget)
            self._budget -= count
            self.draw(self.buffer[self.cursor.y][self.cursor.x - 1].data[:1] * count)

    def tabs(self, count: int) -> None:
        """CHT for `count` stops, CBT for `-count`."""
        for _ in range(min(abs(count), len(self.tabstops) + 1)):
            if count > 0:
                self.tab()
            else:
                self.cursor.x = max([0, *(stop for stop in self.tabstops if stop < self.cursor.x)])

    def lines_seen(self) -> list[str]:
        """History and screen as logical lines, without blank ones at the end."""
        lines: list[str] = []
        open_line = ""
        for row in [*self.history, *(self.buffer[y] for y in range(self.lines))]:
            open_line += row_text(row, self.columns)
            if WRAPPED in row:
                continue
            lines.append(open_line.rstrip())
            open_line = ""
        lines.append(open_line.rstrip())
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _region(self) -> Margins:
        return self.margins or Margins(0, self.lines - 1)


def row_text(row: Row, columns: int) -> str:
    """A row's characters; half a wide character is a blank."""
    last = max((x for x in row if x < columns), default=-1)
    if WRAPPED in row:
        last = max(last, columns - 2)  # the last cell may have stayed free for a wide character
    parts: list[str] = []
    wide = False
    for x in range(last + 1):
        data = row[x].data
        if wide and data:
            parts[-1] = " "
        parts.append(data or ("" if wide else " "))
        wide = bool(data) and columns_of(data[0]) == 2
    return "".join(parts)
