"""Lines that a terminal broke at its edge, put together again, so that a token broken at column 80 is seen whole.
Invariant: only a newline is ever removed, and only after a line that fills the terminal's width.

Copied text does not say where a line was broken, so the width is detected and a join needs evidence: rulers, tables,
log prefixes and key blocks fill a width too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

# Narrower than any terminal that people copy logs from; base64 (64, 76) and hex dumps lie above it and are known below.
MIN_WIDTH = 40
# One full line is evidence at the widths that terminals and CI runners start with; elsewhere it takes more.
COMMON_WIDTHS = frozenset({80, 100, 120, 132, 160})
MANY = 3
# A broken token is at least this long over both lines, and mixes letters and digits.
TOKEN_LENGTH = 16

_TOKEN = r"[A-Za-z0-9_\-+/=.:@%~]"
_NEW_RECORD = (
    r"\d{4}-\d\d-\d\d|\[?\d\d:\d\d|\[[\da-z.]|e: |[$#>+] |-----"
    r"|(?:error|warning|fatal|npm|traceback|info|debug|warn|trace)\b"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def cell_width(text: str) -> int:
    """Columns of a terminal that `text` fills: wide and full-width characters 2, marks and format characters 0.

    By Python's own table: wcwidth takes too long to import for every log that holds one dash beyond ASCII.
    """
    if text.isascii():
        return len(text)
    width = 0
    for char in text:
        if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width


def continues(lines: Sequence[str], width: int | None = None) -> list[bool]:
    """For each line whether the next one is its continuation; the last is always False."""
    open_to_join = _outside_key_blocks(lines)
    widths = [cell_width(line) if free else 0 for line, free in zip(lines, open_to_join, strict=True)]
    strong = width is not None
    if width is None:
        width = max(widths, default=0)
        if width < MIN_WIDTH:
            return [False] * len(lines)
        full = [line for line, w in zip(lines, widths, strict=True) if w == width]
        strong = len(full) >= MANY and not _alike(full)
        if not strong and width not in COMMON_WIDTHS and len(full) < 2:
            return [False] * len(lines)
    result = [
        _fills(widths[i], width, lines[i + 1]) and open_to_join[i + 1] and _fits(lines[i], lines[i + 1], strong)
        for i in range(len(lines) - 1)
    ]
    return [*result, False] if lines else []


def may_continue(lines: Sequence[str], width: int | None = None) -> list[bool]:
    """For each line whether the next one could be its continuation, for those who would rather be wrong than miss it:
    it fills a terminal, and there need be no other evidence. The last is always False.
    """
    widths = [cell_width(line) for line in lines]
    terminals = {max(widths, default=0), *COMMON_WIDTHS} if width is None else {width}
    return [
        i + 1 < len(lines)
        and any(filled >= MIN_WIDTH and _fills(filled, terminal, lines[i + 1]) for terminal in terminals)
        for i, filled in enumerate(widths)
    ]


def _fills(width: int, terminal: int, following: str) -> bool:
    return width == terminal or (width == terminal - 1 and cell_width(following[:1]) == 2)


def _alike(lines: Sequence[str]) -> bool:
    """Whether the lines all start alike, as in a hex dump or a table: rows, not pieces of a longer line."""
    return len({_compiled(r"[0-9a-f]").sub("0", line[:9]) for line in lines}) == 1


def _fits(line: str, following: str, strong: bool) -> bool:
    if not following:
        return False
    if _compiled(r"([^A-Za-z0-9\s])\1{3}$").search(line) and "-----BEGIN " not in line and "-----END " not in line:
        return False  # a ruler
    if _compiled(_NEW_RECORD).match(following.lower()):
        return False
    if strong:
        last = _compiled(_TOKEN[:-1] + r""" ,;"'(\[{<\\]$""")
        first = _compiled(_TOKEN[:-1] + r"""$"'(\[{<*\\,;)}\]]| \S""")
        return bool(last.search(line)) and bool(first.match(following))
    before = _compiled(rf"{_TOKEN}{{1,64}}$").search(line[-64:])
    after = _compiled(rf"{_TOKEN}{{1,64}}").match(following)
    if not before or not after:
        return False
    token = before.group() + after.group()
    mixed = _compiled(r"[A-Za-z].*\d|\d.*[A-Za-z]").search(token)
    return len(token) >= TOKEN_LENGTH and bool(mixed)


def _outside_key_blocks(lines: Sequence[str]) -> list[bool]:
    """False for the lines of a PEM or PGP block: all of one width by their own format. A block within a line (JSON)
    is no such block, and its borders may be wrapped."""
    inside = False
    result = []
    for line in lines:
        border = line.rstrip().endswith("-----")
        begins = border and "-----BEGIN " in line
        ends = border and "-----END " in line
        inside = (inside or begins) and not ends
        result.append(not (inside or begins or ends))
    return result
