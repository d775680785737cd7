"""Where the rows of the user's console lie and where the child's pseudo console believes them to be.

A pseudo console sees none of our words, and addresses rows by their number (microsoft/terminal#235): wherever we have
written, it must find the cursor where it left it, or what is typed lands over our words.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
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
FILLED = {"empty": 0, "half full": 9, "full": 40}


class Speaker:
    """An assistant that always says the same, if there is anything to say."""

    async def run(self, session_id: str, notified: Callable[[str, Mapping[str, object]], None]) -> None:
        """Hears nothing."""

    async def publish(self, state: Mapping[str, object]) -> None:
        """Nobody asks."""

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        if finding.unsure and b"not recognized" not in finding.output.tail:
            raise NothingSaid
        return await self.turn("", "", finding, show)

    async def turn(self, talk: str, question: str, finding: Finding | None, show: Show) -> Answer:
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
        self._shell = WrappedShell(
            Options("cmd.exe"), self.session, shell, self._terminal, self._pump, lambda nonce, cols: Speaker()
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._terminal.enter()
        self._pump.run()
        self._shell.close()
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
        self.until(lambda: self._shell.tap.notices.waiting and not self._shell.tap.diagnosis.busy)

    def until_line(self, line: str) -> None:
        self.until(lambda: line in self.console.lines)

    def until_prompt(self) -> None:
        """The cursor is behind a prompt."""
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
        ran = len(self.child.ran)
        self.type(f"{line}\r")
        self.until(lambda: len(self.child.ran) > ran)
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


Open = Callable[..., Desk]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Open]:
    """`desk(marked=..., before=..., prompt=...)`: a shell that shows its first prompt, or soon will."""
    made: list[Desk] = []

    def make(**how: Any) -> Desk:
        made.append(Desk(tmp_path, **how))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("filled", FILLED)
def test_the_line_is_typed_behind_the_prompt_that_stands_below_a_diagnosis(desk: Open, filled: str) -> None:
    user = desk()
    user.until_prompt()
    user.fill(FILLED[filled])
    user.run("gti")
    user.until_answered()
    user.run("")
    user.until_line(CLOSING)
    user.type_and_look()
    assert user.words() == [*WORDS, CLOSING]


@pytest.mark.parametrize("filled", FILLED)
def test_in_a_shell_without_marks_words_stand_above_the_line(desk: Open, filled: str) -> None:
    user = desk(marked=False)
    user.until_prompt()
    user.fill(FILLED[filled])
    user.run("gti")
    user.type("\x07")
    user.until_line(CLOSING)
    user.type_and_look("    ")  # its prompt is above our words, and only itself could draw it again
    assert user.words() == [*WORDS, CLOSING]
    user.type("\r")
    user.until_prompt()
    user.type_and_look()


@pytest.mark.parametrize("filled", FILLED)
def test_a_visit_in_the_mode_leaves_the_rows_as_the_child_has_them(desk: Open, filled: str) -> None:
    user = desk()
    user.until_prompt()
    user.fill(FILLED[filled])
    user.ask()
    user.type("exit\r")
    user.until_prompt()
    user.type_and_look()
    assert user.words() == [*WORDS, CLOSING]


@pytest.mark.parametrize("filled", FILLED)
def test_a_command_out_of_the_mode_runs_where_the_child_has_its_line(desk: Open, filled: str) -> None:
    user = desk()
    user.until_prompt()
    user.fill(FILLED[filled])
    user.ask()
    user.type("gti\r")
    user.until(lambda: user.child.ran[-1:] == ["gti"] and user.row() == "ai>")
    assert "    gti" in user.console.lines  # echoed where the child has it
    user.type("exit\r")
    user.until_prompt()
    user.type_and_look()
    assert user.words() == [*WORDS, CLOSING]


def test_a_prompt_of_two_lines_and_a_mode_that_took_it_off(desk: Open) -> None:
    user = desk(prompt=b"$P$_$G")
    user.until(lambda: user.row() == ">")
    user.ask()
    user.type("exit\r")
    user.until(lambda: user.row() == ">")
    user.type_and_look(">")
    assert user.words() == [*WORDS, CLOSING]


@pytest.mark.parametrize("filled", FILLED)
def test_a_job_that_prints_during_a_visit_finds_its_row(desk: Open, filled: str) -> None:
    user = desk()
    user.until_prompt()
    user.fill(FILLED[filled])
    user.ask()
    for job in ("one", "two"):
        user.child.job(f"job {job}")
        user.until(lambda: f"job {job}" in user.console.lines)  # noqa: B023
        user.until(lambda: user.row() == "ai>")
    user.type("exit\r")
    user.until_prompt()
    user.type_and_look()
    assert user.words() == [*WORDS, CLOSING]
    assert [line for line in user.console.lines if line.startswith("job")] == ["job one", "job two"]


def test_a_window_that_becomes_smaller_during_a_visit_loses_no_word(desk: Open) -> None:
    user = desk()
    user.until_prompt()
    user.fill(12)
    user.ask()
    user.console.shrink(10)
    user.type("exit\r")
    user.until_prompt()
    user.type("dir")
    user.until(lambda: user.row() == "C:\\>dir")
    assert user.words() == [*WORDS, CLOSING]


def test_a_screen_that_was_in_use_before_the_child_is_scrolled_up_for_it(desk: Open) -> None:
    user = desk(before="".join(f"earlier {number}\r\n" for number in range(10)) + "unfinished")
    user.until_prompt()
    user.type_and_look()
    assert [line for line in user.console.lines if line][:11] == [f"earlier {number}" for number in range(10)] + [
        "unfinished"
    ]
    assert user.console.outer.display[0].startswith("Microsoft")
