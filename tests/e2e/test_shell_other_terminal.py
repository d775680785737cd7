"""`neocode diag` from another terminal and from inside: to whom it goes, what is said, what happens there."""

from __future__ import annotations

import re
import sys

import pytest
from seat import SHELL_PROMPT, Home, Seat

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

SESSION = r"shell-\d+-1-[0-9a-f]{8}"


def test_a_running_shell_is_found_without_a_gateway_and_diagnoses_its_last_failure(shell_home: Home) -> None:
    with shell_home.shell("--no-auto") as seat:
        seat.run("ech quiet")
        seat.run("true")
        assert not any(row == "Cause" for row in seat.scrollback())
        done = shell_home.run("diag")
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(rf"delivered to {SESSION} \(bash, {re.escape(str(shell_home.path))}\)\n", done.stdout)
        seat.until_shown("named ech")
        seat.until_last(SHELL_PROMPT)


def test_automatic_diagnosis_is_switched_and_told(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        assert said(shell_home, "auto", "status") == "automatic diagnosis: on\n"
        assert said(shell_home, "auto", "off") == "automatic diagnosis: off\n"
        wait_for_status(shell_home, "off")
        seat.run("ech not explained")
        seat.run("true")
        assert not any(row == "Cause" for row in seat.scrollback())
        assert said(shell_home, "auto", "on") == "automatic diagnosis: on\n"
        wait_for_status(shell_home, "on")
        seat.run("ech explained")
        seat.until_shown("named ech")


def said(home: Home, *words: str) -> str:
    done = home.run("diag", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def wait_for_status(home: Home, wanted: str) -> None:
    """The shell takes the order when it looks next; each question is a process of its own."""
    for _ in range(20):
        if said(home, "auto", "status") == f"automatic diagnosis: {wanted}\n":
            return
    pytest.fail(f"never {wanted}")


def test_of_two_shells_one_has_to_be_named(shell_home: Home) -> None:
    with shell_home.shell("--no-auto") as first, shell_home.shell("--no-auto") as second:
        for seat in (first, second):
            seat.until_last(SHELL_PROMPT)
        first.run("ech first")
        second.run("cd /tmp")
        wait_until_described(shell_home, "ech first", "in /tmp")
        done = shell_home.run("diag")
        assert done.returncode == 3
        assert done.stdout == ""
        assert "multiple target role sessions are active, specify session_id" in done.stderr
        ids = re.findall(SESSION, done.stderr)
        assert len(set(ids)) == 2
        mine = next(part for part in done.stderr.split("|") if "ech first" in part)
        session = re.findall(SESSION, mine)[0]
        named = shell_home.run("diag", "--session", session)
        assert named.stdout.startswith(f"delivered to {session} (bash, ")
        first.until_shown("named ech")
        assert not any("named ech" in row for row in second.scrollback())
        gone = shell_home.run("diag", "--session", "shell-1-1-deadbeef")
        assert gone.returncode == 3
        assert "no active shell for session shell-1-1-deadbeef: target role stream is unavailable" in gone.stderr


def wait_until_described(home: Home, *words: str) -> None:
    """A shell's state is redacted by a process of its own, at most one in two seconds."""
    for _ in range(40):
        if all(word in home.run("diag").stderr for word in words):
            return
    pytest.fail(f"{words} never in the list")


def test_typed_inside_it_is_about_the_command_before_it(shell_home: Home) -> None:
    make_neocode(shell_home)
    with shell_home.shell("--no-auto") as seat:
        seat.run("ech before")
        inside(seat, "neocode diag", "delivered to shell-")
        seat.until_shown("named ech")
        seat.until_last(SHELL_PROMPT)


def test_typed_inside_a_second_time_it_is_not_about_itself(shell_home: Home) -> None:
    make_neocode(shell_home)
    with shell_home.shell("--no-auto") as seat:
        seat.run("ech before")
        seat.run("neocode diag --frobnicate")
        inside(seat, "neocode diag", "delivered to shell-")
        seat.until_shown("named ech")
        rows = seat.scrollback()
        delivered = next(at for at, row in enumerate(rows) if row.startswith("delivered to shell-"))
        assert not any("frobnicate" in row for row in rows[delivered:])


def test_a_remote_provider_is_asked_by_itself_only_after_auto_on(shell_home: Home) -> None:
    """The address is one that nothing answers at (RFC 5737); it is never called here."""
    shell_home.run("provider", "add", "far", "--base-url", "https://192.0.2.1/v1", "--model", "m")
    shell_home.run("use", "far")
    allowed = shell_home.dir / "state" / "automatic.json"
    with shell_home.shell() as seat:
        seat.run("ech once")
        seat.until_shown("nothing is sent to far")
        seat.run("ech twice")
        seat.run("true")
        assert sum("nothing is sent to far" in row for row in seat.scrollback()) == 1
        assert not allowed.exists()
        assert said(shell_home, "auto", "on") == "automatic diagnosis: on\n"
        seat.until(lambda: allowed.exists() and b"far https://192.0.2.1" in allowed.read_bytes(), "the consent")
        assert said(shell_home, "auto", "off") == "automatic diagnosis: off\n"
        seat.until(lambda: b"192.0.2.1" not in allowed.read_bytes(), "its end")


def make_neocode(home: Home) -> None:
    """`neocode` as a command on the PATH."""
    path = home.path / "bin" / "neocode"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -m neocode "$@"\n')
    path.chmod(0o755)
    home.env["PATH"] = f"{path.parent}:{home.env['PATH']}"


def inside(seat: Seat, line: str, answer: str) -> None:
    seat.until_last(SHELL_PROMPT)
    seat.type(line + "\r")
    seat.until_shown(answer)


def test_auto_on_from_inside_and_a_shell_inside_a_shell(shell_home: Home) -> None:
    make_neocode(shell_home)
    with shell_home.shell("--no-auto") as seat:
        inside(seat, "neocode diag auto status", "automatic diagnosis: off")
        inside(seat, "neocode diag auto on", "automatic diagnosis: on")
        inside(seat, "neocode shell; echo refused=$?", "refused=2")
        assert any("--nested" in row for row in seat.scrollback())
        seat.until_last(SHELL_PROMPT)
        seat.type("neocode shell --nested --shell /bin/bash\r")
        seat.until(lambda: seat.raw.count(b";shell=bash") == 2, "the integration of the inner shell")
        seat.until_last(SHELL_PROMPT)
        seat.type("PS1='inner> '\r")
        seat.until_last("inner>")
        seat.type("exit 7\r")
        seat.until_last(SHELL_PROMPT)
        inside(seat, "echo inner=$?", "inner=7")


def test_a_variable_of_a_shell_that_is_gone_is_no_reason_to_refuse(shell_home: Home) -> None:
    for stale in (f"shell-{2**22 + 1}-1-deadbeef", "shell-1-1-deadbeef", "nonsense", "shell-x-1-y"):
        shell_home.env["NEOCODE_SHELL_SESSION"] = stale
        shell_home.env["NEOCODE_SESSION_DIR"] = f"/nonexistent/{stale}"
        with shell_home.shell() as seat:
            seat.until_last(SHELL_PROMPT)
            seat.type("exit 3\r")
            assert seat.status() == 3


def test_while_a_shell_runs_inside_the_shell_the_answer_is_said_to_come_later_and_does(shell_home: Home) -> None:
    """It is about what was seen last, not about the outer shell's last command, and comes once."""
    with shell_home.shell() as seat:
        seat.run("false")
        seat.type("bash --norc\r")
        seat.until(lambda: seat.last.startswith("bash-"), "the inner prompt")
        seat.type("ech inside\r")
        seat.until(lambda: "bash: ech: command not found" in seat.lines() and seat.last.startswith("bash-"), "it")
        done = shell_home.run("diag")
        assert done.stdout.startswith("delivered to shell-")
        assert "a command runs there" in done.stderr
        seat.type("exit\r")
        seat.until_shown("named ech")
        seat.until_last(SHELL_PROMPT)
        seat.run("true")
        assert sum(row == "Cause" for row in seat.scrollback()) == 1
