"""`neocode shell` from end to end: session, plan, spawn, pump, and everything put back afterwards.

Invariants: whatever fails before the spawn ends in the user's plain shell (`NotStarted`); after it, every way out
restores the terminal, undoes the modes the child left on and removes the session's directory.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ptyproxy.capture import Capture
from ptyproxy.control import ControlThread
from ptyproxy.diagnosis import Diagnosis
from ptyproxy.integration.base import Plan
from ptyproxy.integration.plan import plan as make_plan
from ptyproxy.messages import Publish
from ptyproxy.notices import Notices
from ptyproxy.policy import Settings
from ptyproxy.ports import Assistant
from ptyproxy.pump import Pump
from ptyproxy.session import LINE_ORDER, Session, open_session
from ptyproxy.tap import ShellTap

if sys.platform != "win32":
    from ptyproxy.platform.unix import Terminal, UnixPty, spawn

SWITCH_SEC = 0.001  # how long the control thread may hold the interpreter while a byte waits for the pump
START_ANYWAY_SEC = 1.0  # a shell without marks never says that its prompt is there


class Options(NamedTuple):
    """What the user asked for. `hotkey`: the control character that Ctrl+G is, e.g. 7."""

    shell: str
    arguments: tuple[str, ...] = ()
    login: bool = False
    integrate: bool = True
    auto: bool = True
    marker: bool = True
    hotkey: int = 7
    ring_bytes: int = 1 << 20
    settings: Settings = Settings()


class NotStarted(Exception):
    """Something of ours failed before the spawn: one line, and the user's shell is to be run without us."""


def run(options: Options, base: Path, make_assistant: Callable[[], Assistant]) -> int:
    """Wrap the shell until it ends; returns its exit status. `base`: our 0700 directory for sessions.

    Raises:
        NotStarted: ours failed before the spawn.
        SpawnError: the shell cannot be run.
    """
    try:
        session = open_session(base)
    except OSError as error:
        raise NotStarted(f"cannot make a session in {base}: {error.strerror}") from error
    try:
        terminal = Terminal()
        try:
            return _run(options, session, terminal, make_assistant)
        finally:
            terminal.close()
    finally:
        session.close()


def _run(options: Options, session: Session, terminal: Terminal, make_assistant: Callable[[], Assistant]) -> int:
    plan = make_plan(
        options.shell,
        options.arguments,
        os.environb,
        session,
        login=options.login,
        hotkey=options.hotkey,
        integrate=options.integrate and terminal.is_tty,
    )
    pty = spawn(plan.command, terminal.size(), terminal.attributes)
    proxy = Proxy(options, session, plan, terminal, pty, make_assistant)
    try:
        terminal.enter()
        gc.freeze()
        sys.setswitchinterval(SWITCH_SEC)
        return proxy.pump.run()
    finally:
        proxy.close()
        pty.close()
        terminal.leave()
        report_fault(proxy.pump.tap_error)


class Proxy:
    """The parts of one running shell, connected."""

    def __init__(
        self,
        options: Options,
        session: Session,
        plan: Plan,
        terminal: Terminal,
        pty: UnixPty,
        make_assistant: Callable[[], Assistant],
    ) -> None:
        self._session = session
        self._plan = plan
        self._terminal = terminal
        self._started_at = time.time()
        self._tty = _tty_name()
        self.pump = Pump(pty, terminal)
        self.control = ControlThread(make_assistant, session.id, self.pump.wake)
        self.capture = Capture(session.nonce, capacity=options.ring_bytes, cwd=_cwd())
        self.tap = ShellTap(
            self.capture,
            plan.kind,
            cols=lambda: terminal.size().cols,
            receive=self.control.receive,
            hotkey=options.hotkey,
        )
        notices = Notices(self.tap, session, plan.widget_key, self.pump.send, self.pump.show)
        diagnosis = Diagnosis(
            notices,
            self.control.post,
            self.tap.find,
            self._insert,
            auto=options.auto,
            marker=options.marker,
            settings=options.settings,
        )
        self.tap.attach(notices, diagnosis, session.nonce)
        self.tap.on_state = self._publish
        self.tap.on_prompt = self._prompted
        self.pump.tap = self.tap
        self._publish()

    def _prompted(self) -> None:
        """The first prompt shows: now there is time for what is heavy."""
        self.tap.on_prompt = _nothing
        self.control.start()

    def _insert(self, line: str) -> None:
        """Put a line into the shell's editor; the widget does it when the line is empty or still ours."""
        if self._plan.widget_key:
            try:
                self._session.write(LINE_ORDER, line.encode())
            except OSError:
                return
            self.pump.send(self._plan.widget_key)

    def _publish(self) -> None:
        self.control.post(Publish(self.state()))

    def state(self) -> Mapping[str, object]:
        """The shell's state as the gateway knows it (protocol, section 5)."""
        records = self.capture.records
        last = records[-1] if records else None
        return {
            "auto_enabled": self.tap.diagnosis.auto,
            "busy": self.tap.diagnosis.busy,
            "pid": os.getpid(),
            "shell": self._plan.kind or os.path.basename(self._plan.command.path),
            "cwd": self.capture.cwd or "",
            "tty": self._tty,
            "started_at": self._started_at,
            "last_active": time.time(),
            "last_command": (last.command or "") if last else "",
            "last_exit": last.exit_code if last else None,
        }

    def close(self) -> None:
        """Undo the modes that the child left on, and end the control thread."""
        resets = self.capture.modes.resets()
        if resets and self._terminal.is_tty:
            self.pump.show(resets)
        self.control.close()


def report_fault(error: Exception | None) -> None:
    """Say once, when the shell has ended, that we had stopped looking: the fault was ours, the shell went on."""
    if error is not None:
        if os.environ.get("NEOCODE_DEBUG"):
            raise error
        print(f"neocode: diagnosis stopped in this shell ({type(error).__name__}: {error})", file=sys.stderr)


def _nothing() -> None:
    """In the place of a callback that has done its work."""


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _tty_name() -> str:
    try:
        return os.ttyname(0)
    except OSError:
        return ""
