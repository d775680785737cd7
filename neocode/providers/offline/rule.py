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
