"""What CMD's user sees of us at a prompt: CMD draws no prompt again, so our words wait for the next one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_desk import CLOSING, WORDS, Desk

HOTKEY = "\x07"
MARKER = "neocode: looking at it ..."


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    made.until_prompt()
    yield made
    made.close()


def test_at_an_idle_prompt_the_hotkey_asks_and_the_next_enter_shows_the_answer(user: Desk) -> None:
    user.run("rows 2")
    user.until(lambda: not user.shell.tap.diagnosis.busy)
    before = user.console.screen
    user.type(HOTKEY)
    user.until_answered()
    assert user.console.screen == before  # not a byte over an idle prompt
    user.run("")
    user.until_line(CLOSING)
    assert user.words() == [*WORDS, CLOSING]
    assert MARKER not in user.console.lines
    assert user.speaker.asked == [("", "rows 2")]
    assert user.child.ran == ["rows 2", ""]  # the key did not reach CMD
    user.type_and_look()


def test_while_the_answer_is_on_its_way_enter_says_so(user: Desk) -> None:
    user.run("rows 2")
    user.until(lambda: not user.shell.tap.diagnosis.busy)
    user.speaker.may_speak.clear()
    user.type(HOTKEY)
    user.until(lambda: user.shell.tap.notices.waiting)
    user.run("")
    user.until_line(MARKER)
    user.speaker.may_speak.set()
    user.until_answered()
    user.run("")
    user.until_line(CLOSING)
    assert user.words() == [*WORDS, CLOSING]


def test_in_a_line_that_was_begun_the_key_is_cmds(user: Desk) -> None:
    user.type("a" + HOTKEY + "\r")
    user.until(lambda: user.child.ran)
    assert user.child.ran == ["a" + HOTKEY]


def test_a_question_at_cmds_own_prompt_is_one_turn_and_no_failure(user: Desk) -> None:
    user.run("rows 2")
    user.run("@ai why was that?")
    user.until_answered()
    user.run("")
    user.until_line(CLOSING)
    user.run("")
    assert user.words() == [*WORDS, CLOSING]
    assert user.speaker.asked == [("why was that?", "rows 2")]
    assert user.shell.capture.records[-1].command == "@ai why was that?"


def test_what_was_typed_ahead_stands_in_cmds_line_and_the_mode_waits_for_its_end(user: Desk) -> None:
    user.type("@ai\rdi")
    user.until(lambda: user.row() == "C:\\>di")
    user.until(lambda: user.shell.tap.mode is not None and user.shell.tap.mode.state == "running")
    user.type("r\r")
    user.until(lambda: user.row() == "ai>")
    assert user.child.ran == ["@ai", "dir"]
