"""The `@ai` mode's line editor: prompt_toolkit, told how to begin and how to end a line. Control thread only; imported
with the first visit.

Invariants: a line for the shell leaves no trace on the screen (the shell shows it itself), every other one stays.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.enums import DEFAULT_BUFFER, EditingMode
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import PromptSession

from ptyproxy.idm.history import ModeHistory
from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.idm.line import read_line
from ptyproxy.idm.terminal import KeyInput, ModeOutput

PROMPT = FormattedText([("bold", "ai> ")])
CONTINUATION = "  > "


class Ended(Enum):
    """How the editor ended without a line."""

    LEAVE = "leave"  # Ctrl-D, or Ctrl-C on an empty line
    DISCARDED = "discarded"  # Ctrl-C


class Editor:
    """`show`: writes to the terminal. `size`: its rows and columns. `vi`: whether a line begun now has vi's
    keys; else it has Emacs's.
    """

    def __init__(
        self,
        keyboard: Keyboard,
        show: Callable[[bytes], None],
        size: Callable[[], tuple[int, int]],
        *,
        history: Path | None,
        vi: Callable[[], bool],
        term: str,
    ) -> None:
        self._input = KeyInput(keyboard)
        self._vi = vi
        self._session: PromptSession[str | Ended] = PromptSession(
            PROMPT,
            history=ModeHistory(history),
            key_bindings=self._bindings(),
            prompt_continuation=CONTINUATION,
            include_default_pygments_style=False,
            reserve_space_for_menu=0,
            complete_while_typing=False,
            enable_open_in_editor=False,
            input=self._input,
            output=ModeOutput(show, size, term),
        )
        self._session.app.terminal_size_polling_interval = None  # `resized` says it
        self._session.default_buffer.accept_handler = self._accepted

    async def read(self, text: str = "") -> str | Ended:
        """The next line; `text` stands in it to begin with. Cancel the task to stop: `text` then has what was typed."""
        self._session.editing_mode = EditingMode.VI if self._vi() else EditingMode.EMACS
        return await self._session.prompt_async(default=text, set_exception_handler=False, handle_sigint=False)

    @property
    def text(self) -> str:
        """What stands in the line."""
        return self._session.default_buffer.text

    def resized(self) -> None:
        """Draw anew in the terminal's new size."""
        if self._session.app.is_running:
            self._session.app._on_resize()

    def redraw(self) -> None:
        """Something else was printed: draw again where the cursor is now, at the start of a row."""
        app = self._session.app
        if app.is_running:
            app.renderer.reset()
            app.invalidate()

    def _accepted(self, buffer: Buffer) -> bool:
        self._end(buffer.document.text, keep=read_line(buffer.document.text).kind not in ("run", "leave"))
        return True

    def _end(self, result: str | Ended, *, keep: bool) -> None:
        self._input.stop()
        self._session.app.erase_when_done = not keep
        self._session.app.exit(result=result)

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        focused = has_focus(DEFAULT_BUFFER)
        empty = Condition(lambda: not self._session.default_buffer.text)

        @bindings.add("c-c", filter=focused)
        def _interrupt(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                self._end(Ended.DISCARDED, keep=True)
            else:
                self._end(Ended.LEAVE, keep=False)

        @bindings.add("c-d", filter=focused & empty)
        def _leave(event: KeyPressEvent) -> None:
            self._end(Ended.LEAVE, keep=False)

        return bindings
