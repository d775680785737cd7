"""Terminal output -> the text a person saw. Invariant: lines are independent of each other, so any cut of the
input between or within lines gives the same text.
"""

from __future__ import annotations

from collections.abc import Sequence


def strip_sequences(text: str) -> str:
    """`text` without control sequences: CR overwrites and backspaces applied, CRLF as LF, invisibles dropped."""
    raise NotImplementedError


class Stripper:
    """`strip_sequences` for text that comes in pieces; complete lines come out."""

    def feed(self, text: str) -> str:
        """The stripped lines that `text` completes (each with its newline)."""
        raise NotImplementedError

    def flush(self) -> str:
        """The last line, if it had no newline."""
        raise NotImplementedError


def join_wrapped(lines: Sequence[str], width: int | None = None) -> list[str]:
    """`lines` with those joined that a terminal of `width` columns (None: detected) had wrapped."""
    raise NotImplementedError
