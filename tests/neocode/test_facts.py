"""Facts about the user's situation: never a failure, never a process run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode import facts
from neocode.near import distance, nearest

NOT_FOUND_MESSAGES = [
    ("bash: gti: command not found", "gti"),
    ("bash: line 3: gti: command not found", "gti"),
    ("-bash: gti: command not found\n", "gti"),
    ("zsh: command not found: gti", "gti"),
    ("fish: Unknown command: gti", "gti"),
    ("sh: 1: gti: not found", "gti"),
    ("./build.sh: line 12: gti: command not found", "gti"),
    ("sudo: gti: command not found", "gti"),
    ("'gti' is not recognized as an internal or external command,", "gti"),
    ("gti : The term 'gti' is not recognized as the name of a cmdlet, function", "gti"),
]


@pytest.mark.parametrize(("log", "name"), NOT_FOUND_MESSAGES)
def test_the_missing_command_is_read_from_every_shells_message(log: str, name: str) -> None:
    assert facts.missing_command(log) == name


@pytest.mark.parametrize("log", ["", "404 page not found", "module not found: error", "found: nothing"])
def test_other_messages_name_no_command(log: str) -> None:
    assert facts.near_commands(log, {"PATH": ""}) == ()


def test_the_last_missing_command_counts() -> None:
    assert facts.missing_command("bash: one: command not found\nbash: two: command not found\n") == "two"


@pytest.mark.skipif(sys.platform == "win32", reason="PATHEXT decides there")
def test_near_commands_come_from_absolute_directories_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").touch()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "gtk").touch()
    monkeypatch.chdir(tmp_path)
    environ = {"PATH": f"{tmp_path}:here:/nonexistent"}
    assert facts.near_commands("bash: gti: command not found", environ) == ("git",)


@pytest.mark.parametrize(
    ("environ", "tag"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de-DE"),
        ({"LC_ALL": "zh_CN.GB18030", "LANG": "de_DE"}, "zh-CN"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "POSIX"}, "en"),
        ({"LANG": "fr"}, "fr"),
        ({}, "en"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the locale is not in the environment there")
def test_the_language_is_the_locales(environ: dict[str, str], tag: str) -> None:
    assert facts.language(environ) == tag


def test_the_nearest_name_is_the_likeliest_slip() -> None:
    assert nearest("gti", ["gtk", "git", "gcc"], 3) == ["git", "gtk"]
    assert nearest("pyhton", ["python", "pythia", "ls"], 3)[0] == "python"
    assert nearest("x", ["y", "z"], 3) == []


@given(st.text("abcde", max_size=8), st.text("abcde", max_size=8))
def test_distance_is_symmetric_zero_only_for_equals_and_capped(a: str, b: str) -> None:
    assert distance(a, b, 20) == distance(b, a, 20)
    assert (distance(a, b, 20) == 0) == (a == b)
    assert distance(a, b, 1) == min(distance(a, b, 20), 2)


@given(st.text(max_size=300))
def test_no_log_makes_it_fail(log: str) -> None:
    facts.near_commands(log, {"PATH": "/nonexistent"})
