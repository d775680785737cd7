"""Runs of text wrapped to a terminal's width and painted.

Invariants: no line is wider than the width (but for one cell cluster that alone is); every line opens and closes its
own SGR, so a line cut off by Ctrl-C never leaves the terminal coloured; SGR is added here, after sanitising.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from neocode.render.inline import Run

MIN_WIDTH = 20  # below this hard wraps would leave no room beside a list's indentation

# Kinsoku: what must not begin or end a line (JIS X 4051, the common core).
_NO_START = frozenset("、。，．！？：；）」』】〕〉》］｝”’…ー々・,.!?:;)]}")
_NO_END = frozenset("\u200d（「『【〔〈《［｛“‘([{")

Cell = tuple[str, int, tuple[str, ...]]  # text of one cluster, its columns, its style


def wrap(runs: list[Run], width: int, first: str = "", later: str = "", *, color: bool) -> Iterator[str]:
    """Lines without line end. `first` and `later` are the indentation of the first and of the other lines."""
    indent = first
    room = max(width, MIN_WIDTH) - len(first)
    line: list[Cell] = []
    used = 0
    break_at = 0
    for cell in _cells(runs):
        if cell[0] == "\n":
            yield indent + paint(_trimmed(line), color=color)
            indent, room = later, max(width, MIN_WIDTH) - len(later)
            line, used, break_at = [], 0, 0
            continue
        if cell[0] == " " and not line:
            continue
        if line and _may_break(line[-1], cell):
            break_at = len(line)
        if used + cell[1] > room and line and cell[0] != " ":
            cut = break_at or len(line)
            yield indent + paint(_trimmed(line[:cut]), color=color)
            indent, room = later, max(width, MIN_WIDTH) - len(later)
            line = line[cut:]
            used, break_at = sum(each[1] for each in line), 0
        line.append(cell)
        used += cell[1]
    if line:
        yield indent + paint(_trimmed(line), color=color)


def paint(cells: list[Cell], *, color: bool) -> str:
    """The cells as text, each stretch of one style between its SGR and a reset."""
    parts: list[str] = []
    style: tuple[str, ...] = ()
    for text, _, wanted in cells:
        if color and wanted != style:
            parts.append("\x1b[0m" if style else "")
            parts.append(f"\x1b[{';'.join(wanted)}m" if wanted else "")
            style = wanted
        parts.append(text)
    return "".join(parts) + ("\x1b[0m" if style else "")


def styled(text: str, *style: str, color: bool) -> str:
    """One piece of already sanitised text in one style."""
    return f"\x1b[{';'.join(style)}m{text}\x1b[0m" if color and text else text


def _trimmed(line: list[Cell]) -> list[Cell]:
    end = len(line)
    while end and line[end - 1][0] == " ":
        end -= 1
    return line[:end]


def _may_break(before: Cell, after: Cell) -> bool:
    """After a blank, and beside a wide character unless the pair belongs together."""
    if after[0] == " ":
        return False
    if before[0] == " ":
        return True
    wide = before[1] == 2 or after[1] == 2
    return wide and after[0][0] not in _NO_START and before[0][-1] not in _NO_END


def _cells(runs: list[Run]) -> Iterator[Cell]:
    """Clusters of a base character and the zero-width ones behind it."""
    pending: Cell | None = None
    for text, style in runs:
        for character in text.replace("\t", " "):
            columns = _columns(character)
            if pending is not None and columns == 0 and character != "\n":
                joined = pending[0] + character
                pending = (joined, max(pending[1], _columns(joined)), pending[2])
                continue
            if pending is not None:
                yield pending
            pending = (character, columns, style)
    if pending is not None:
        yield pending


@functools.lru_cache(maxsize=4096)
def _columns(text: str) -> int:
    """Columns of a cluster. One function for every width (urwid/urwid#468: tables disagree)."""
    if text == "\n":
        return 0
    if len(text) == 1 and " " <= text <= "~":
        return 1
    from wcwidth import wcswidth

    return max(0, wcswidth(text))
