"""What every finder of secrets shares. A finder reads a text in which what was masked before is one `FILLER` and yields
the spans that it takes for secrets. Invariant: patterns are compiled when a text first needs them, because all of them
together take 60 ms.
"""

from __future__ import annotations

import re
from functools import cache

# What stands for masked text: a noncharacter, so no pattern takes it for part of a token.
FILLER = "\ufdd0"

Span = tuple[int, int, str]  # characters [start, end) and the kind of secret


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, with ASCII classes."""
    return re.compile(pattern, re.ASCII)
