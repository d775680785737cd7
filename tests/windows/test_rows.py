"""Where the rows of the user's console lie and where the child's pseudo console believes them to be.

A pseudo console sees none of our words, and addresses rows by their number (microsoft/terminal#235): wherever we have
written, it must find the cursor where it left it, or what is typed lands over our words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_desk import CLOSING, WORDS, Desk

FILLED = {"empty": 0, "half full": 9, "full": 40}
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
def test_in_a_shell_without_marks_its_line_stands_below_our_words_and_where_it_has_it(desk: Open, filled: str) -> None:
    user = desk(marked=False)
    user.until_prompt()
    user.fill(FILLED[filled])
    user.run("gti")
    user.type("\x07")
    user.until_line(CLOSING)
    user.type_and_look()
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
    user.until_line("    gti")  # echoed where the child has it
    user.until(lambda: user.row() == "ai>")
    assert user.child.ran[-1:] == ["gti"]
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
