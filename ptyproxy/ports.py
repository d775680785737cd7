"""What the shell proxy needs of the application, as protocols that `neocode` fills in (ports, not imports).

Invariants: everything here runs on the control thread's event loop, never on the pump's thread; text that comes back
is safe to show (sanitised, SGR at most, lines end in LF); text that goes out has been redacted by whom it is handed to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from ptyproxy.records import CommandRecord, Output

Show = Callable[[str], None]


class Finding(NamedTuple):
    """A command that ended, as it is to be diagnosed. `cols`: the terminal's width while it ran.

    `record` None: there is only the recent screen (`output`). `near`: the commands before it, oldest first, for the
    first turn of an `@ai` talk. `automatic`: nobody asked; a remote provider may not be asked then without consent.
    `unsure`: the shell does not tell exit codes; nobody is asked unless the text itself says that the command failed.
    """

    record: CommandRecord | None
    output: Output
    cols: int
    shell: str
    automatic: bool
    near: tuple[tuple[CommandRecord, Output], ...] = ()
    unsure: bool = False


class Answer(NamedTuple):
    """What an answer came to. `fixes`: single-line commands that passed the sanitiser, `dangerous` the ones among
    them that are destructive and therefore only shown. `closing`: the dim line about provider, tokens, masks.
    `suggested`: every command to try, in the answer's order, those that may only be shown included.
    """

    root_cause: str
    fixes: tuple[str, ...]
    closing: str
    suggested: tuple[str, ...] = ()


class AssistantError(Exception):
    """An answer that did not come: one line that says why and what to do."""


class ConsentNeeded(AssistantError):
    """The provider is remote and the user has not allowed automatic diagnosis with it; the line says how."""


class NothingSaid(AssistantError):
    """An `unsure` finding whose text does not say that anything failed: there is nothing to show."""


class Assistant(Protocol):
    """The application's side of a shell: one gateway connection for diagnoses, `@ai` turns and notifications."""

    async def run(self, session_id: str, notified: Callable[[str, Mapping[str, object]], None]) -> None:
        """Keep connected as `session_id` with role `shell` until cancelled; `notified(action, payload)` for each
        `diagnose`, `idm_enter`, `auto_on`, `auto_off` that comes. Never raises but CancelledError.
        """
        ...

    async def publish(self, state: Mapping[str, object]) -> None:
        """Make the shell's state known; it is redacted on the way. Does nothing while not connected."""
        ...

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        """Ask about `finding`; `show` gets each block of the answer, rendered. Cancel the task to stop the provider.

        Raises:
            NothingSaid: nothing failed, as far as the text of an `unsure` finding tells.
            AssistantError: no answer; the text is the one line to show.
        """
        ...

    async def turn(self, talk: str, question: str, finding: Finding | None, show: Show) -> Answer:
        """One `@ai` turn of the talk `talk` (an ask session id); `finding` is what happened since the turn before."""
        ...

    async def end_talk(self, talk: str) -> None:
        """Forget the talk. Never raises."""
        ...

    async def allow_automatic(self, allowed: bool) -> None:
        """Remember `neocode diag auto on|off` for the provider in use."""
        ...

    async def close(self) -> None:
        """Leave the gateway. Idempotent; takes at most a second."""
        ...


# of the nonce, which is to be masked wherever it shows, and of what tells the terminal's width now, from any thread
MakeAssistant = Callable[[str, Callable[[], int]], Assistant]
