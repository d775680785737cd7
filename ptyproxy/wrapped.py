"""The parts of one running shell, connected. Imported after the spawn, see `late_tap`; belongs to the pump's thread.

Invariant: `close` ends what was started here and undoes the terminal modes that the child left on.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ptyproxy.capture import Capture
from ptyproxy.control import ControlThread
from ptyproxy.diagnosis import Diagnosis
from ptyproxy.integration.base import Plan
from ptyproxy.messages import Publish
from ptyproxy.notices import Notices
from ptyproxy.options import Options, hotkey_byte
from ptyproxy.policy import Settings, answering_programs
from ptyproxy.ports import MakeAssistant
from ptyproxy.session import LINE_ORDER, STATUS_FILE, Session
from ptyproxy.tap import ShellTap

if TYPE_CHECKING:
    from ptyproxy.platform.ports import PumpPort, TerminalPort


class WrappedShell:
    """What knows the shell; `close` it when the shell has ended."""

    def __init__(
        self,
        options: Options,
        session: Session,
        plan: Plan,
        terminal: TerminalPort,
        pump: PumpPort,
        make_assistant: MakeAssistant,
    ) -> None:
        self._options = options
        self._session = session
        self._plan = plan
        self._terminal = terminal
        self._status = ""
        self._started_at = time.time()
        self._tty = terminal.name()
        self.pump = pump
        self.control = ControlThread(lambda: make_assistant(session.nonce, self._cols), session.id, self.pump.wake)
        self.capture = Capture(session.nonce, capacity=options.ring_bytes, cwd=_cwd())
        self.tap = ShellTap(
            self.capture,
            plan.kind,
            cols=self._cols,
            receive=self.control.receive,
            hotkey=hotkey_byte(options.hotkey),
            hotkey_key=plan.hotkey_key,
        )
        notices = Notices(self.tap, session, plan.widget_key, self.pump.send, self.pump.show)
        diagnosis = Diagnosis(
            notices,
            self.control.post,
            self.tap.findings.find,
            self._insert,
            auto=options.auto,
            marker=options.marker,
            settings=Settings(ignore=answering_programs(options.ignore)),
        )
        self.tap.attach(notices, diagnosis, session.nonce)
        self.tap.on_state = self._publish
        self.tap.on_start = self.control.start  # now there is time for what is heavy
        self.tap.on_mode = self._enter_mode
        self.pump.tap = self.tap
        self._publish()

    def _cols(self) -> int:
        return self._terminal.size().cols

    def _enter_mode(self) -> None:
        """The `@ai` mode is wanted; its modules are imported now."""
        if not self._terminal.is_tty:
            return  # a script's input is for the shell
        if self.tap.mode is None:
            from ptyproxy.idm.start import make_mode

            self.tap.mode = make_mode(
                self._options, self._session, self._plan, self._terminal, self.pump, self.tap, self.control
            )
        self.tap.mode.enter()

    def _insert(self, line: str) -> None:
        """Put a line into the shell's editor; the widget does it when the line is empty or still ours."""
        if self._plan.widget_key and self.tap.takes_orders:
            try:
                self._session.write(LINE_ORDER, line.encode())
            except OSError:
                return
            self.pump.send(self._plan.widget_key)

    def _publish(self) -> None:
        self.control.post(Publish(self.state()))
        self._write_status()

    def _write_status(self) -> None:
        """What the doctor wants to know, also when no gateway runs."""
        plan, facts = self._plan, self.capture.facts
        status: dict[str, object] = {
            "path": plan.command.path,
            "kind": plan.kind,
            "integrated": int(plan.integrated),
            "reason": plan.reason,
            "console": " ".join(self.pump.pty.note.split()),
            "seen": int(self.capture.authenticated or (plan.kind == "sh" and self.tap.prompt_span != (0, 0))),
            **{name: facts[name] for name in ("shell", "hotkey", "hooks", "keymap") if name in facts},
        }
        text = "".join(f"{name}={value}\n" for name, value in status.items())
        if text != self._status:
            self._status = text
            with contextlib.suppress(OSError):
                self._session.write(STATUS_FILE, text.encode("utf-8", "surrogateescape"))

    def state(self) -> Mapping[str, object]:
        """The shell's state, as `gateway.listShells` tells it."""
        records = self.capture.records
        last = records[-1] if records else None
        return {
            "auto_enabled": self.tap.diagnosis.auto,
            "busy": self.tap.diagnosis.busy,
            "running": self.tap.marked and self.tap.findings.running(self.tap.diagnosis.is_ours) is not None,
            "pid": os.getpid(),
            "shell": self._plan.kind or os.path.basename(self._plan.command.path),
            "cwd": self.capture.cwd or "",
            "tty": self._tty,
            "started_at": self._started_at,
            "last_active": time.time(),
            "last_command": (last.command or "") if last else "",
            "last_exit": last.exit_code if last else None,
        }

    @property
    def faults(self) -> int:
        """Reads that a fault of ours kept from being understood; the shell had them all the same."""
        return self.capture.faults

    def close(self) -> None:
        """Undo the modes that the child left on, and end the control thread."""
        if self.tap.mode is not None:
            self.pump.show(self.tap.mode.close())
        resets = self.capture.modes.resets()
        if resets and self._terminal.is_tty:
            self.pump.show(resets)
        self.control.close()


def _cwd() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
