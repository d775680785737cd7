"""What the child has made of the terminal: which screen, which modes; and the bytes that undo what it left on.

Invariant: `resets()` names exactly what differs from a terminal that was just reset, and is empty when nothing does.
The alternate screen is left first: kitty keyboard flags are kept per screen, and popping them on the wrong one leaves
the shell with a keyboard nobody reads (QwenLM/qwen-code#7115).
Sources: xterm ctlseqs, the kitty keyboard protocol, ECMA-48.
"""

from __future__ import annotations

from typing import NamedTuple

from ptyproxy.stream.scan import Scanner, Token

ALTERNATE_SCREEN = frozenset({47, 1047, 1049})
# DEC private modes that a program may leave on, in the order in which they are undone. Mouse: 9 to 1003 say which
# events are reported, 1005 to 1016 how. 2026 first, or nothing is drawn at all.
_NORMALLY_OFF = (2026, 1, 5, 6, 66, 69, 9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016, 1004, 2004, 2031, 2048, 9001)
_NORMALLY_ON = (7, 25)
_TRACKED = frozenset(_NORMALLY_OFF + _NORMALLY_ON)
MOUSE = frozenset({9, 1000, 1001, 1002, 1003})
# what DECSTR puts back (VT510 manual, "Soft Terminal Reset"); it leaves screens, mouse and paste alone
_SOFT = frozenset({1, 6, 7, 25, 66, 69})
KITTY_STACK_LIMIT = 64  # terminals keep 8 to 32; bounds what a hostile program can make us keep


class ScreenSwitch(NamedTuple):
    """The child entered (`alternate`) or left the alternate screen, by the sequence at `start` to `end`."""

    alternate: bool
    start: int
    end: int


class _KittyFlags:
    """The keyboard flags of one screen, and those that each push saved."""

    def __init__(self) -> None:
        self.current = 0
        self.saved: list[int] = []

    def apply(self, marker: str, numbers: list[int]) -> None:
        first = numbers[0] if numbers else 0
        if marker == ">":
            self.saved = [*self.saved, self.current][-KITTY_STACK_LIMIT:]
            self.current = first
        elif marker == "<":
            self._pop(max(1, first))
        else:
            how = numbers[1] if len(numbers) > 1 else 1
            self.current = {1: first, 2: self.current | first, 3: self.current & ~first}.get(how, self.current)

    def _pop(self, count: int) -> None:
        # popping more than was pushed empties the stack, which clears all flags
        self.current = self.saved[-count] if count <= len(self.saved) else 0
        del self.saved[-count:]

    def resets(self) -> bytes:
        pops = b"\x1b[<%du" % len(self.saved) if self.saved else b""
        base = self.saved[0] if self.saved else self.current
        return pops + (b"\x1b[=0u" if base else b"")


class ModeTracker:
    """Give `apply` every token of the stream in order, or `feed` every byte."""

    def __init__(self, offset: int = 0) -> None:
        self._scanner = Scanner(offset)
        self._reset()

    def _reset(self) -> None:
        self._changed: set[int] = set()
        self._screen = 0  # the mode by which the alternate screen was entered
        self._kitty = (_KittyFlags(), _KittyFlags())
        self._keypad = False
        self._charset = False
        self._other_keys = 0
        self._cursor_style = False

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen shows."""
        return self._screen != 0

    @property
    def mouse(self) -> bool:
        """Whether the terminal reports the mouse."""
        return bool(self._changed & MOUSE)

    @property
    def kitty_keyboard(self) -> bool:
        """Whether keys of the screen that shows may arrive in kitty's encoding."""
        return self._kitty[self.alternate].current != 0

    @property
    def other_keys(self) -> int:
        """xterm's modifyOtherKeys level; 0: off."""
        return self._other_keys

    @property
    def keypad(self) -> bool:
        """Whether the keypad is in application mode (DECKPAM)."""
        return self._keypad

    def is_set(self, mode: int) -> bool:
        """Whether a tracked DEC private mode is on, e.g. 2004 (bracketed paste), 1004 (focus), 25 (cursor)."""
        return (mode in self._changed) != (mode in _NORMALLY_ON)

    def feed(self, data: bytes) -> list[ScreenSwitch]:
        """The screen switches that the next bytes complete."""
        return [switch for token in self._scanner.feed(data) if (switch := self.apply(token))]

    def apply(self, token: Token) -> ScreenSwitch | None:
        """Take one token; the switch when it changes the screen that shows."""
        before = self.alternate
        if token.kind == "csi":
            self._control_sequence(token.body.decode("ascii"))
        elif token.kind == "esc":
            self._escape(token.body)
        elif token.kind == "shift":
            self._charset |= token.body == b"\x0e"
        return ScreenSwitch(self.alternate, token.start, token.end) if self.alternate != before else None

    def _control_sequence(self, body: str) -> None:
        marker, final = body[0], body[-1]
        if body == "!p":
            self._soft_reset()
        elif body.endswith(" q"):
            self._cursor_style = body[:-2] not in ("", "0")
        elif marker == "?" and final in "hl":
            for number in _numbers(body):
                self._private_mode(number, final == "h")
        elif marker in "<=>" and final == "u":
            self._kitty[self.alternate].apply(marker, _numbers(body))
        elif marker == ">" and final in "mn":
            numbers = _numbers(body)
            if not numbers or numbers[0] == 4:
                self._other_keys = abs(numbers[1]) if final == "m" and len(numbers) > 1 else 0

    def _private_mode(self, number: int, on: bool) -> None:
        if number in ALTERNATE_SCREEN:
            if on and self._screen:
                return
            self._screen = number if on else 0
        elif number in _TRACKED:
            if on != (number in _NORMALLY_ON):
                self._changed.add(number)
            else:
                self._changed.discard(number)

    def _escape(self, body: bytes) -> None:
        if body == b"c":
            self._reset()
        elif body in b"=>":
            self._keypad = body == b"="
        else:
            self._charset = True

    def _soft_reset(self) -> None:
        self._changed -= _SOFT
        self._keypad = self._charset = False

    def resets(self) -> bytes:
        """The bytes that put the terminal back as a shell expects it; to be written once, on the way out."""
        main, alternate = self._kitty
        out = []
        if self._screen:
            # no pop on this screen: on a terminal with one stack it would take the shell's own flags away
            out += [b"\x1b[=0u"] * (alternate.current != 0) + [b"\x1b[?%dl" % self._screen]
        out.append(main.resets())
        out += [b"\x1b[?%dl" % mode for mode in _NORMALLY_OFF if mode in self._changed]
        out += [b"\x1b[?%dh" % mode for mode in _NORMALLY_ON if mode in self._changed]
        out += [b"\x1b>"] * self._keypad + [b"\x1b[>4m"] * (self._other_keys != 0)
        out += [b"\x1b(B\x0f"] * self._charset + [b"\x1b[0 q"] * self._cursor_style
        return b"".join(out)


def _numbers(body: str) -> list[int]:
    """The parameters between a private marker and a final character; an empty one is 0, a colon's are left out."""
    fields = [field.partition(":")[0] for field in body[1:-1].split(";")]
    return [int(field or 0) if len(field) < 7 else -1 for field in fields] if body[1:-1] else []
