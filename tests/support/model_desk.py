"""A user at a model console in which `neocode shell` runs a model of cmd.exe; the assistant always says the same."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from model_cmd import ModelCmd, ModelConsole

from ptyproxy.integration import cmd
from ptyproxy.integration.base import Plan
from ptyproxy.options import Options
from ptyproxy.platform.windows import ConsoleEvents, Terminal, WindowsPty
from ptyproxy.platform.windows_pump import WindowsPump
from ptyproxy.ports import Answer, Finding, NothingSaid, Show
from ptyproxy.session import open_session
from ptyproxy.wrapped import WrappedShell

PATIENCE_SEC = 20.0
WORDS = [f"our word {number}" for number in range(8)]
CLOSING = "the closing line"


class Speaker:
    """An assistant that always says the same, if there is anything to say; once `may_speak` is set."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []  # the question, empty for a diagnosis, and the command
        self.may_speak = threading.Event()
        self.may_speak.set()

    async def run(self, session_id: str, notified: Callable[[str, Mapping[str, object]], None]) -> None:
        """Hears nothing."""

    async def publish(self, state: Mapping[str, object]) -> None:
        """Nobody asks."""

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        if finding.unsure and b"not recognized" not in finding.output.tail:
            raise NothingSaid
        return await self.turn("", "", finding, show)

    async def turn(self, talk: str, question: str, finding: Finding | None, show: Show) -> Answer:
        self.asked.append((question, finding.record.command if finding and finding.record else None))
        await asyncio.to_thread(self.may_speak.wait, PATIENCE_SEC)
        show("\n".join(WORDS) + "\n")
        return Answer("", (), CLOSING)

    async def end_talk(self, talk: str) -> None:
        """Nothing is kept."""

    async def allow_automatic(self, allowed: bool) -> None:
        """It is."""

    async def close(self) -> None:
        """Nothing is open."""


class Desk:
    """A user at a console in which `neocode shell` runs the model cmd.exe."""

    def __init__(self, folder: Path, *, marked: bool = True, before: str = "", prompt: bytes = b"$P$G") -> None:
        self.speaker = Speaker()
        self.session = open_session(str(folder))
        self.console = ModelConsole()
        if before:
            self.console.write(0, before)
        plan = cmd.prepare("cmd.exe", (), {b"PROMPT": prompt}, self.session, login=False, hotkey="ctrl-g", source="")
        self.child = ModelCmd(plan.command.environ[b"PROMPT"] if marked else prompt)
        self._events = ConsoleEvents(self.console)
        self._events.install()
        self._terminal = Terminal(self.console)
        self._pump = WindowsPump(WindowsPty(self.child), self._terminal, signals=self._events)
        shell = Plan(plan.command, "cmd", marked)
        self.shell = WrappedShell(
            Options("cmd.exe"), self.session, shell, self._terminal, self._pump, lambda nonce, cols: self.speaker
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._terminal.enter()
        self._pump.run()
        self.shell.close()
        self._terminal.leave()

    def close(self) -> None:
        self.child.close()
        self._thread.join(PATIENCE_SEC)
        assert not self._thread.is_alive()
        assert self._pump.tap_error is None
        self._events.close()
        self._terminal.close()
        self.session.close()

    def type(self, text: str) -> None:
        self.console.type(text)

    def until(self, what: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_SEC
        while not what():
            assert time.monotonic() < deadline, "\n".join(self.console.lines)
            time.sleep(0.005)

    def until_answered(self) -> None:
        """An answer is there and waits for a prompt."""
        self.until(lambda: self.shell.tap.notices.waiting and not self.shell.tap.diagnosis.busy)

    def until_line(self, line: str) -> None:
        self.until(lambda: line in self.console.lines)

    def until_prompt(self) -> None:
        """The cursor is behind a prompt, and it is the child's last."""
        self.until(lambda: self.console.screen.count(self.child.visible) >= self.child.prompts)
        self.until(lambda: self.row() == "C:\\>")

    def row(self) -> str:
        """What is in the cursor's row."""
        return str(self.console.outer.display[self.console.place[0]]).rstrip()

    def ask(self) -> None:
        """Enter the mode, ask something, wait for the answer and the editor's next line."""
        self.type("@ai\r")
        self.until(lambda: self.row() == "ai>")
        self.type("@ai why?\r")
        self.until_line(CLOSING)
        self.until(lambda: self.row() == "ai>")

    def run(self, line: str) -> None:
        """Type a command and wait for the prompt behind it."""
        ran, drawn = len(self.child.ran), self.child.prompts
        self.type(f"{line}\r")
        self.until(lambda: self.child.prompts > drawn)
        self.until_prompt()
        assert self.child.ran[ran:] == [line]

    def fill(self, rows: int) -> None:
        self.run("cls")
        if rows:
            self.run(f"rows {rows}")

    def type_and_look(self, prompt: str = "C:\\>") -> None:
        """What is typed now appears behind the prompt, in the row where the child has it."""
        self.type("dir")
        self.until(lambda: self.row().endswith("dir"))
        assert self.row() == f"{prompt}dir"
        self.agree()

    def agree(self) -> None:
        """Both have the cursor in the same place."""
        assert self.console.place == self.child.place, "\n".join(self.console.lines)

    def words(self) -> list[str]:
        """Ours among the lines."""
        return [line for line in self.console.lines if line in (*WORDS, CLOSING)]
