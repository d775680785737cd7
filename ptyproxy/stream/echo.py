"""Reads off what a line editor echoed the line that stood there when Enter was pressed.

Invariant: in doubt None. Only echo that stays on one row is understood. It says every move relative to the last, which
is how readline draws what is typed, recalled or edited (ECMA-48 8.3: CUF, CUB, ICH, DCH, EL); a return to the first
column or a second line is not understood. Or (`absolute`) it says where in the row each piece goes, from the first on,
which is how a Windows console from 1.22 on draws a line that CMD reads (CUP; blanks over what was taken away).
"""

from __future__ import annotations

import re

ECHO_LIMIT = 64 * 1024  # a paste longer than that is no line that a person would recognise

# what ends every line: the newline, bracketed paste switched off
_END = re.compile(r"(?:\r|\n|\x1b\[\?2004l)*\Z")
_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f]+)"
    r"|\x1b\[(?P<count>[0-9]{0,4})(?P<move>[CDKP@])"
    r"|\x1b\[(?P<row>[0-9]{1,5});(?P<place>[0-9]{1,5})H(?P<below>\x1b\[J)?"
    r"|(?P<back>\x08)"
    r"|(?:\x1b\[\?[0-9;]*[hl]|\x1b\[[0-9;]*m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x07)"
)


def typed_line(echo: bytes, *, absolute: bool = False) -> str | None:
    """The line that these bytes, from the prompt's end to the command's start, leave on the screen."""
    if len(echo) > ECHO_LIMIT:
        return None
    text = echo.decode("utf-8", "replace")
    end = _END.search(text)
    text = text[: end.start()] if end else text
    cells: list[str] = []
    column = at = 0
    origin: tuple[str, int] | None = None  # the row as it is named, and the column of the line's first cell
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        at = match.end()
        if match["text"]:
            new = _cells(match["text"])
            cells[column : column + len(new)] = new
            column += len(new)
        elif match["back"]:
            column -= 1
        elif match["row"]:
            if origin is None and absolute and not cells:
                origin = match["row"], int(match["place"])
            if origin is None or match["row"] != origin[0]:
                return None
            column = int(match["place"]) - origin[1]
            if match["below"]:
                del cells[max(column, 0) :]
        elif match["move"]:
            column = _move(cells, column, match["move"], int(match["count"] or 1))
        if not 0 <= column <= len(cells):
            return None
    line = "".join(cells).replace("\0", "")
    return line if origin is None else line.rstrip(" ")


def _cells(text: str) -> list[str]:
    """One entry per cell; the second one of a wide character is NUL."""
    if text.isascii():
        return list(text)
    from wcwidth import wcwidth

    cells: list[str] = []
    for char in text:
        width = wcwidth(char)
        if width <= 0 and cells:
            cells[-1 if cells[-1] != "\0" else -2] += char
        else:
            cells += (char, "\0") if width == 2 else (char,)
    return cells


def _move(cells: list[str], column: int, final: str, count: int) -> int:
    if final == "C":
        return column + count
    if final == "D":
        return column - count
    if final == "P":
        del cells[column : column + count]
    elif final == "@":
        cells[column:column] = [" "] * count
    else:
        del cells[column:]
    return column
