"""Replays output on a screen of the real width and reads the lines off it. Invariants: no input raises, and time and
memory are bounded by its length.

pyte's own parser is not used: it prints the bodies of DCS and of colon-separated SGR, takes no private parameters and
does not restore what ?1049 saves (pyte 0.8.2). Its screen gets, one by one, the sequences that move the cursor or alter
cells (ECMA-48 8.3, xterm ctlseqs); everything else is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from pyte import modes

from ptyproxy.replay_screen import ReplayScreen
from ptyproxy.text import CONTROLS, SEQUENCES

# Higher than terminals are, so that going up reaches what it reached there. Lower where a program addresses rows:
# it knows where the bottom is.
ROWS = 120
MIN_ROWS = 10
MAX_ROWS = 300  # who goes to a row beyond asks for the screen's size (CSI 999;999H)
MAX_NUMBER = 1000

_ADDRESSED_ROW = r"(?:\x1b\[|\x9b)(?:\d*;(?=\d+r))?(\d+)(?:;\d*)?[Hfdr]"
AUTOWRAP = 7  # DECAWM

Numbers = list[int]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def replay(text: str, cols: int) -> list[str]:
    """The lines that `text` leaves on a screen `cols` wide, with those that scrolled off it, oldest first."""
    screen = ReplayScreen(cols, _height(text))
    if "\r\n" not in text:
        screen.set_mode(modes.LNM)  # no terminal driver added the CRs: a line end stands for both
    text = text.replace("\u2028", " ").replace("\u2029", " ")
    at = 0
    for match in _compiled(rf"{SEQUENCES}|[\t\n]|{CONTROLS}").finditer(text):
        if match.start() > at:
            screen.draw(text[at : match.start()])
        at = match.end()
        if match["final"]:
            _control(screen, match["final"], match["args"])
        elif match.group() in _PLAIN:
            _PLAIN[match.group()](screen)
    screen.draw(text[at:])
    return screen.lines_seen()


def _height(text: str) -> int:
    """The screen's rows: the lowest one that is addressed."""
    rows = [int(row[:6]) for row in _compiled(_ADDRESSED_ROW).findall(text)]
    return max((row for row in rows if MIN_ROWS <= row <= MAX_ROWS), default=ROWS)


def _control(screen: ReplayScreen, final: str, args: str) -> None:
    """Carry out one CSI sequence."""
    if args[:1] in ("<", "=", ">", "?"):
        if final in "hl" and args[0] == "?" and str(AUTOWRAP) in args[1:].split(";"):
            _switch(screen, final == "h", AUTOWRAP, private=True)
        return
    numbers = [min(int(part[:6]), MAX_NUMBER) if part.isdecimal() and part.isascii() else 0 for part in args.split(";")]
    if final in _COUNTED:
        _COUNTED[final](screen, numbers[0] or 1)
    elif final in _OTHER:
        _OTHER[final](screen, [*numbers, 0])


def _switch(screen: ReplayScreen, on: bool, mode: int, *, private: bool = False) -> None:
    if on:
        screen.set_mode(mode, private=private)
    else:
        screen.reset_mode(mode, private=private)


def _insert_mode(screen: ReplayScreen, on: bool, numbers: Numbers) -> None:
    if modes.IRM in numbers:
        _switch(screen, on, modes.IRM)


_COUNTED: dict[str, Callable[[ReplayScreen, int], None]] = {
    "@": ReplayScreen.insert_characters,
    "A": ReplayScreen.cursor_up,
    "B": ReplayScreen.cursor_down,
    "C": ReplayScreen.cursor_forward,
    "D": ReplayScreen.cursor_back,
    "E": ReplayScreen.cursor_down1,
    "F": ReplayScreen.cursor_up1,
    "G": ReplayScreen.cursor_to_column,
    "I": ReplayScreen.tabs,
    "L": ReplayScreen.insert_lines,
    "M": ReplayScreen.delete_lines,
    "P": ReplayScreen.delete_characters,
    "S": ReplayScreen.scroll,
    "T": lambda screen, count: screen.scroll(-count),
    "X": ReplayScreen.erase_characters,
    "Z": lambda screen, count: screen.tabs(-count),
    "`": ReplayScreen.cursor_to_column,
    "a": ReplayScreen.cursor_forward,
    "b": ReplayScreen.repeat,
    "d": ReplayScreen.cursor_to_line,
    "e": ReplayScreen.cursor_down,
}
# their numbers are followed by a 0 more, so that two can be asked for
_OTHER: dict[str, Callable[[ReplayScreen, Numbers], None]] = {
    "H": lambda screen, numbers: screen.cursor_position(numbers[0], numbers[1]),
    "J": lambda screen, numbers: screen.erase_in_display(numbers[0]),
    "K": lambda screen, numbers: screen.erase_in_line(numbers[0]),
    "f": lambda screen, numbers: screen.cursor_position(numbers[0], numbers[1]),
    "h": lambda screen, numbers: _insert_mode(screen, True, numbers),
    "l": lambda screen, numbers: _insert_mode(screen, False, numbers),
    "r": lambda screen, numbers: screen.set_margins(numbers[0] or 1, numbers[1] or screen.lines),
    "s": lambda screen, numbers: screen.save_cursor(),
    "u": lambda screen, numbers: screen.restore_cursor(),
}
_PLAIN: dict[str, Callable[[ReplayScreen], None]] = {
    "\n": ReplayScreen.linefeed,
    "\r": ReplayScreen.carriage_return,
    "\t": ReplayScreen.tab,
    "\x08": ReplayScreen.backspace,
    "\x84": ReplayScreen.index,
    "\x85": ReplayScreen.next_line,
    "\x8d": ReplayScreen.reverse_index,
    "\x1b7": ReplayScreen.save_cursor,
    "\x1b8": ReplayScreen.restore_cursor,
    "\x1bD": ReplayScreen.index,
    "\x1bE": ReplayScreen.next_line,
    "\x1bM": ReplayScreen.reverse_index,
}
