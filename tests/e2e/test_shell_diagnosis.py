"""`neocode shell` as a person sees it: a failing command, its diagnosis, the fix put into the line, `@ai`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from cli import NEOCODE
from fake_openai import Connection, FakeServer, chunk, fake_server, sse
from seat import SHELL_PROMPT, Home, Seat

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

C_FILE = "int main(void) { return undeclared_name; }\n"
FAKE_CC = """\
#!/bin/sh
echo "cc -c $1"
printf '%s:1:25: error: %s undeclared (first use in this function)\\n' "$1" "'undeclared_name'" >&2
exit 1
"""


def program(home: Home, name: str, text: str) -> None:
    """A program of this name in the home directory, which is on the PATH."""
    path = home.path / name
    path.write_text(text)
    path.chmod(0o755)
    home.env["PATH"] = f"{home.path}:{home.env['PATH']}"


def answered(seat: Seat) -> None:
    """Until a whole answer and the prompt below it are on the screen."""
    seat.until(lambda: any("provider offline" in row for row in seat.scrollback()), "the answer's last line")
    seat.until_last(SHELL_PROMPT)


def test_a_failing_build_is_explained_above_the_next_prompt(shell_home: Home) -> None:
    program(shell_home, "build", FAKE_CC)
    with shell_home.shell() as seat:
        seat.run("build main.c")
        answered(seat)
        rows = seat.lines()
        error = next(at for at, row in enumerate(rows) if "undeclared (first use" in row)
        cause = next(at for at, row in enumerate(rows) if row == "Cause")
        assert error < cause
        assert rows[-1] == SHELL_PROMPT
        assert any("undeclared_name" in row for row in rows[cause:])


def test_the_hotkey_puts_the_fix_into_the_line_and_enter_runs_it(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("ech it works")
        answered(seat)
        seat.type(b"\x07")
        seat.until_last(f"{SHELL_PROMPT} echo it works")
        seat.type(b"\r")
        seat.until(lambda: "it works" in seat.lines()[-2:] and seat.last == SHELL_PROMPT, "its output")


def test_the_hotkey_after_the_last_fix_empties_the_line_again(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("ech once")
        answered(seat)
        seat.type(b"\x07")
        seat.until_last(f"{SHELL_PROMPT} echo once")
        seat.until(lambda: (seat.type(b"\x07"), seat.step(0.5), seat.last == SHELL_PROMPT)[-1], "an empty line")


def test_the_hotkey_on_a_half_typed_line_leaves_the_line_alone(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("ech once")
        answered(seat)
        seat.type("git stat")
        seat.until_last(f"{SHELL_PROMPT} git stat")
        seat.type(b"\x07us")
        seat.until_last(f"{SHELL_PROMPT} git status")


def test_what_is_typed_right_after_the_hotkey_reaches_the_program_alone(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("ech once")
        answered(seat)
        at = len(seat.raw)
        seat.type(b"\x07cat >taken; echo done\r")
        seat.until(lambda: b";neocode;C;" in seat.raw[at:] and not seat.last, "cat")
        seat.type("mine\r")
        seat.until(lambda: seat.lines()[-1] == "mine" and not seat.last, "the echo")
        seat.type(b"\x04")
        seat.until(lambda: seat.last == SHELL_PROMPT and "done" in seat.lines(), "the prompt")
        assert (shell_home.path / "taken").read_bytes() == b"mine\n"


def test_what_the_exit_code_answers_is_not_explained(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("grep nothing /etc/hostname")
        seat.run("test 1 = 2")
        seat.run(" ech hidden by a space")
        seat.run("ech this one")
        answered(seat)
        assert sum(row == "Cause" for row in seat.scrollback()) == 1


def test_a_question_at_the_prompt_keeps_its_apostrophe_and_question_mark(shell_home: Home) -> None:
    with fake_server() as server, shell_home.shell("--no-auto") as seat:
        shell_home.use_model(server.url)
        server.script(lambda connection: answer(connection, "Because **reasons**."))
        seat.run("ls /nowhere")
        seat.run("@ai why didn't that work?")
        seat.until_shown("Because reasons.")
        asked = str(server.requests[-1].json["messages"])
        assert "why didn't that work?" in asked
        assert "/nowhere" in asked
        seat.run("echo still a shell")


def answer(connection: Connection, text: str) -> None:
    connection.head()
    connection.send(sse(chunk(text), chunk(finish="stop")))


def test_a_gateway_that_dies_in_the_middle_costs_one_line(shell_home: Home) -> None:
    with fake_server() as server, shell_home.shell() as seat:
        shell_home.use_model(server.url)
        kill_in_the_middle(server, shell_home)
        seat.run("ech first")
        seat.until_shown("First half.")
        seat.until(
            lambda: any(row.startswith("neocode: ") and "looking" not in row for row in seat.lines()), "one line"
        )
        seat.run("echo the shell lives")
        server.script(lambda connection: answer(connection, "## Cause\nSecond answer.\n"))
        seat.run("ech second")
        seat.until_shown("Second answer.")


def kill_in_the_middle(server: FakeServer, home: Home) -> None:
    def half(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("## Cause\nFirst half.\n\nmore\n\n"), done=False))
        os.kill(int(str(home.status()["pid"])), signal.SIGKILL)

    server.script(half)


def test_a_spoofed_mark_of_a_program_starts_and_ends_nothing(shell_home: Home) -> None:
    marks = shell_home.path / "marks"
    marks.write_bytes(b"\x1b]7781;neocode;D;nc=" + b"0" * 32 + b";exit=1\x07\x1b]7781;neocode;C;nc=1;cmd=rm\x07")
    with shell_home.shell() as seat:
        seat.run("cat marks")
        seat.run("ech real")
        answered(seat)
        assert any("named ech" in row for row in seat.scrollback())
        assert sum(row == "Cause" for row in seat.scrollback()) == 1


def test_nothing_is_left_behind_and_the_exit_code_is_the_shells(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        assert any(Path(shell_home.dir, "run").glob("shell-*"))
        seat.type("exit 42\r")
        assert seat.status() == 42
    assert list(Path(shell_home.dir, "run").glob("shell-*")) == []


def test_a_half_typed_line_does_not_hide_the_first_line_of_an_error(shell_home: Home) -> None:
    """Typed while the command ran: its echo stands in front of what the command printed."""
    program(
        shell_home,
        "late",
        "#!/bin/sh\nread -r go <go\necho \"ls: cannot access 'x': No such file or directory\"\nexit 2\n",
    )
    os.mkfifo(shell_home.path / "go")
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.type("late\r")
        seat.until(lambda: b";neocode;C;" in seat.raw, "the command")
        seat.type("echo m")
        seat.until_last("echo m")
        seat.type("ine")
        seat.until_last("echo mine")
        (shell_home.path / "go").write_text("\n")
        seat.until_shown("echo minels: cannot access")
        seat.until_last(f"{SHELL_PROMPT} echo mine")
        seat.type(b"\r")
        seat.until_shown("rule file-not-found")


def test_a_program_that_was_killed_is_explained_although_it_said_nothing(shell_home: Home) -> None:
    """137 is what is left of an out-of-memory kill inside a container; other codes say nothing by themselves."""
    with shell_home.shell() as seat:
        seat.run("sh -c 'exit 4'")
        seat.run("sh -c 'exit 137'")
        seat.until_shown("rule sys-exit-137")
        seat.until_last(SHELL_PROMPT)
        rows = seat.scrollback()
        assert sum(row == "Cause" for row in rows) == 1
        assert not any("likely to matter" in row for row in rows)


def test_what_was_answered_is_not_asked_again(shell_home: Home) -> None:
    """By hand as little as by itself, as long as it is remembered."""
    with fake_server() as server, shell_home.shell() as seat:
        shell_home.use_model(server.url)
        server.script(lambda connection: answer(connection, "## Cause\nThe answer.\n"))
        seat.run("ech once")
        seat.until_shown("The answer.")
        assert shell_home.run("diag").returncode == 0
        seat.until(lambda: seat.scrollback().count("The answer.") == 2, "the answer again")
        assert len(server.requests) == 1


def plainly(seat: Seat, line: str) -> None:
    """Run a line in a shell that does not mark where it ends."""
    seat.until_last(SHELL_PROMPT)
    prompts = sum(row.startswith(SHELL_PROMPT) for row in seat.scrollback())
    seat.type(f"{line}\r")
    seat.until(
        lambda: seat.last == SHELL_PROMPT and sum(row.startswith(SHELL_PROMPT) for row in seat.scrollback()) > prompts,
        f"the prompt after {line!r}",
    )


@pytest.mark.parametrize("name", ["dash", "ksh", "mksh"])
def test_in_a_plain_shell_the_hotkey_explains_once_and_leaves_a_prompt(shell_home: Home, name: str) -> None:
    shell_home.path.joinpath("rc").write_text(f"PS1='{SHELL_PROMPT} '\n")
    shell_home.env["ENV"] = str(shell_home.path / "rc")
    with shell_home.shell(path=f"/usr/bin/{name}") as seat:
        plainly(seat, "ls /nowhere")
        seat.step(1.0)
        seat.type(b"\x07")
        answered(seat)
        rows = seat.lines()
        cause = rows.index("Cause")
        assert rows.count("Cause") == 1
        assert not any(above == below == "" for above, below in zip(rows[cause:], rows[cause + 1 :], strict=False))


def test_in_dash_a_failure_is_explained_above_the_prompt_after_the_next(shell_home: Home) -> None:
    shell_home.path.joinpath("rc").write_text(f"PS1='{SHELL_PROMPT} '\n")
    shell_home.env["ENV"] = str(shell_home.path / "rc")
    with shell_home.shell(path="/usr/bin/dash") as seat:
        plainly(seat, "ls /nowhere")
        seat.until(lambda: (plainly(seat, "echo next"), "Cause" in seat.scrollback())[-1], "the diagnosis")
        rows = seat.lines()
        assert rows[-1] == SHELL_PROMPT
        assert rows[rows.index("Cause") - 1] == "next"


def test_neocode_diag_in_a_longer_line_is_about_the_command_before(shell_home: Home) -> None:
    program(shell_home, "neocode", f'#!/bin/sh\nexec {" ".join(NEOCODE)} "$@"\n')
    with shell_home.shell("--no-auto") as seat:
        seat.run("ls /nowhere")
        seat.run("neocode diag; echo $?")
        answered(seat)
        assert any("does not exist" in row for row in seat.scrollback())
