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
    """From the control thread: no answer, and why; `consent`: the user has to allow it first. No line: no fault."""

    ticket: int
    line: str
    consent: bool = False


class Notified(NamedTuple):
    """From the control thread: another program wants `diagnose`, `idm_enter`, `auto_on` or `auto_off`."""

    action: str
    payload: Mapping[str, object]


class ModeEdit(NamedTuple):
    """To the control thread: screen and keyboard are the `@ai` mode's. `number` names this time of having them, `talk`
    the ask session of the visit.
    """

    number: int
    talk: str


class ModeTaken(NamedTuple):
    """To the control thread: they are the child's again, although nobody gave them back."""

    number: int


class ModeFinding(NamedTuple):
    """To the control thread: what a question is about; None when nothing has happened since the one before."""

    number: int
    finding: Finding | None


class ModeRedraw(NamedTuple):
    """To the control thread: draw the line anew, the terminal was resized (`size`) or something was printed."""

    number: int
    size: bool


class ModeEnded(NamedTuple):
    """To the control thread: the visit is over."""

    talk: str


class ModeText(NamedTuple):
    """From the control thread: bytes for the terminal. `drawing`: of the line editor, which a `ModeRedraw` voids."""

    number: int
    data: bytes
    drawing: bool = False


class ModeRedrawn(NamedTuple):
    """From the control thread: what is drawn from here on follows the `ModeRedraw`."""

    number: int


class ModeQuestion(NamedTuple):
    """From the control thread: the user asks; a `ModeFinding` is wanted."""

    number: int


class ModeAnswered(NamedTuple):
    """From the control thread: the assistant knows now what that finding said."""

    number: int


class ModeRun(NamedTuple):
    """From the control thread: the editor is off the screen, and `line` is for the shell."""

    number: int
    line: str


class ModeLeft(NamedTuple):
    """From the control thread: the editor is off the screen, the user wants out; `fault`: if not, why it ended."""

    number: int
    fault: str = ""


ToMode = ModeEdit | ModeTaken | ModeFinding | ModeRedraw | ModeEnded
FromMode = ModeText | ModeRedrawn | ModeQuestion | ModeAnswered | ModeRun | ModeLeft
ToControl = Ask | Stop | Publish | AllowAutomatic | ToMode
FromControl = Block | Done | Failed | Notified | FromMode
