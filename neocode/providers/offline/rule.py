"""One rule as a record (FORMAT.md explains every field). Invariant: immutable; regexes are compiled on first use."""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

Confidence = Literal["high", "medium", "low"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of `rules/*.toml`."""

    id: str
    tool: str
    cause: str
    confidence: Confidence
    specificity: int
    keywords: tuple[str, ...] = ()
    pattern: str = ""
    flags: Literal["", "i"] = ""
    unless: str = ""
    unless_anywhere: str = ""
    exit_codes: tuple[int, ...] = ()
    command: str = ""
    needs_command: bool = False
    explain: str = ""
    symptom: bool = False
    hides: tuple[str, ...] = ()
    defaults: dict[str, str] = {}
    params: dict[str, str] = {}
    fix: dict[str, tuple[str, ...]] = {}
    check: dict[str, tuple[str, ...]] = {}
    compute: str = ""

    def computed(self) -> list[str]:
        """The names in `compute`."""
        return [name.strip() for name in self.compute.split(",") if name.strip()]

    def regex(self) -> re.Pattern[str]:
        """`pattern`, compiled."""
        return compiled(self.pattern, self.flags == "i")


@functools.lru_cache(maxsize=4096)  # above the number of all rules' patterns; re's own cache holds 512
def compiled(pattern: str, ignore_case: bool = False) -> re.Pattern[str]:
    """A MULTILINE regex. Raises re.error."""
    return re.compile(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))


@functools.lru_cache(maxsize=4096)
def encoded(words: tuple[str, ...]) -> tuple[bytes, ...]:
    """`words` as UTF-8."""
    return tuple(word.encode() for word in words)


@functools.lru_cache(maxsize=4096)
def starts_lines(pattern: str) -> bool:
    """True when every branch of `pattern` begins with `^`, so that only line starts need to be tried."""
    depth = 0
    in_set = escaped = False
    branch_starts = [0]
    for index, character in enumerate(pattern):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif in_set:
            in_set = character != "]" or pattern[index - 1] == "[" or pattern[index - 2 : index] == "[^"
        elif character == "[":
            in_set = True
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "|" and depth == 0:
            branch_starts.append(index + 1)
    return all(pattern[start : start + 1] == "^" for start in branch_starts)
