"""No pattern of ours can take exponential time: a hostile line would stop the one gateway, whose lock `re` holds.

The check is structural: an unbounded repeat inside an unbounded repeat is refused unless named here with its reason.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import neocode
import ptyproxy
from neocode.providers.offline.unknown import important_lines

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:
    import sre_constants as codes
    import sre_parse as parser

ROOMS = (neocode, ptyproxy)
# each piece of the inner repeat begins with a character that the outer one's other branches exclude
UNAMBIGUOUS = {("neocode.providers.offline.template", "_WORD")}


def patterns() -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    """(module, name, pattern) of every compiled pattern that a module of ours holds under a name."""
    for room in ROOMS:
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            if info.name.endswith("__main__"):
                continue
            try:
                module = importlib.import_module(info.name)
            except (ImportError, AssertionError):  # another platform's
                continue
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern):
                    yield info.name, name, value


def nests_repeats(tree: Any, *, inside: bool = False) -> bool:
    """Whether an unbounded repeat lies inside another in this parsed pattern."""
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            _, most, body = argument
            unbounded = most == codes.MAXREPEAT
            if (unbounded and inside) or nests_repeats(body, inside=inside or unbounded):
                return True
        elif code in (codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT):
            if nests_repeats(argument[-1], inside=inside):
                return True
        elif code is codes.BRANCH and any(nests_repeats(branch, inside=inside) for branch in argument[1]):
            return True
    return False


def test_the_check_knows_the_pattern_that_stopped_a_gateway() -> None:
    assert nests_repeats(parser.parse(r"(?i)(?:[A-Z][a-z]+)+(?:Error|Exception)\b"))
    assert not nests_repeats(parser.parse(r"(?:ab?)+c*(?:d|e{2,5})+"))


def test_no_pattern_repeats_a_repeat() -> None:
    found = list(patterns())
    assert len(found) > 40
    nested = {
        (module, name) for module, name, pattern in found if nests_repeats(parser.parse(pattern.pattern, pattern.flags))
    }
    assert nested <= UNAMBIGUOUS


def test_a_long_word_without_an_error_is_weighed_at_once() -> None:
    started = time.perf_counter()
    assert important_lines("a" * 4000 + "\nFooBarError: x") == ["FooBarError: x"]
    assert time.perf_counter() - started < 1
