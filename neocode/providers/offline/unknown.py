"""What can be said when no rule fits: the lines most likely to matter and what the exit code means.

Invariant: never a command, never more than low confidence.
"""

from __future__ import annotations

import re

from neocode.providers.base import NO_OUTPUT, AskContext
from neocode.providers.offline.answer import shown
from neocode.providers.offline.exitcodes import meaning
from neocode.providers.offline.logtext import clean
from neocode.providers.offline.select import shell_kind, system

MAX_LINES = 5
_STRONG = re.compile(
    r"(?i)\b(?:fatal|panic(?:ked)?|exception|traceback|segmentation fault|abort(?:ed)?|refused|denied|undefined"
    r"|unable to|cannot|can't|could not|couldn't|no such|not found|missing|unexpected|unknown|unsupported|timed? ?out"
    r"|invalid)\b"
)
_WEAK = re.compile(r"(?i)\berr(?:or)?s?\b|(?-i:[a-z](?:Error|Exception))\b|\bfail(?:ed|ure|ures|s)?\b|\bE\d{3,4}\b")
_HARMLESS = re.compile(
    r"(?i)\b(?:0|no|without|zero) (?:errors?|failures?|failed)\b|(?:errors?|failed|failures?)[:=] ?0\b"
)


def important_lines(log: str) -> list[str]:
    """At most MAX_LINES lines of `log` in their order: error-like ones (the last weigh most), else the last ones."""
    lines = [line.strip() for line in clean(log).text.split("\n")]
    scored = [(_score(line) + index / (len(lines) + 1), index) for index, line in enumerate(lines) if _score(line)]
    best = sorted(scored, reverse=True)
    chosen: list[int] = []
    for _, index in best:
        if len(chosen) < MAX_LINES and lines[index] not in (lines[i] for i in chosen):
            chosen.append(index)
    if not chosen:
        chosen = [index for index, line in enumerate(lines) if line][-2:]
    return [lines[index] for index in sorted(chosen)]


def _score(line: str) -> int:
    if not line or _HARMLESS.search(line):
        return 0
    return 2 * bool(_STRONG.search(line)) + bool(_WEAK.search(line))


def explanation(context: AskContext) -> str:
    """Markdown on a failure that no rule knows; may be empty."""
    kind = shell_kind(context.shell, context.os)
    parts: list[str] = []
    said = meaning(context.exit_code, kind, system(context.os, kind))
    if said:
        parts.append(said)
    parts.append(lines_to_read(context.log))
    return "\n\n".join(filter(None, parts))


def lines_to_read(log: str) -> str:
    """Markdown: the lines of `log` most likely to matter; "" for an empty log."""
    lines = [shown(line) for line in important_lines(log) if line != NO_OUTPUT]
    listed = "\n".join(f"- `{line}`" for line in lines if line)
    return f"The lines most likely to matter:\n\n{listed}" if listed else ""
