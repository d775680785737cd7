"""All examinations in their order. Invariant: each is imported and run on its own, so that none can keep another from
being heard.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module

from neocode.doctor.check import Check, Situation, examine

# the name to report when it fails, module, function
EXAMINATIONS = (
    ("versions", "versions", "versions"),
    ("terminal", "terminal", "terminal"),
    ("system", "platform_windows" if sys.platform == "win32" else "platform_unix", "system"),
    ("shell", "shell", "shell"),
    ("permissions", "permissions", "permissions"),
    ("gateway", "gateway", "gateway"),
    ("provider", "provider", "provider"),
)


def all_checks(situation: Situation) -> Iterator[Check]:
    """Every finding, as soon as it is there."""
    for name, module, function in EXAMINATIONS:

        def look(given: Situation, module: str = module, function: str = function) -> Iterable[Check]:
            found: Iterable[Check] = getattr(import_module(f"neocode.doctor.{module}"), function)(given)
            return found

        yield from examine(name, look, situation)
