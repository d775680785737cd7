"""What a check comes to, and how checks are run. Invariant: a check that fails is a finding, never the doctor's end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from neocode.errors import NeocodeError

Status = Literal["ok", "warn", "broken"]


class Check(NamedTuple):
    """One finding. `what`: how it is, one line; `do`: what to change, empty when there is nothing to do."""

    name: str
    status: Status
    what: str
    do: str = ""


class Situation(NamedTuple):
    """What the command line said. `online`: the provider may be called."""

    gateway: str | None = None
    token_file: str | None = None
    online: bool = False


Examine = Callable[[Situation], Iterable[Check]]


def examine(name: str, look: Examine, situation: Situation) -> Iterator[Check]:
    """The findings of one examination named `name`; what it raises is the last of them."""
    try:
        yield from look(situation)
    except NeocodeError as error:
        yield Check(name, "broken", error.message, error.hint)
    except Exception as error:
        if os.environ.get("NEOCODE_DEBUG"):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        yield Check(name, "broken", " ".join(str(reason).split()), "set NEOCODE_DEBUG=1 to see where")
