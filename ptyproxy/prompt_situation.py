"""How the prompt stands, from the stream and the keys: what decides whether words of ours may be shown now.

Invariant: only looked at here; `tap.ShellTap`, which is one, keeps it up to date. Belongs to the pump's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptyproxy.capture import Capture
from ptyproxy.typed_line import TimedKeys, TypedLine

if TYPE_CHECKING:
    from ptyproxy.idm.mode import Mode


class PromptSituation:
    """What `notices.Situation` asks for, as far as it is known from what passed."""

    def __init__(self, capture: Capture, keys: TimedKeys, clock: Callable[[], float]) -> None:
        self.capture = capture
        self.mode: Mode | None = None  # the `@ai` mode, once it was entered
        self._clock = clock
        self._keys = keys
        self._line = TypedLine()
        self._last_output = clock()
        self._ended = False  # a command has ended and its new prompt has not begun

    @property
    def prompt_is_idle(self) -> bool:
        """A prompt is drawn, nothing was typed since, the alternate screen is off, no key is half read."""
        return self.capture.state == "input" and not (self._line.begun or self._keys.pending or self._alternate)

    @property
    def nothing_typed(self) -> bool:
        """Nothing was typed since the last Enter or prompt, and no sequence is half read."""
        return not self._keys.typed and not self._keys.pending

    @property
    def at_idle_prompt(self) -> bool:
        """The same, and the prompt has the screen to itself."""
        return self.prompt_is_idle and not self._mode_has_screen

    @property
    def _alternate(self) -> bool:
        return self.capture.modes.alternate

    @property
    def _mode_has_screen(self) -> bool:
        return self.mode is not None and self.mode.has_keyboard

    @property
    def awaits_prompt(self) -> bool:
        """A command has ended and its new prompt has not begun."""
        return self._ended and self.capture.state == "idle" and not self._alternate

    @property
    def takes_orders(self) -> bool:
        """Whether the shell's line editor looks for orders, as far as it has not said that there is none."""
        return self.capture.facts.get("widget") != "none"

    @property
    def marked(self) -> bool:
        """Whether the shell marks its prompts."""
        return self.capture.authenticated

    @property
    def quiet_since(self) -> float | None:
        """When the child last printed; None while the alternate screen is on."""
        return None if self._alternate or self._mode_has_screen else self._last_output

    @property
    def last_line(self) -> bytes:
        """What draws the prompt of a shell without marks again, with what is typed there."""
        from ptyproxy.last_line import LAST_LINE_BYTES, line_to_draw

        return line_to_draw(self.capture.ring.snapshot(max(0, self.capture.ring.end - LAST_LINE_BYTES)).data)
