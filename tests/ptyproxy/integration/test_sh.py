"""dash with marks in its prompt; ksh and mksh as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")


def shown(shell, *commands: str) -> list[str]:
    for number, command in enumerate(commands, 1):
        prompts = "\n".join(shell.scrollback()).count("]$")
        shell.type(f"{command}\r")
        shell.until(lambda prompts=prompts: "\n".join(shell.scrollback()).count("]$") > prompts, f"prompt {number}")
    shell.settle()
    return shell.scrollback()


@pytest.mark.parametrize("login", [False, True])
def test_dash_shows_the_same_and_reads_the_same_files(start, home: Path, login: bool) -> None:
    (home / ".profile").write_text("echo profile\n")
    (home / "rc").write_text("PS1='[$?]\\$ '\necho rc $ENV\nalias x='echo aliased'\n")
    screens = []
    for integrate in (False, True):
        shell = start("dash", integrate=integrate, login=login, wait=False, ENV="$HOME/rc")
        shell.until_shown("[0]$")
        assert shell.plan.integrated == integrate
        screens.append(
            shown(shell, "false", "x", "echo $ENV; env | grep -c '^NEOCODE_[ES]'", "sh -c 'exit 3'", "x" * 90)
        )
    plain, ours = ["\n".join(screen).replace("\n1\n", "\n2\n") for screen in screens]
    assert plain.replace(str(home), "") == ours.replace(str(home), "")


def test_dash_without_env(start) -> None:
    shell = start("dash", wait=False)
    shell.until(lambda: shell.capture.state == "input", "the prompt's end mark")
    shell.events += shell.capture.enter(typed=True)
    shell.type("sh -c 'echo x; exit 3'\r")
    shell.until(lambda: len(shell.capture.records) == 1, "the record")
    record = shell.capture.records[0]
    assert (record.exit_code, record.approximate, shell.capture.authenticated) == (3, True, False)


@pytest.mark.parametrize(
    ("name", "arguments"), [("ksh", ()), ("mksh", ()), ("dash", ("-c", "true")), ("dash", ("script",))]
)
def test_others_are_left_alone(start, name: str, arguments) -> None:
    plan = start(name, *arguments, wait=False).plan
    assert (plan.kind, plan.integrated, plan.command.argv) == ("sh", False, (name, *arguments))
    assert plan.reason


def test_an_exported_ps1_is_not_marked(start) -> None:
    assert "exported" in start("dash", wait=False, PS1="$ ").plan.reason
