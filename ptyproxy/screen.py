"""What a person saw of a command's output: bytes -> text. Invariant: any bytes give text, in which nothing of a
sequence, of a mark or of a full-screen program is left.

While the cursor only moves forward, lines do not depend on each other (`text`, fast); what moves it up or elsewhere is
replayed on a screen of the real width (`replay`, slow), from `REACH_LINES` before the first such move, `REPLAY_CHARS`
at most.
"""

from __future__ import annotations

import re
from functools import cache

from ptyproxy.text import strip_sequences
from ptyproxy.wrap import cell_width

REPLAY_CHARS = 256 * 1024  # half a second; what lies before it is taken as if nothing had moved
REACH_LINES = 120  # no terminal is higher, and nothing above the screen can be moved to
DEFAULT_COLS = 80
MAX_COLS = 1000

_CSI = r"(?:\x1b\[|\x9b)"
# Cursor up, down or to a place, scrolling, inserting, saving: everything whose effect is not within the line.
_NEEDS_SCREEN = rf"{_CSI}[0-9;]*[ABEFHILMSTZ@`abdefrsu]|{_CSI}[1-3][0-9;]*J|\x1b[78DEM]|\x1b#8|[\x84\x85\x8d]"
_ALTERNATE = rf"{_CSI}\?(?P<modes>[0-9;]*)(?P<set>[hl])|\x1bc"
_ALTERNATE_MODES = frozenset({"47", "1047", "1049"})
_HOME = rf"{_CSI}(?:[01]?(?:;[01]?)?)?[Hf]"
_CLEAR = rf"{_HOME}(?:{_CSI}[023]?J){{1,3}}|(?:{_CSI}[23]J){{1,3}}{_HOME}(?:{_CSI}[0-3]?J){{0,3}}|\x1bc"
# DCS, SOS, PM, APC over several lines, as pictures are (sixel, ReGIS); only where they end
_STRINGS = r"\x1b[PX^_][^\x1b\x18\x1a]*\x1b\\"
_COLORS = rf"{_CSI}[0-9;:]*m"
# back to the line's start, and the line erased: nothing before it on the line is left
_RESTARTED = rf"(?m)^[^\n]*(?:\r|{_CSI}1?G){_CSI}[02]?K"
_LINE_DRAWING = r"\x1b\(0(?P<drawn>[^\x1b\n]*)"
# DEC Special Graphics (VT220 reference, table 2-4), from ` on
_DRAWN = str.maketrans("`afgjklmnopqrstuvwxyz{|}~", "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def screen_text(data: bytes, cols: int) -> str:
    """The lines of `data` as they stood on a terminal `cols` wide, joined by LF, soft-wrapped ones as one line.

    Without blanks at line ends and blank lines at both ends. A line end alone is taken as CR LF where no CR LF is.
    """
    cols = min(cols, MAX_COLS) if cols > 0 else DEFAULT_COLS
    text = data.decode("utf-8", "replace")
    if "\x1b" in text or "\x9b" in text:
        text = _since_clear(_main_screen(_compiled(f"{_COLORS}|{_STRINGS}").sub("", text)))
        text = _compiled(_LINE_DRAWING).sub(lambda match: match["drawn"].translate(_DRAWN), text)
    text = text.replace("\x0b", "\n").replace("\x0c", "\n")
    at = _replay_start(text, cols)
    if at is None:
        text = _plain(text)
    else:
        from ptyproxy.replay import replay  # pyte: 70 ms

        text = _plain(text[:at]) + "\n".join(replay(text[at:], cols))
    return "\n".join(map(str.rstrip, text.split("\n"))).strip("\n")


def _plain(text: str) -> str:
    """The fast path. Nothing stands below the cursor, so erasing to the screen's end erases to the line's."""
    if "\x1b[" in text:
        text = _compiled(rf"{_CSI}0*J").sub("\x1b[K", text)
        text = _compiled(_RESTARTED).sub("", text)
    return strip_sequences(text.replace("\r\n", "\n"))


def _main_screen(text: str) -> str:
    """`text` without what was written to the alternate screen (xterm ctlseqs, DECSET 47, 1047, 1049)."""
    if "\x1b[?" not in text and "\x9b?" not in text:
        return text
    parts: list[str] = []
    start = 0  # of the main screen's part that is open
    alternate = False
    for match in _compiled(_ALTERNATE).finditer(text):
        if match["modes"] is not None and _ALTERNATE_MODES.isdisjoint(match["modes"].split(";")):
            continue
        entered = match["set"] == "h"
        if entered and not alternate:
            parts.append(text[start : match.start()])
        elif not entered and alternate:
            start = match.start() if match["set"] is None else match.end()  # a reset also clears the main screen
        alternate = entered
    if not alternate:
        parts.append(text[start:])
    return "".join(parts)


def _since_clear(text: str) -> str:
    """What was written since the screen was last cleared, if that is anything, else what stood there before."""
    segments = _compiled(_CLEAR).split(text)
    if len(segments) == 1:
        return text
    for segment in reversed(segments):
        if strip_sequences(segment).strip():
            return segment
    return segments[-1]


def _replay_start(text: str, cols: int) -> int | None:
    """Where the part to be replayed begins, at a line; None when nothing moves but forward."""
    found = _compiled(_NEEDS_SCREEN).search(text)
    if not found:
        if not _wraps_by_hand(text, cols):
            return None
        first = 0
    else:
        first = found.start()
    earliest = max(0, len(text) - REPLAY_CHARS)
    if earliest:
        earliest = text.find("\n", earliest) + 1 or earliest
    for _ in range(REACH_LINES + 1):
        first = text.rfind("\n", earliest, max(first, earliest))
        if first < 0:
            return earliest
    return first + 1


def _wraps_by_hand(text: str, cols: int) -> bool:
    """Whether a line editor forced a wrap: a blank after the last column, then CR (readline, in a nested shell)."""
    for part in _compiled(r"[^\r\n]* (?=\r[^\n])").findall(text) if " \r" in text else ():
        if len(part) > cols and cell_width(strip_sequences(part)) % cols == 1:
            return True
    return False
