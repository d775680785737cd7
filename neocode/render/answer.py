"""A model's answer -> a `Diagnosis`: cause, commands to try, commands to look closer, confidence.

Invariants: `parse_answer` takes any text and never raises; every string it returns has passed the sanitiser; a
command that needed cleaning, spans lines or may be cut off is in `flagged` and never in a command list.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Confidence = Literal["high", "medium", "low"]


class Flagged(msgspec.Struct, frozen=True):
    """A command that is shown but never inserted or listed. `text` is sanitised and may span lines."""

    section: Literal["fix", "check"]
    text: str
    reason: str


class Diagnosis(msgspec.Struct, frozen=True):
    """What an answer says. Explanation is Markdown; the commands are single lines, ready to be inserted."""

    confidence: Confidence = "low"
    root_cause: str = ""
    explanation: str = ""
    fix_commands: tuple[str, ...] = ()
    investigation_commands: tuple[str, ...] = ()
    flagged: tuple[Flagged, ...] = ()
    well_formed: bool = False


def parse_answer(text: str, *, cut: bool = False) -> Diagnosis:
    """Read an answer in the form Cause / Fix / Check / Confidence, or in whatever a small model made of it.

    `cut` says that the answer ended at an output limit or a broken stream: a last command in an unclosed fence
    is then flagged. Text that does not keep the form becomes the `explanation` of a `well_formed=False` result.
    """
    raise NotImplementedError


def may_insert(command: str) -> bool:
    """Whether `command` may be put into a shell's line editor: one line, nothing the sanitiser would change."""
    raise NotImplementedError
