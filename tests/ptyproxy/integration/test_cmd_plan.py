"""How CMD is started: its PROMPT, Clink's search path, and the script for a PROMPT that is set later."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptyproxy.capture import Capture
from ptyproxy.integration import cmd
from ptyproxy.integration.plan import plan, script
from ptyproxy.session import open_session

CMD = "C:\\Windows\\System32\\cmd.exe"


@pytest.fixture
def session(tmp_path: Path):
    tmp_path.chmod(0o700)
    session = open_session(str(tmp_path))
    yield session
    session.close()


def shown(prompt: bytes) -> bytes:
    """What CMD prints for a PROMPT (`prompt /?`)."""
    for code, text in {b"$e": b"\x1b", b"$P": b"C:\\x", b"$G": b">", b"$N": b"C", b"$_": b"\r\n"}.items():
        prompt = prompt.replace(code, text)
    return prompt


@pytest.mark.parametrize("theirs", [None, b"$N$G", b"$_$e[32m$P$_$G$e[m ", b""])
def test_the_users_own_prompt_stands_between_the_marks(session, theirs: bytes | None) -> None:
    environ = {} if theirs is None else {b"PROMPT": theirs}
    made = plan(CMD, (), environ, session, login=False)
    assert made.integrated
    assert (made.kind, made.widget_key, made.hotkey_key) == ("cmd", b"", b"")
    printed = shown(made.command.environ[b"PROMPT"])
    before, _, rest = printed.partition(b"\x1b]7781;neocode;A\x1b\\")
    assert rest == shown(theirs or b"$P$G") + b"\x1b]7781;neocode;B\x1b\\"
    capture = Capture(session.nonce)
    capture.feed(before)
    assert (capture.authenticated, capture.cwd, capture.facts["starts"]) == (True, "C:\\x", "enter")


def test_every_mark_is_short_enough_for_any_console(session) -> None:
    marks = cmd.prompt(b"", session.nonce).split(b"$e\\")
    assert max(map(len, marks)) <= 200


def test_a_shell_inside_a_shell_has_its_own_marks_once(session) -> None:
    outer = cmd.prompt(b"$N$G", "f" * 32)
    assert cmd.prompt(outer, session.nonce) == cmd.prompt(b"$N$G", session.nonce)
    # what a Python venv puts in front
    assert cmd.prompt(b"(venv) " + outer, session.nonce) == cmd.prompt(b"(venv) $N$G", session.nonce)


def test_clink_finds_our_script_before_the_users_and_only_ours(session) -> None:
    made = plan(CMD, (), {b"CLINK_PATH": b"C:\\mine"}, session, login=False)
    ours, theirs = made.command.environ[b"CLINK_PATH"].split(b";")
    assert theirs == b"C:\\mine"
    assert os.listdir(ours) == [b"neocode.lua"]
    assert b";" not in plan(CMD, (), {}, session, login=False).command.environ[b"CLINK_PATH"]


@pytest.mark.parametrize("arguments", [("/c", "dir"), ("/Cdir",), ("/s", "/C", "x"), ("/R", "x")])
def test_a_cmd_that_is_to_run_one_command_is_left_alone(session, arguments: tuple[str, ...]) -> None:
    made = plan(CMD, arguments, {}, session, login=False)
    assert (made.integrated, made.command.argv[1:]) == (False, arguments)
    assert b"PROMPT" not in made.command.environ


def test_other_arguments_are_kept(session) -> None:
    assert plan(CMD, ("/K", "init.cmd"), {}, session, login=False).command.argv[1:] == ("/K", "init.cmd")


def test_the_script_for_a_later_prompt_has_dos_line_ends_and_makes_the_same_prompt(session) -> None:
    plan(CMD, (), {}, session, login=False)
    text = script("cmd")
    assert text.isascii()
    assert text.count("\n") == text.count("\r\n")
    assert all(line.startswith("@") for line in text.splitlines())  # nothing is echoed into the session
    before = Path(session.directory, cmd.PROMPT_FILE).read_bytes().rstrip()
    after = text.partition("%m%PROMPT%$e")[2].partition('"')[0]
    assert before + b"$N$G" + b"$e" + after.encode() == cmd.prompt(b"$N$G", session.nonce)
