"""A person at a terminal (pyte) in which a real `neocode shell` runs, with a model of theirs that is scripted."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
from cli import NEOCODE, NeoHome
from outer import Outer

PATIENCE_SEC = 30.0  # for a busy machine; nothing waits that long when it works
STEP_SEC = 0.05
SIZE = (24, 80)
MODE_PROMPT = "ai>"
SHELL_PROMPT = "me:$"

BASHRC = """\
PS1='me:$ '
alias greet='echo hello from an alias'
HISTFILE=
"""


class _Screen(pyte.HistoryScreen):
    """pyte, which would take SGR with a private marker (`ESC [ > 4 m`) for colours."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class Seat(Outer):
    """`type` keys; the `until` methods read until the screen is so; `raw` is every byte that was printed."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path, size: tuple[int, int] = SIZE) -> None:
        self.raw = bytearray()
        self.display = _Screen(size[1], size[0], history=2000, ratio=0.5)
        self._stream = pyte.ByteStream(self.display)
        super().__init__(command, size=size, env=env, before=lambda: os.chdir(cwd))

    def step(self, timeout: float) -> bytes:
        data = super().step(timeout)
        self.raw += data
        self._stream.feed(data)
        return data

    def type(self, text: str | bytes) -> None:
        self.send(text.encode() if isinstance(text, str) else text)

    def lines(self) -> list[str]:
        """The screen's rows down to the last that is not blank."""
        rows = [row.rstrip() for row in self.display.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def scrollback(self) -> list[str]:
        cols = self.display.columns
        above = ["".join(row[x].data for x in range(cols)).rstrip() for row in self.display.history.top]
        return above + self.lines()

    @property
    def last(self) -> str:
        """The row that the cursor is in."""
        return self.display.display[self.display.cursor.y].rstrip()

    def until(self, condition: Callable[[], bool], what: str = "") -> None:
        deadline = time.monotonic() + PATIENCE_SEC
        while not condition():
            assert time.monotonic() < deadline, (
                f"{what} did not come; the screen:\n" + "\n".join(self.lines()) + f"\n{bytes(self.raw[-600:])!r}"
            )
            if not self.step(STEP_SEC):
                status = self.process.poll()
                assert status is None or condition() or self.step(STEP_SEC), f"ended with {status} before {what}"

    def until_shown(self, text: str) -> None:
        self.until(lambda: text in "\n".join(self.scrollback()), text)

    def until_last(self, text: str) -> None:
        """Until the cursor's row is this."""
        self.until(lambda: self.last == text, f"{text!r} in the cursor's row")

    def run(self, line: str) -> None:
        """A line at the shell's own prompt, to its next prompt."""
        self.until_last(SHELL_PROMPT)
        self.type(line)
        self.until(lambda: self.last.endswith(line.rstrip()), f"the echo of {line!r}")
        at = len(self.raw)
        self.type("\r")
        self.until(lambda: b";neocode;D;" in self.raw[at:] and self.last == SHELL_PROMPT, f"the prompt after {line!r}")

    def enter(self) -> None:
        """Into the mode by a bare `@ai`."""
        self.until_last(SHELL_PROMPT)
        self.type("@ai\r")
        self.until_last(MODE_PROMPT)

    def leave(self) -> None:
        """Out of it by Ctrl-D."""
        self.until_last(MODE_PROMPT)
        self.type("\x04")
        self.until_last(SHELL_PROMPT)


class Home(NeoHome):
    """A home with a bash that has a short prompt."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        (path / ".bashrc").write_text(BASHRC)
        (path / ".inputrc").write_text("set enable-bracketed-paste on\n")

    def use_model(self, url: str) -> None:
        done = self.run("provider", "add", "fake", "--kind", "openai", "--base-url", url, "--model", "m")
        assert done.returncode == 0, done.stderr
        done = self.run("use", "fake")
        assert done.returncode == 0, done.stderr

    def trigger(self, *arguments: str) -> None:
        """`neocode diag ARGUMENTS` from another terminal, as soon as the gateway knows the shell."""
        self.run("gateway", "restart")
        deadline = time.monotonic() + PATIENCE_SEC
        while (done := self.run("diag", *arguments)).returncode:
            assert "no neocode shell is running" in done.stderr, done.stderr
            assert time.monotonic() < deadline, done.stderr

    @contextlib.contextmanager
    def shell(self, *arguments: str, size: tuple[int, int] = SIZE, path: str = "/bin/bash") -> Iterator[Seat]:
        command = [*NEOCODE, "shell", "--shell", path, *arguments]
        seat = Seat(command, self.env, self.path, size)
        try:
            yield seat
        finally:
            seat.close()
