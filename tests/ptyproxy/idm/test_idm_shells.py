"""The mode in other shells: their line editors redraw a prompt of two lines with a right prompt by themselves."""

from __future__ import annotations

import shutil
from typing import NamedTuple

import pytest
from seat import MODE_PROMPT, Home, Seat


class Shell(NamedTuple):
    """A shell, and the start-up file that gives it `me:$ ` below the directory's name, with a right prompt."""

    name: str
    file: str
    text: str


SHELLS = [
    Shell(
        "zsh",
        ".zshrc",
        "PROMPT=$'top\\nme:$ '\nRPROMPT='[right]'\n"
        "alias greet='echo hello from an alias'\nsetopt interactivecomments\n",
    ),
]


@pytest.fixture(params=SHELLS, ids=lambda shell: shell.name)
def seat(request: pytest.FixtureRequest, home: Home) -> object:
    shell: Shell = request.param
    path = shutil.which(shell.name)
    if path is None:
        pytest.skip(f"no {shell.name} here")
    (home.path / shell.file).parent.mkdir(parents=True, exist_ok=True)
    (home.path / shell.file).write_text(shell.text)
    with home.shell("--no-auto", path=path) as running:
        running.until(lambda: at_prompt(running))
        yield running


def at_prompt(seat: Seat) -> bool:
    return seat.last.startswith("me:$") and seat.last.endswith("[right]") and seat.display.cursor.x == 5


def shown(seat: Seat) -> list[str]:
    """All lines, without the right prompts."""
    return [line.removesuffix("[right]").rstrip() for line in seat.scrollback()]


def test_a_visit_in_another_shell(seat: Seat) -> None:
    seat.type("echo before\r")
    seat.until(lambda: "before" in shown(seat) and at_prompt(seat))
    seat.type("@ai\r")
    seat.until_last(MODE_PROMPT)
    for line, output in (("greet", "hello from an alias"), ("cd /tmp; pwd", "/tmp"), ("# nothing", "")):
        seat.type(f"{line}\r")
        seat.until(lambda line=line, output=output: [f"me:$ {line}", output] == shown(seat)[-3:-1] or not output)
        seat.until_last(MODE_PROMPT)
    seat.type("\x1b[200~for i in 1 2; do\necho number $i\ndone\x1b[201~\r")
    seat.until_shown("number 1\nnumber 2")
    seat.until_last(MODE_PROMPT)
    seat.type("\x04")
    seat.until(lambda: at_prompt(seat))
    lines = [line for line in shown(seat) if not line.startswith("neocode: ")]
    assert lines[:7] == ["top", "me:$ echo before", "before", "top", "me:$ @ai", "top", "me:$ greet"]
    assert lines[7:11] == ["hello from an alias", "top", "me:$ cd /tmp; pwd", "/tmp"]
    assert lines[-2:] == ["top", "me:$"]
    assert MODE_PROMPT not in lines
    seat.type("pwd\r")
    seat.until(lambda: shown(seat)[-4:] == ["me:$ pwd", "/tmp", "top", "me:$"])
