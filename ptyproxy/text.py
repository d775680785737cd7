"""Terminal output -> the text a person saw, without a screen. Invariant: lines do not depend on each other, so the
input may be cut anywhere; every pattern here takes time linear in the line (no sequence spans a newline).

Grammar: ECMA-48 5.4 (CSI), 5.6 (control strings), ECMA-35 (ESC with intermediates), xterm ctlseqs (OSC ended by BEL).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

# A longer line is taken as several, each by itself. Far above any line that a person reads.
LINE_LIMIT = 1 << 20
# A cursor moved right of this stays there; no terminal is that wide, and the padding is ours to pay.
MAX_COLUMN = 1000
TAB = 8

_CANCEL = "\x18\x1a"
SEQUENCES = (
    rf"(?:\x1b\]|\x9d)[^\n\x07\x1b\x80-\x9f{_CANCEL}]*(?:\x07|\x1b\\|\x9c|[{_CANCEL}])"
    # tmux passes sequences through in a DCS with every ESC doubled; 64 of them bound the time
    rf"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\n\x1b\x80-\x9f{_CANCEL}]*"
    rf"(?:\x1b\x1b[^\n\x1b\x80-\x9f{_CANCEL}]*){{0,64}}(?:\x1b\\|\x9c|[{_CANCEL}])"
    r"|(?:\x1b\[|\x9b)(?P<args>[0-?]*)[ -/]*(?P<final>[@-~]?)"
    r"|\x1b[ -/]*[0-~]?"  # also the introducer of a string that never ends: what follows is text
)
# One cell each: Latin, dashes, arrows, boxes and blocks, Braille (of spinners and bars).
_NARROW = "[ -~\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2319\u2500-\u25fc\u2800-\u28ff]*"
_MOVES = r"[\r\x08]|(?:\x1b\[|\x9b)[0-9;]*[CDG]"
CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
# Without ink and without use in a log, but able to hide a token from a pattern or a sentence from a reader.
INVISIBLE = (
    "[\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e0fff]|(?<=[!-~])[\u200c\u200d\ufe00-\ufe0f]+|[\u200c\u200d]+(?=[!-~])"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def strip_sequences(text: str) -> str:
    """`text` without control sequences: CR overwrites, backspaces and moves within a line applied, CRLF as LF,
    invisible and undecodable characters dropped or shown as U+FFFD. A control string that does not end on its line
    loses its introducer only."""
    return "\n".join(map(_strip_long_line, text.split("\n")))


def _strip_long_line(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return _strip_line(line)
    return "".join(_strip_line(line[at : at + LINE_LIMIT]) for at in range(0, len(line), LINE_LIMIT))


def _strip_line(line: str) -> str:
    if line.isascii():
        if line.isprintable():
            return line
    else:
        line = _compiled("[\u2028\u2029]").sub(" ", line)
        line = _compiled("[\ud800-\udfff]").sub("\ufffd", line)
        line = _compiled(INVISIBLE).sub("", line)
    if line.endswith("\r"):
        line = line.rstrip("\r")
    if _compiled(_MOVES).search(line):
        return _replay(line)
    return _compiled(f"{SEQUENCES}|{CONTROLS}").sub("", line)


def _replay(line: str) -> str:
    """The line as it stands after every overwrite, cell by cell: a wide character has two of them."""
    cells: list[str] = []
    column = 0
    start = 0
    for match in _compiled(rf"{SEQUENCES}|\t|{CONTROLS}").finditer(line):
        column = _write(cells, column, line[start : match.start()])
        start = match.end()
        if match.group() == "\r":
            column = 0
        elif match.group() == "\x08":
            column = max(0, column - 1)
        elif match.group() == "\t":
            column = (column // TAB + 1) * TAB
        elif match.group("final"):
            column = _control(cells, column, match.group("final"), match.group("args"))
    _write(cells, column, line[start:])
    return "".join(cells)


def _write(cells: list[str], column: int, text: str) -> int:
    """Put `text` into the cells from `column` on; the column after it. The second cell of a wide one is empty."""
    if not text:
        return column
    if column > len(cells):
        cells.extend(" " * (column - len(cells)))
    new = list(text) if _compiled(_NARROW).fullmatch(text) else _cells_of(text, cells, column)
    if not new:
        return column
    end = column + len(new)
    if column < len(cells) and column and not cells[column]:
        cells[column - 1] = " "  # half a wide character is none
    if end < len(cells) and not cells[end]:
        cells[end] = " "
    cells[column:end] = new
    return end


def _cells_of(text: str, cells: list[str], column: int) -> list[str]:
    """The cells of `text`; a mark that has no cell of its own joins the one before it."""
    new: list[str] = []
    for char in text:
        width = columns_of(char)
        if width > 0:
            new += (char, "") if width == 2 else (char,)
            continue
        target, at = (new, len(new) - 1) if new else (cells, column - 1)
        if at > 0 and not target[at]:
            at -= 1
        if at >= 0:
            target[at] += char
    return new


@lru_cache(maxsize=4096)
def columns_of(char: str) -> int:
    """Cells that a character takes on a terminal: 0, 1 or 2. The table of the answers' wrap too (urwid/urwid#468)."""
    from wcwidth import wcwidth  # only where there is more than Latin text

    return max(0, wcwidth(char))


def _control(cells: list[str], column: int, final: str, args: str) -> int:
    """Apply one CSI sequence that works within the line; the new column."""
    number = int(args[:6]) if args.isdecimal() and args.isascii() else 0
    count = max(1, number)
    if final == "C":
        return max(column, min(column + count, MAX_COLUMN))
    if final == "D":
        return max(0, column - count)
    if final == "G":
        return min(count - 1, max(MAX_COLUMN, len(cells)))
    if final == "P":
        del cells[column : column + count]
    elif final == "K" and number == 0:
        del cells[column:]
    elif final == "K" and number == 2:
        cells.clear()
    elif final in "KX":
        first, last = (0, column + 1) if final == "K" else (column, column + count)
        last = min(last, len(cells))
        cells[first:last] = " " * max(0, last - first)
    return column
