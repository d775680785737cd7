"""No pattern is slow, whatever the log: measured on nasty input, and the whole set on a usual log."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import pytest

from neocode.providers.base import AskContext
from neocode.providers.offline.load import rules as all_rules
from neocode.providers.offline.logtext import MAX_LOG, clean
from neocode.providers.offline.match import find, matches
from neocode.providers.offline.rule import Rule, compiled, starts_lines

pytestmark = pytest.mark.no_cover  # what is timed is not traced

MAX_SECONDS = 0.2  # the aim is 0.05 s; a slow machine gets four times that, a quadratic pattern takes much more
MAX_SET_SECONDS = 0.12  # the aim is 0.03 s
MAX_OPEN_SECONDS = 0.6  # every rule's regex runs: no real log holds a keyword of each


def _fill(piece: str) -> str:
    return clean((piece * (MAX_LOG // len(piece) + 1))[:MAX_LOG]).text


NASTY = {
    "one letter": _fill("a"),
    "spaces": _fill(" "),
    "newlines": _fill("\n"),
    "words": _fill("a "),
    "colons": _fill("a:"),
    "colon words": _fill("a: "),
    "quotes": _fill("'a'"),
    "short lines": _fill("a: b\n"),
    "indented lines": _fill("    x y\n"),
    "paths": _fill("/usr/lib/x.so: "),
    "digits": _fill("1"),
    "npm lines": _fill("npm ERR! code E\n"),
    "traceback frames": _fill('  File "/a/b.py", line 1, in f\n    x\n'),
    "git lines": _fill("error: fatal: remote: \n"),
    "dashes": _fill("- "),
}


def _seconds(work: Callable[[], object], limit: float) -> float:
    """Processor time, the best of up to three runs, so that other work on the machine does not count."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
        if best < limit:
            break
    return best


def _near_matches(rule: Rule) -> list[str]:
    """Text made of the rule's own keywords, on long lines and on many lines."""
    return [_fill(word + end) for word in rule.keywords[:2] for end in (" ", "\n")]


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in all_rules() if rule.pattern])
def test_a_pattern_is_fast_on_nasty_input(rule: Rule) -> None:
    for text in [*NASTY.values(), *_near_matches(rule)]:
        for pattern in filter(None, (rule.pattern, rule.unless, rule.unless_anywhere)):
            find_all = functools.partial(compiled(pattern, rule.flags == "i").findall, text)
            assert _seconds(find_all, MAX_SECONDS) < MAX_SECONDS, pattern


@pytest.mark.parametrize("name", NASTY)
def test_the_whole_set_is_fast_on_16_kib(name: str) -> None:
    context = AskContext(log=NASTY[name][: 16 * 1024])
    find(context)
    assert _seconds(lambda: find(context), MAX_SET_SECONDS) < MAX_SET_SECONDS


def test_the_whole_set_is_bounded_on_a_log_that_opens_every_gate() -> None:
    words = sorted({word for rule in all_rules() for word in rule.keywords})
    context = AskContext(log="\n".join(words)[: 16 * 1024])
    find(context)
    assert _seconds(lambda: find(context), MAX_OPEN_SECONDS) < MAX_OPEN_SECONDS


def test_trying_line_starts_only_finds_what_a_search_finds(recorded_logs: list[str]) -> None:
    logs = [clean(log) for log in recorded_logs]
    for rule in all_rules():
        if rule.pattern and starts_lines(rule.pattern):
            for log in logs:
                fast = [match.span() for match in matches(rule, log)]
                assert fast == [match.span() for match in rule.regex().finditer(log.text)], rule.id


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^a", True),
        ("^a|^b", True),
        ("^a|b", False),
        ("^(?:a|b)", True),
        ("a", False),
        (r"^[|(]a\|b", True),
        ("^[]|]", True),
        ("^[^]|]|x", False),
    ],
)
def test_a_pattern_that_starts_lines_is_told_from_others(pattern: str, expected: bool) -> None:
    assert starts_lines(pattern) is expected
