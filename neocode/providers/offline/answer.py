"""A hit made into an answer: texts filled, commands rendered for the user's shell, computed fixes added.

Invariant: text from the log is shown cleaned and shortened, and stands in a command only through `template.render`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from neocode.providers.base import AskContext
from neocode.providers.offline.compute import COMPUTE, Situation
from neocode.providers.offline.logtext import clean
from neocode.providers.offline.match import Hit
from neocode.providers.offline.rule import Confidence, Rule
from neocode.providers.offline.select import select, shell_kind, system
from neocode.providers.offline.template import PLACEHOLDER, Draft, Typed, render
from neocode.providers.offline.types import TEXT, visible

TEXT_NAMES = frozenset(["exit_code", "command", "program", "cwd"])
MAX_SHOWN = 120  # characters of a captured value in a sentence
_ORDINARY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:/@+-]*", re.ASCII)


class Fault(NamedTuple):
    """One fault, ready to show; commands may hold `# comment` lines. `seen_in_log` is false for one told by the
    exit code or the command line alone."""

    rule_id: str
    cause: str
    explanation: str
    fix: tuple[str, ...]
    check: tuple[str, ...]
    confidence: Confidence
    seen_in_log: bool = True


def fault(hit: Hit, context: AskContext) -> Fault:
    """What to tell about `hit`."""
    rule, kind = hit.rule, shell_kind(context.shell, context.os)
    situation = Situation(hit.groups, context, clean(context.log).text)
    computed = [COMPUTE[name](situation) for name in rule.computed()]
    name = system(context.os, kind)
    values = {group: Typed(kind_of, "") for group, kind_of in rule.params.items()}  # absent: validates as nothing
    values |= {group: Typed(rule.params.get(group, TEXT), value) for group, value in hit.groups.items()}
    fix = [draft for extra in computed for draft in extra.fix]
    check = [draft for extra in computed for draft in extra.check]
    fix += [Draft(command, _own(values)) for command in select(rule.fix, kind, name)]
    check += [Draft(command, values) for command in select(rule.check, kind, name)]
    explained = [expand(rule.explain, hit.groups, context), *(extra.explain for extra in computed)]
    said = [extra.confidence for extra in computed if extra.confidence]
    return Fault(
        rule_id=rule.id,
        cause=expand(rule.cause, hit.groups, context),
        explanation=" ".join(text for text in explained if text),
        fix=_lines(fix, kind),
        check=_lines(check, kind),
        confidence=_first(said, rule),
        seen_in_log=hit.first >= 0,
    )


def _own(values: Mapping[str, Typed]) -> dict[str, Typed]:
    """For fixes, which change what they name: a path from the log must be one that is a person's to change."""
    return {
        group: Typed("own-path", value) if kind == "path" else Typed(kind, value)
        for group, (kind, value) in values.items()
    }


def _first(said: list[Confidence], rule: Rule) -> Confidence:
    return said[0] if said else rule.confidence


def _lines(drafts: Iterable[Draft], kind: str) -> tuple[str, ...]:
    """The drafts as lines, once each; a comment whose commands were all dropped goes too."""
    lines: list[str] = []
    for draft in drafts:
        line = render(draft, kind)
        if line is None or line in lines:
            continue
        if line.startswith("#") and lines and lines[-1].startswith("#"):
            lines.pop()
        lines.append(line)
    while lines and lines[-1].startswith("#"):
        lines.pop()
    return tuple(lines)


def expand(text: str, groups: Mapping[str, str], context: AskContext) -> str:
    """`text` with its placeholders filled by cleaned values; unusual ones in back quotes."""
    exit_code = "" if context.exit_code is None else str(context.exit_code)
    program = context.command.split(" ")[0]
    facts = {"exit_code": exit_code, "command": context.command, "program": program, "cwd": context.cwd}
    values = {**facts, **groups}

    def fill(match: re.Match[str]) -> str:
        value = shown(values.get(match[1], ""))
        quoted = text.count("`", 0, match.start()) % 2 == 1
        return value if quoted or _ORDINARY.fullmatch(value) else f"`{value}`"

    return PLACEHOLDER.sub(fill, text)


def shown(value: str) -> str:
    """A captured value made fit for a sentence: one line, visible characters, no back quote, shortened."""
    value = "".join(c if visible(c) else " " for c in value.replace("`", "'"))
    value = " ".join(value.split())
    return value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 1] + "…"
