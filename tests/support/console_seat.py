"""A terminal, as far as text goes: a program on a pseudo console, read by a thread, waited for by what it shows."""

from __future__ import annotations

import re
import threading
import time

from conpty.backend import PtyBackend

PATIENCE_SEC = 30.0  # a first start in a cold prefix


class Seat:
    """`backend` runs the program, and is this object's from now on."""

    def __init__(self, backend: PtyBackend) -> None:
        self.backend = backend
        self.screen = b""
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while data := self.backend.read():
            with self._changed:
                self.screen += data
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def until(self, text: str, since: int = 0) -> None:
        """Wait for text behind an offset."""
        with self._changed:
            self._changed.wait_for(lambda: text in self.text(since) or self._ended, PATIENCE_SEC)
            assert text in self.text(since), self.screen[-2000:]

    def text(self, since: int) -> str:
        """What was printed behind an offset, without the cursor's coming and going around every word."""
        return re.sub(rb"\x1b\[\?25[lh]", b"", self.screen[since:]).decode("utf-8", "replace")

    def type(self, line: str) -> int:
        """Type a line and Enter; the offset that its output is behind."""
        with self._changed:
            at = len(self.screen)
        self.backend.write(f"{line}\r".encode())
        return at

    def enter(self, line: str) -> int:
        """As `type`, with Enter only after the line is to be seen, as a person has it."""
        with self._changed:
            at = len(self.screen)
        self.backend.write(line.encode())
        self.until(line, at)
        self.backend.write(b"\r")
        return at

    def enter_until(self, text: str, since: int, prompt: str) -> None:
        """Press Enter at each new `prompt` until `text` has come."""
        deadline = time.monotonic() + PATIENCE_SEC
        while text not in self.text(since) and time.monotonic() < deadline:
            self.until(prompt, self.type(""))
        assert text in self.text(since), self.screen[-2000:]

    def close(self) -> None:
        self.backend.close()
        self._reader.join(10)
