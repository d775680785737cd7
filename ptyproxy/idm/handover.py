"""Makes the shell draw its own prompt, with a line in it or not: by its widget, or by the keys a person would press.

Invariants: Enter is sent once, and only for a line that the user ended with Enter in the mode (without a widget for a
prompt too, as an empty line); an order that the widget has not taken in time is taken back, and a line that it has
taken is never typed a second time.
"""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session

ACK_SEC = 1.0  # a widget that has not redrawn its prompt by then does not work
ENTER = b"\r"


class Handover:
    """`send` gives the shell input. `line` None: only its prompt is wanted."""

    def __init__(self, session: Session, widget_key: bytes, send: Callable[[bytes], None]) -> None:
        self._session = session
        self._widget_key = widget_key
        self._send = send
        self._deadline = 0.0
        self._line_ordered = False
        self.line: str | None = None

    def begin(self, line: str | None, now: float, *, marked: bool) -> bool:
        """Order the prompt and the line; True when that was all, since there is no widget that could answer."""
        self.line = line
        self._deadline = now + ACK_SEC
        if marked and self._widget_key and self._order(line):
            self._send(self._widget_key)
            return False
        self._type()
        return True

    def _order(self, line: str | None) -> bool:
        self._line_ordered = line is not None and "\n" not in line
        try:
            if line is not None and self._line_ordered:
                self._session.write(LINE_ORDER, line.encode("utf-8", "replace"))
            self._session.write(SHOW_ORDER, b"")
        except OSError:
            self._withdraw()
            return False
        return True

    def acknowledged(self) -> None:
        """The shell has drawn its prompt, with the line in it."""
        if self.line is not None:
            self._send((_pasted(self.line) if "\n" in self.line else b"") + ENTER)

    def overdue(self, now: float) -> float:
        """Seconds until no answer is awaited any more; 0.0: the shell goes on without one.

        What the widget has taken is in the line, and only its prompt is slow to draw; else keys are sent in its place.
        """
        if now < self._deadline:
            return self._deadline - now
        if self._withdraw():
            self._widget_key = b""
            self._type()
        else:
            self.acknowledged()
        return 0.0

    def _withdraw(self) -> bool:
        """Take the orders back, in the reverse of the widget's order; False when it has taken what matters."""
        show = self._session.withdraw(SHOW_ORDER)
        line = self._session.withdraw(LINE_ORDER)
        return line if self._line_ordered else show

    def _type(self) -> None:
        self._send(_typed(self.line or "") + ENTER)


def _pasted(line: str) -> bytes:
    """Several lines as a paste, which the shell's editor takes as one text."""
    text = "".join(char for char in line if char.isprintable() or char in "\t\n")
    return b"\x1b[200~" + text.replace("\n", "\r").encode("utf-8", "replace") + b"\x1b[201~"


def _typed(line: str) -> bytes:
    """A line as keys: nothing in it may be one of an editor's commands."""
    if "\n" in line:
        return _pasted(line)
    return "".join(char if char.isprintable() else " " for char in line).encode("utf-8", "replace")
