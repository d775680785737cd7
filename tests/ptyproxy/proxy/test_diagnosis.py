"""When to diagnose, with what, once; what the hotkey does. A clock of our own, no thread, no terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ptyproxy.diagnosis import REPEAT_SEC, Diagnosis
from ptyproxy.messages import Ask, Block, Done, Failed, Stop
from ptyproxy.policy import insertable
from ptyproxy.ports import Answer, Finding
from ptyproxy.records import CommandRecord, Output


class Shell:
    """A diagnosis with everything around it recorded."""

    def __init__(self, **options: Any) -> None:
        self.now = 100.0
        self.posted: list[Any] = []
        self.said: list[str] = []
        self.asked: list[bool] = []
        self.waits = False
        self.inserted: list[str] = []
        self.text = b"error: broken\n"
        self.diagnosis = Diagnosis(
            self,  # type: ignore[arg-type]  # only `say` is used of the notices
            self.posted.append,
            self.find,
            self.inserted.append,
            clock=lambda: self.now,
            **options,
        )
        self.number = 0

    def say(self, text: str, *, asked: bool = False, fleeting: bool = False) -> None:
        self.said.append(text)
        self.asked.append(asked)

    def drop(self) -> None:
        self.said.clear()

    def want(self) -> bool:
        return self.waits

    def find(self, record: CommandRecord | None, automatic: bool) -> Finding:
        return Finding(record, Output(b"", 0, self.text), 80, "bash", automatic)

    def fail(self, command: str = "make", code: int | None = 2, *, hidden: bool = False) -> None:
        self.number += 1
        ended = CommandRecord(self.number, command, True, "/", code, self.now, self.now, 0, 9, "neocode")
        self.diagnosis.command_ended(ended, hidden=hidden)

    @property
    def asks(self) -> list[Ask]:
        return [message for message in self.posted if isinstance(message, Ask)]

    def about(self) -> str | None:
        """The command that the newest question is about; None: the screen."""
        finding = self.asks[-1].finding
        return finding.record.command if finding and finding.record else None

    def answer(self, *fixes: str, text: str = "Because.\n") -> None:
        ticket = self.asks[-1].ticket
        self.diagnosis.receive(Block(ticket, text))
        self.diagnosis.receive(Done(ticket, Answer("cause", fixes, "provider offline")))


@pytest.fixture
def shell() -> Shell:
    return Shell()


def test_a_failed_command_is_asked_about_and_its_answer_said(shell: Shell) -> None:
    shell.fail()
    assert [ask.finding.automatic for ask in shell.asks if ask.finding] == [True]
    assert shell.diagnosis.busy
    shell.answer("make clean")
    assert "Because." in shell.said[0]
    assert "provider offline" in shell.said[-1]
    assert not shell.diagnosis.busy


def test_success_and_switched_off_ask_nothing(shell: Shell) -> None:
    shell.fail(code=0)
    shell.diagnosis.auto = False
    shell.fail()
    assert shell.posted == []


def test_the_newest_failure_replaces_one_that_still_waits(shell: Shell) -> None:
    for command in ("one", "two", "three"):
        shell.fail(command)
    assert len(shell.asks) == 1
    shell.answer()
    assert [ask.finding.record.command for ask in shell.asks if ask.finding and ask.finding.record] == ["one", "three"]


def test_the_same_fault_is_not_asked_about_again_within_ten_seconds(shell: Shell) -> None:
    shell.fail()
    shell.answer()
    shell.fail()
    assert len(shell.asks) == 1
    said = len(shell.said)
    shell.now += REPEAT_SEC + 1
    shell.fail()
    assert len(shell.asks) == 1, "after ten seconds it is shown again, from memory"
    assert len(shell.said) == said + 1
    shell.now += 600
    shell.fail()
    assert len(shell.asks) == 2, "after five minutes it is asked again"


def test_numbers_in_the_output_do_not_make_it_another_fault(shell: Shell) -> None:
    shell.text = b"error after 17 ms\n"
    shell.fail()
    shell.answer()
    shell.text = b"error after 23 ms\n"
    shell.fail()
    assert len(shell.asks) == 1


def test_the_hotkey_asks_once_and_then_walks_through_the_fixes(shell: Shell) -> None:
    shell.diagnosis.auto = False
    shell.fail()
    shell.diagnosis.hotkey("empty")
    shell.diagnosis.hotkey("empty")
    assert len(shell.asks) == 1
    shell.answer("first", "rm -rf /", "second")
    for _ in range(4):
        shell.diagnosis.hotkey("same")
    assert shell.inserted == ["first", "second", "", "first"]
    shell.diagnosis.hotkey("other")
    assert len(shell.inserted) == 4, "a half-typed line is never replaced"


def test_the_hotkey_is_about_the_last_failed_command_else_the_last_else_the_screen(shell: Shell) -> None:
    shell.diagnosis.auto = False
    shell.diagnosis.hotkey("empty")
    assert shell.about() is None
    shell.answer()
    shell.fail("fine", 0)
    shell.diagnosis.hotkey("empty")
    assert shell.about() == "fine"
    shell.answer()
    shell.fail("bad", 1)
    shell.fail("fine again", 0)
    shell.diagnosis.hotkey("empty")
    assert shell.about() == "bad"


def test_an_asked_for_diagnosis_replaces_an_automatic_one(shell: Shell) -> None:
    shell.fail("one")
    first = shell.asks[0].ticket
    shell.diagnosis.ask_question("why?", None)
    assert Stop(first) in shell.posted
    shell.diagnosis.receive(Block(first, "late\n"))
    assert shell.said == []


def test_a_failure_of_ours_is_one_line_and_the_next_one_tries_again(shell: Shell) -> None:
    shell.fail("one")
    shell.diagnosis.receive(Failed(shell.asks[0].ticket, "no gateway; try again"))
    assert len(shell.said) == 1
    assert "no gateway; try again" in shell.said[0]
    shell.fail("two")
    assert len(shell.asks) == 2


def test_consent_is_asked_for_once(shell: Shell) -> None:
    for command in ("one", "two"):
        shell.fail(command)
        shell.diagnosis.receive(Failed(shell.asks[-1].ticket, "say neocode diag auto on", consent=True))
    assert len(shell.said) == 1


@pytest.mark.parametrize("marker", [True, False])
def test_the_marker_shows_after_300_ms_unless_switched_off(marker: bool) -> None:
    shell = Shell(marker=marker)
    shell.fail()
    assert shell.said == []
    assert (shell.diagnosis.tick() is not None) == marker
    shell.now += 0.31
    shell.diagnosis.tick()
    assert len(shell.said) == int(marker)


def test_what_is_not_sent_without_consent_is_not_said_to_be_looked_at(shell: Shell) -> None:
    shell.fail("one")
    shell.diagnosis.receive(Failed(shell.asks[-1].ticket, "nothing is sent by itself", consent=True))
    told = list(shell.said)
    shell.fail("two")
    shell.now += 0.31
    shell.diagnosis.tick()
    assert shell.said == told
    shell.diagnosis.receive(Failed(shell.asks[-1].ticket, "nothing is sent by itself", consent=True))
    shell.diagnosis.switch(True)
    shell.fail("three")
    shell.now += 0.31
    shell.diagnosis.tick()
    assert len(shell.said) == len(told) + 1


@pytest.mark.parametrize("command", ["", "a\nb", "a\tb", "a\x1b[A", "x" * 501, "rm -rf /", "a\u202eb", "sudo !!"])
def test_what_could_run_or_hide_is_never_inserted(command: str) -> None:
    assert not insertable(command)


@pytest.mark.parametrize("finish", [lambda shell: shell.answer(), lambda shell: None])
def test_our_own_commands_are_never_the_topic(shell: Shell, finish: Callable[[Shell], None]) -> None:
    shell.fail("make")
    finish(shell)
    shell.fail("neocode diag", 3)
    shell.diagnosis.requested()
    records = [ask.finding.record.command for ask in shell.asks if ask.finding and ask.finding.record]
    assert set(records) == {"make"}


def test_the_hotkey_shows_an_answer_that_still_waits_before_it_puts_in_its_fix(shell: Shell) -> None:
    shell.fail()
    shell.answer("make clean")
    shell.waits = True
    shell.diagnosis.hotkey("empty")
    assert shell.inserted == []
    shell.waits = False
    shell.diagnosis.hotkey("empty")
    assert shell.inserted == ["make clean"]


@pytest.mark.parametrize("line", ["neocode diag; echo $?", "/opt/neo code/neocode diag", "neocode diag 2>&1 | cat"])
def test_neocode_diag_is_ours_whatever_is_done_with_what_it_prints(shell: Shell, line: str) -> None:
    assert shell.diagnosis.is_ours(line) == ("neo code" not in line)
    assert not shell.diagnosis.is_ours(line.replace("diag", "use w && make"))


def test_the_hotkey_asks_for_the_answer_that_is_being_made_by_itself(shell: Shell) -> None:
    shell.fail()
    shell.diagnosis.hotkey("empty")
    assert len(shell.asks) == 1
    shell.answer("make clean")
    assert shell.asked == [True, True]


def test_ctrl_c_at_the_prompt_stops_what_was_asked_for_and_nothing_else(shell: Shell) -> None:
    shell.fail()
    shell.diagnosis.interrupted()
    assert shell.diagnosis.busy
    shell.diagnosis.ask_question("why?", None)
    shell.fail("other")
    question = shell.asks[1].ticket
    shell.diagnosis.interrupted()
    assert Stop(question) in shell.posted
    assert len(shell.asks) == 3, "the failure that waited is looked at"
    shell.diagnosis.receive(Block(question, "late\n"))
    assert shell.said == []


def test_an_answer_that_waits_for_the_next_prompt_is_not_asked_for_a_second_time(shell: Shell) -> None:
    shell.fail()
    shell.answer()
    said = len(shell.said)
    shell.waits = True
    shell.diagnosis.requested()
    assert len(shell.said) == said
    shell.waits = False
    shell.diagnosis.requested()
    assert len(shell.said) > said, "it was shown: now it is told again, from memory"
