"""Makes the `@ai` mode of a running shell, on its first use: the pump's half now, the editor's with the first line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ptyproxy.control import ControlThread
from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.idm.mode import Mode
from ptyproxy.integration.base import Plan
from ptyproxy.integration.hotkey import uses_vi
from ptyproxy.messages import FromMode
from ptyproxy.options import Options
from ptyproxy.ports import Assistant
from ptyproxy.session import Session
from ptyproxy.tap import ShellTap

if TYPE_CHECKING:
    from ptyproxy.idm.editor import Editor
    from ptyproxy.idm.visit import Visitor
    from ptyproxy.platform.ports import PumpPort, TerminalPort


def make_mode(
    options: Options,
    session: Session,
    plan: Plan,
    terminal: TerminalPort,
    pump: PumpPort,
    tap: ShellTap,
    control: ControlThread,
) -> Mode:
    """The mode of this shell, not entered yet; `control` will make its other half."""
    keyboard = Keyboard(pump.wake)
    history = Path(options.mode_history) if options.mode_history else None

    def rows_and_cols() -> tuple[int, int]:
        size = terminal.size()
        return size.rows, size.cols

    def make_visitor(assistant: Assistant, tell: Callable[[FromMode], None]) -> Visitor:
        from ptyproxy.idm.visit import Visitor

        return Visitor(assistant, tell, keyboard, make_editor, marker=options.marker)

    def make_editor(show: Callable[[bytes], None]) -> Editor:
        from ptyproxy.idm.editor import Editor
        from ptyproxy.idm.keymap import prefers_vi

        def vi() -> bool:
            said = uses_vi(tap.capture.facts)
            return prefers_vi(plan.kind, os.environ) if said is None else said

        term = os.environ.get("TERM", "")
        return Editor(keyboard, show, rows_and_cols, history=history, vi=vi, term=term)

    control.make_visitor = make_visitor
    return Mode(
        tap.capture,
        session,
        plan.widget_key,
        pump,
        tap,
        keyboard,
        control.post,
        cols=lambda: terminal.size().cols,
        in_foreground=pump.pty.in_foreground,
        control_alive=lambda: control.alive,
    )
