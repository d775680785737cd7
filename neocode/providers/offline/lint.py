"""Everything that can be wrong with a rule file, said in one line each. Run by the tests over every rule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from neocode.providers.offline import template, types
from neocode.providers.offline.answer import TEXT_NAMES
from neocode.providers.offline.compute import COMPUTE
from neocode.providers.offline.rule import Rule, compiled
from neocode.providers.offline.select import KEYS

_SLOW_START = re.compile(r"^\^?(?:\(\?:)?(?:\.[*+]|\\s[*+]|\[\^?[^\]]{1,40}\][*+])")


def lint(rules: Sequence[Rule]) -> list[str]:
    """Problems of `rules`, each as `id: what`; empty when all is well."""
    found: list[str] = []
    seen: set[str] = set()
    for rule in rules:
        found += [f"{rule.id}: {problem}" for problem in lint_rule(rule)]
        if rule.id in seen:
            found.append(f"{rule.id}: the id is used twice")
        seen.add(rule.id)
    return found


def lint_rule(rule: Rule) -> list[str]:
    """What is wrong with one rule."""
    try:
        named = set(rule.regex().groupindex)
        groups = named | {name.rstrip("0123456789") for name in named}
        for pattern in (rule.unless, rule.unless_anywhere, rule.command):
            compiled(pattern)
    except re.error as error:
        return [f"regex: {error}"]
    found = _shape_problems(rule)
    known = groups | set(rule.defaults)
    found += [f"params.{name} is not a group" for name in rule.params if name not in known]
    found += [f"params.{name}: no type {kind}" for name, kind in rule.params.items() if kind not in types.TYPES]
    for text in (rule.cause, rule.explain):
        found += [f"text: {{{n}}} unknown" for n in template.placeholders(text) if n not in known | TEXT_NAMES]
    found += [f"compute: no {name}" for name in rule.computed() if name not in COMPUTE]
    for part in (rule.fix, rule.check):
        found += _command_problems(part, rule.params)
    return found


def _shape_problems(rule: Rule) -> list[str]:
    found = []
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule.id):
        found.append("id is not lower-case words with dashes")
    if not 0 <= rule.specificity <= 100:
        found.append("specificity is not 0-100")
    if not rule.pattern and not (rule.exit_codes or rule.command):
        found.append("needs a pattern, exit_codes or command")
    if rule.pattern and not rule.keywords:
        found.append("a pattern needs keywords")
    if _SLOW_START.match(rule.pattern):
        found.append("pattern starts with an unbounded repeat")
    if "\n" in rule.cause or not rule.cause:
        found.append("cause is not one line")
    return found


def _command_problems(part: Mapping[str, tuple[str, ...]], params: Mapping[str, str]) -> list[str]:
    found = [f"unknown key {key}" for key in part if key not in KEYS]
    for commands in part.values():
        for command in commands:
            found += [f"{command!r}: {problem}" for problem in template.problems(command, params)]
    return found
