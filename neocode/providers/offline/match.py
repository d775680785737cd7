"""Which rules fit a log, best first, one per fault.

Order: specificity, then nearness to the end of the log. Invariant: one fault is listed once. Its echoes (`symptom`,
`hides`), rules of the same tool close by and rules on the same lines are left out.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from neocode.providers.base import AskContext
from neocode.providers.offline.load import rules
from neocode.providers.offline.logtext import LogText, clean
from neocode.providers.offline.rule import Rule, compiled, encoded, starts_lines

MAX_PER_RULE = 3  # the same fault with other names: three missing modules are worth telling, thirty are not
MAX_FAULTS = 5
NEAR_LINES = 12  # one tool's own message is seldom longer
UNLESS_LINES = 5
_CHAINED = re.compile(r"During handling of the above exception|The above exception was the direct cause")


class Hit(NamedTuple):
    """A rule that fits, what it captured, and the lines (0-based) that it covers; (-1, -1) without a pattern."""

    rule: Rule
    groups: dict[str, str]
    first: int
    last: int
    end: int


def find(context: AskContext, candidates: Iterable[Rule] | None = None) -> list[Hit]:
    """The faults in `context`, best first, at most MAX_FAULTS; empty when no rule fits."""
    log = clean(context.log)
    raw = log.text.encode("utf-8", "surrogatepass")  # keywords are found much faster in bytes
    hits = [hit for rule in (rules() if candidates is None else candidates) for hit in _hits(rule, log, raw, context)]
    hits.sort(key=lambda hit: (hit.rule.symptom, -hit.rule.specificity, -hit.end))
    hits = _without_hidden(hits)
    chosen: list[Hit] = []
    for hit in hits:
        if len(chosen) < MAX_FAULTS and _is_new(hit, chosen, log):
            chosen.append(hit)
    return chosen


def _hits(rule: Rule, log: LogText, raw: bytes, context: AskContext) -> list[Hit]:
    if not _gates_open(rule, raw, context):
        return []
    if not rule.pattern:
        return [Hit(rule, dict(rule.defaults), -1, -1, 0)]
    found: dict[tuple[str | None, ...], re.Match[str]] = {}
    for match in matches(rule, log):
        found.pop(match.groups(), None)
        found[match.groups()] = match
        if len(found) > MAX_PER_RULE:
            del found[next(iter(found))]
    hits = [_hit(rule, match, log) for match in reversed(found.values())]
    # what says less of the same fault (a summary line without names) goes
    fullest = [hit for hit in hits if not any(hit.groups.items() < other.groups.items() for other in hits)]
    return [hit for hit in fullest if not _excluded(rule, hit, log)]


def matches(rule: Rule, log: LogText) -> Iterator[re.Match[str]]:
    """As `finditer`; for a pattern that starts lines only those are tried, which is four times as fast."""
    regex = rule.regex()
    if not starts_lines(rule.pattern):
        yield from regex.finditer(log.text)
        return
    end = 0
    match_at = regex.match
    for start in log.starts:
        if start >= end and (match := match_at(log.text, start)) is not None:
            yield match
            end = match.end()


def _gates_open(rule: Rule, raw: bytes, context: AskContext) -> bool:
    code = context.exit_code
    if rule.exit_codes and code not in rule.exit_codes and (code is not None or not rule.pattern):
        return False
    command_counts = bool(context.command) or rule.needs_command or not rule.pattern
    if rule.command and command_counts and not compiled(rule.command).search(context.command):
        return False
    words = encoded(rule.keywords)
    return not words or any(map(raw.__contains__, words))


def _hit(rule: Rule, match: re.Match[str], log: LogText) -> Hit:
    groups: dict[str, str] = {}
    for name, value in match.groupdict().items():
        if value is not None:
            groups[name] = value
            groups.setdefault(name.rstrip("0123456789"), value)  # `file2` of another branch is `file` too
    first, last = log.line_of(match.start()), log.line_of(max(match.start(), match.end() - 1))
    return Hit(rule, {**rule.defaults, **groups}, first, last, match.end())


def _excluded(rule: Rule, hit: Hit, log: LogText) -> bool:
    if rule.unless and compiled(rule.unless).search(log.window(hit.first - UNLESS_LINES, hit.last + UNLESS_LINES)):
        return True
    return bool(rule.unless_anywhere) and compiled(rule.unless_anywhere).search(log.text) is not None


def _without_hidden(hits: list[Hit]) -> list[Hit]:
    kept = [hit for hit in hits if not any(_hides(owner.rule, hit.rule) for owner in hits)]
    return kept or hits[:1]


def _hides(owner: Rule, rule: Rule) -> bool:
    """Does `owner` name `rule` as its consequence? A more specific rule is never hidden."""
    if owner.id == rule.id or rule.specificity > owner.specificity:
        return False
    return any(fnmatch.fnmatchcase(rule.id, glob) for glob in owner.hides)


def _is_new(hit: Hit, chosen: list[Hit], log: LogText) -> bool:
    if not chosen:
        return True
    if hit.rule.symptom or hit.rule.confidence == "low" or hit.first < 0:
        return False
    return not any(_same_fault(hit, other, log) for other in chosen)


def _same_fault(hit: Hit, other: Hit, log: LogText) -> bool:
    if hit.first <= other.last and other.first <= hit.last:
        return True
    if hit.rule.id == other.rule.id:  # with other names it is another fault; with fewer only less was said of it
        return hit.groups.items() <= other.groups.items() or other.groups.items() <= hit.groups.items()
    if hit.rule.tool != other.rule.tool:
        return False
    gap = max(hit.first - other.last, other.first - hit.last)
    if gap <= NEAR_LINES:
        return True
    between = log.window(min(hit.last, other.last), max(hit.first, other.first))
    return _CHAINED.search(between) is not None
