"""Patterns over a log's bytes, compiled when a log first needs them. Invariant: importing this room compiles none."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: bytes) -> re.Pattern[bytes]:
    """The pattern; `re` has a cache too, five times as slow, which shows in what is asked once per line."""
    return re.compile(pattern)
