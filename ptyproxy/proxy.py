"""`neocode shell` from end to end: session, plan, spawn, pump, and everything put back afterwards.

Invariants: whatever fails before the spawn ends in the user's plain shell (`NotStarted`); after it, every way out
restores the terminal, undoes the modes the child left on and removes the session's directory. What is not needed to
start the shell is imported while it starts (`late_tap`).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from ptyproxy.integration.base import Plan
from ptyproxy.options import Options
from ptyproxy.platform.base import SpawnError
from ptyproxy.session import Session, open_session

if TYPE_CHECKING:
    from ptyproxy.platform.ports import PumpPort, TerminalPort
    from ptyproxy.ports import MakeAssistant
    from ptyproxy.tap_guard import Tap
    from ptyproxy.wrapped import WrappedShell

if sys.platform == "win32":
    from ptyproxy.platform.windows import ConsoleEvents as Signals
    from ptyproxy.platform.windows import Terminal, WindowsPty, original_environment, spawn

    def _make_pump(pty: WindowsPty, terminal: Terminal, signals: Signals) -> PumpPort:
        from ptyproxy.platform.windows_pump import WindowsPump

        return WindowsPump(pty, terminal, signals=signals)

else:
    from ptyproxy.platform.unix import Terminal, UnixPty, spawn
    from ptyproxy.platform.unix_inherited import original_environment
    from ptyproxy.platform.unix_signals import SignalPipe as Signals

    def _make_pump(pty: UnixPty, terminal: Terminal, signals: Signals) -> PumpPort:
        from ptyproxy.pump import Pump

        return Pump(pty, terminal, signals=signals)


SWITCH_SEC = 0.001  # how long the control thread may hold the interpreter while a byte waits for the pump


class NotStarted(Exception):
    """Something of ours failed before the spawn: one line, and the user's shell is to be run without us."""


def run(options: Options, base: str, make_assistant: MakeAssistant) -> int:
    """Wrap the shell until it ends; returns its exit status. `base`: our 0700 directory for sessions.

    Raises:
        NotStarted: ours failed before the spawn.
        SpawnError: the shell cannot be run.
    """
    gc.disable()  # until everything is made: a collection would find nothing
    with ExitStack() as stack:
        try:
            with _telling("cannot use this terminal"):
                signals = stack.enter_context(Signals())  # first: a signal must not leave the directory behind
                terminal = Terminal()
                stack.callback(terminal.close)
            with _telling(f"cannot start a session in {base}"):
                session = open_session(base)
                stack.callback(session.close)
                plan = _plan(options, session, terminal)
            with _telling("cannot start the shell"):
                pty = spawn(plan.command, terminal.exact_size(), terminal.attributes, signals)
        except (SpawnError, NotStarted):
            raise
        except Exception as error:  # a fault of ours must not keep anybody from their shell
            raise NotStarted(f"internal error ({type(error).__name__}: {error})") from error
        stack.callback(pty.close)
        pump = _make_pump(pty, terminal, signals)  # and its modules, while the shell starts
        return _pump(pump, terminal, Parts(options, session, plan, terminal, pump, make_assistant))


@contextmanager
def _telling(what: str) -> Iterator[None]:
    """The system's errors in the block as NotStarted: `what` failed, and why."""
    try:
        yield
    except OSError as error:
        raise NotStarted(f"{what}: {error.strerror or error}") from error


def _plan(options: Options, session: Session, terminal: Terminal) -> Plan:
    from ptyproxy.integration.plan import plan

    return plan(
        options.shell,
        options.arguments,
        original_environment(),
        session,
        login=options.login,
        hotkey=options.hotkey,
        integrate=options.integrate and terminal.is_tty,
    )


def _pump(pump: PumpPort, terminal: TerminalPort, parts: Parts) -> int:
    from ptyproxy.late_tap import LateTap

    late = LateTap(parts.make)
    try:
        terminal.enter()
        pump.tap = late
        sys.setswitchinterval(SWITCH_SEC)
        return pump.run()
    finally:
        with suppress(Exception):  # the status of the shell counts more than a mode that stays on
            late.close()
        parts.close()
        terminal.leave()
        report_fault(pump.tap_error, parts.faults)


class Parts:
    """Makes the `WrappedShell` when its modules are there, and closes it, if it was made."""

    def __init__(
        self,
        options: Options,
        session: Session,
        plan: Plan,
        terminal: TerminalPort,
        pump: PumpPort,
        make_assistant: MakeAssistant,
    ) -> None:
        self._given = (options, session, plan, terminal, pump, make_assistant)
        self._made: WrappedShell | None = None

    def make(self) -> Tap:
        """The real tap, which is the pump's from now on."""
        from ptyproxy.wrapped import WrappedShell

        self._made = WrappedShell(*self._given)
        gc.freeze()  # what lives as long as we do need not be looked at again
        gc.enable()
        return self._made.tap

    @property
    def faults(self) -> int:
        """See `WrappedShell.faults`."""
        return self._made.faults if self._made is not None else 0

    def close(self) -> None:
        """See `WrappedShell.close`."""
        if self._made is not None:
            self._made.close()


def report_fault(error: Exception | None, faults: int) -> None:
    """Say once, when the shell has ended, what we did not see of it: the fault was ours, the shell went on."""
    if error is not None:
        if os.environ.get("NEOCODE_DEBUG"):
            raise error
        print(f"neocode: diagnosis stopped in this shell ({type(error).__name__}: {error})", file=sys.stderr)
    elif faults:
        print(f"neocode: {faults} pieces of output were not understood (a fault of ours)", file=sys.stderr)
