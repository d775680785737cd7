"""Patterns that a user wrote. Invariants: one that does not compile or runs away is refused with a reason, and one
that passed looks at no line longer than `LINE_LIMIT` at once, so its time is bounded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from ptyproxy.redact.finder import FILLER, Span

# Longer lines are searched in pieces of this length: a pattern quadratic in the line stays harmless.
LINE_LIMIT = 2048
# Pieces of a long line overlap by this, the longest match that is found for sure.
OVERLAP = 256
# A pattern may take this long (seconds of CPU) on a probe of LINE_LIMIT / 2 characters or less.
PROBE_SECONDS = 0.03
_PROBE_LENGTHS = (8, 12, 16, 20, 24, 28, 64, 128, 256, 512, 1024)
_PROBE_ALPHABET = "aA0 -_.x/="


def compile_user_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern. Raises ValueError: not a regular expression, or its time explodes with the input."""
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"redaction pattern {pattern!r} is not a regular expression: {error}") from None
    if _runs_away(compiled):
        raise ValueError(f"redaction pattern {pattern!r} takes too long on some texts; avoid nested repeats")
    return compiled


def _runs_away(pattern: re.Pattern[str]) -> bool:
    """Try texts that nearly match, growing; stop at the first slow one, before an exponential one hurts."""
    own = [char for char in dict.fromkeys(pattern.pattern) if char.isalnum()][:8]
    for unit in dict.fromkeys([*_PROBE_ALPHABET, *own, "aA", "a0", "a-"]):
        for length in _PROBE_LENGTHS:
            probe = unit * (length // len(unit)) + "\x00"
            if min(_seconds(pattern, probe) for _ in range(2)) > PROBE_SECONDS:
                return True
    return False


def _seconds(pattern: re.Pattern[str], probe: str) -> float:
    started = time.thread_time()
    pattern.search(probe)
    return time.thread_time() - started


def find_user(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """Spans of the group `secret` if the pattern has one, else of the match; nothing that touches a mask."""
    group: int | str = "secret" if "secret" in pattern.groupindex else 0
    for at, piece in _pieces(pattern, text):
        for match in pattern.finditer(piece):
            first, last = match.span(group)
            if first < last and FILLER not in piece[first:last]:
                yield at + first, at + last, "custom"


def _pieces(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    """(offset, piece): lines, so that `^` and `$` mean what they do in grep; all of it for a pattern over lines."""
    if "\\n" in pattern.pattern or "\n" in pattern.pattern or pattern.flags & (re.DOTALL | re.MULTILINE):
        yield 0, text
        return
    start = 0
    for line in text.splitlines(keepends=True):
        for at in range(0, max(1, len(line) - OVERLAP), LINE_LIMIT - OVERLAP):
            yield start + at, line[at : at + LINE_LIMIT].rstrip("\r\n")
        start += len(line)
