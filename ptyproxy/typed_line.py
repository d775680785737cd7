"""The keys as pieces, and what is known of the line at the prompt from them alone: was anything typed, is it hidden.

Invariant: it is reset by a new prompt only; what the shell's editor made of the keys is not known here.
"""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.integration.hotkey import PlainTyping
from ptyproxy.stream.keys import Input, KeyParser

TYPED = ("text", "key", "paste", "paste-begin", "hotkey")  # kinds of input that a person made
FLUSH_KEYS_SEC = 0.05  # an Escape that nothing follows


class TimedKeys(KeyParser):
    """A key parser that knows how long a sequence has been half read."""

    def __init__(self, hotkey: int, clock: Callable[[], float]) -> None:
        super().__init__(hotkey)
        self._clock = clock
        self._fed = 0.0

    def feed(self, data: bytes) -> list[Input]:
        """See `KeyParser.feed`."""
        self._fed = self._clock()
        return super().feed(data)

    def wait(self) -> float | None:
        """Seconds until what is half read is a key of its own: 0.0 when it is; None when nothing is half read."""
        return max(0.0, self._fed + FLUSH_KEYS_SEC - self._clock()) if self.pending else None


class TypedLine:
    """`begun`: something was typed since the last new prompt. `hidden`: it began with a space. `changed`: something
    was typed since the hotkey was pressed, so that the line is not what the shell says of it any more.
    """

    def __init__(self) -> None:
        self.begun = False
        self.hidden = False
        self.changed = False
        self._plain = PlainTyping()

    @property
    def plain(self) -> bool:
        """Whether the line editor waits for a key, in no search or menu of its own."""
        return self._plain.plain

    def prompt(self, *, vi: bool | None) -> None:
        """A new prompt begins; `vi`: the keymap that the shell has told, None: it told none."""
        self.begun = self.hidden = False
        self._plain.prompt(vi=vi)

    def typed(self, piece: Input, *, at_prompt: bool) -> None:
        """One piece of input went to the child."""
        self._plain.typed(piece.kind, piece.data)
        if piece.kind in TYPED or piece.kind == "enter":
            self.changed = piece.kind != "hotkey"
        if piece.kind in TYPED:
            if not self.begun and at_prompt:
                self.hidden = piece.data.startswith(b" ")
            self.begun = self.begun or piece.kind != "hotkey"
