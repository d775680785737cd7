"""What the pump's thread and the control thread tell each other. Values only; both queues are bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ptyproxy.ports import Answer, Finding


class Ask(NamedTuple):
    """To the control thread: diagnose, or answer a free `question` (one `@ai` turn). `ticket` names it from now on."""

    ticket: int
    finding: Finding | None
    question: str = ""


class Stop(NamedTuple):
    """To the control thread: this answer is not wanted any more."""

    ticket: int


class Publish(NamedTuple):
    """To the control thread: the shell's state for the gateway."""

    state: Mapping[str, object]


class AllowAutomatic(NamedTuple):
    """To the control thread: the user switched automatic diagnosis."""

    allowed: bool


class Block(NamedTuple):
    """From the control thread: the next lines of an answer, safe to show."""

    ticket: int
    text: str


class Done(NamedTuple):
    """From the control thread: the answer is complete."""

    ticket: int
    answer: Answer


class Failed(NamedTuple):
    """From the control thread: no answer, and why; `consent`: the user has to allow it first."""

    ticket: int
    line: str
    consent: bool = False


class Notified(NamedTuple):
    """From the control thread: another program wants `diagnose`, `idm_enter`, `auto_on` or `auto_off`."""

    action: str
    payload: Mapping[str, object]


ToControl = Ask | Stop | Publish | AllowAutomatic
FromControl = Block | Done | Failed | Notified
