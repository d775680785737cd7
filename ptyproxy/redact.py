"""Secrets out of captured text before it leaves the process. Invariants: a secret is masked whole or not at all,
the mask says its kind (`[redacted:github-token]`), and redacting twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Mask(NamedTuple):
    """A secret in a text: characters [start, end) and its kind."""

    start: int
    end: int
    kind: str


class Redacted(NamedTuple):
    """A text without secrets, how many were masked now, and how many of each kind."""

    text: str
    count: int
    kinds: dict[str, int]


class Redactor:
    """Masks built-in kinds, `patterns` (regular expressions, kind "custom") and `literals` (kind "known-secret").

    A pattern with a group named `secret` masks only that group. Raises ValueError for a pattern that does not
    compile or that takes unbounded time; the message names it.
    """

    def __init__(self, patterns: Sequence[str] = (), literals: Sequence[str] = ()) -> None:
        raise NotImplementedError

    def find(self, text: str) -> list[Mask]:
        """The secrets of `text`, in order, not overlapping; masks already in it are not counted."""
        raise NotImplementedError

    def redact(self, text: str) -> Redacted:
        """`text` with every secret replaced by `[redacted:<kind>]`."""
        raise NotImplementedError
