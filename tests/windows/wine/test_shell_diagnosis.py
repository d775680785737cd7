"""A command that fails in cmd.exe under `neocode shell`, to its diagnosis: by itself, from a second process, in the
`@ai` mode, and for `@ai QUESTION` at CMD's own prompt, where CMD says that it knows no program `ai`, and we answer;
with the real gateway and the offline provider.

Wine's cmd does not read PROMPT from its environment (`test_cmd_marks`), so the script of `--init cmd` is called first.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from console_seat import PATIENCE_SEC, Seat

from conpty.backend import Launch
from conpty.choose import open_direct
from conpty.command_line import join
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.lifecycle import ensure_daemon, stop_daemon
from ptyproxy.integration.plan import script

NEOCODE = [sys.executable, "-I", "-m", "neocode"]
PROMPT = "C> \x1b]7781;neocode;B\x1b\\"  # Wine's console shows the mark, and carries it on
MODE_PROMPT = "ai>"
WIDTH = 400  # the marks would wrap
CAUSE = "CMD found no program called {}"
NOT_FOUND = "'{}' is not recognized as an internal or external command,"
Open = Callable[..., Seat]


@pytest.fixture(scope="module", autouse=True)
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home and a gateway of these tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEOCODE_HOME", str(tmp_path_factory.mktemp("home") / ".neocode"))
        patch.setenv("NO_COLOR", "1")
        patch.delenv("NEOCODE_GATEWAY", raising=False)
        yield
        asyncio.run(stop_daemon(resolve_endpoint()))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Open]:
    """`shell(OPTIONS...)`: `neocode shell` with a cmd.exe at its first prompt, `C> `."""
    (tmp_path / "marks.cmd").write_text(script("cmd"), newline="")
    for name in ("gti", "gut", "ai"):  # Wine's own words for a program that is not there are others
        words = f"@echo {NOT_FOUND.format(name)}\r\n@echo operable program or batch file.\r\n@exit /b 9009\r\n"
        (tmp_path / f"{name}.cmd").write_text(words, newline="")
    seats: list[Seat] = []

    def make(*options: str) -> Seat:
        start = f"set PROMPT=$N$G$S&call {tmp_path}\\marks.cmd"
        line = join([*NEOCODE, "shell", *options, "--shell", "cmd.exe", "--", "/D", "/K", start])
        seats.append(Seat(open_direct(Launch(line, str(tmp_path), dict(os.environ), 30, WIDTH))))
        seats[-1].until(PROMPT)
        return seats[-1]

    yield make
    for seat in seats:
        seat.close()


def neocode(*words: str) -> str:
    """What another process says."""
    done = subprocess.run(
        [*NEOCODE, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_SEC, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def shell_state() -> dict[str, Any]:
    """What the gateway has been told of the one shell."""

    async def ask() -> dict[str, Any]:
        async with await ensure_daemon(resolve_endpoint()) as client:
            shells = (await client.call("gateway.listShells", {}))["shells"]
        assert len(shells) == 1
        return dict(shells[0])

    return asyncio.run(asyncio.wait_for(ask(), PATIENCE_SEC))


def test_a_failing_command_is_diagnosed_by_itself_and_asked_about_until_a_second_process_says_no(shell: Open) -> None:
    seat = shell()
    at = seat.enter("gti")
    seat.until(PROMPT, at)
    seat.enter_until(CAUSE.format("gti"), at, PROMPT)
    state = shell_state()
    assert (state["shell"], state["last_command"], state["last_exit"]) == ("cmd", "gti", None)
    ask_at_the_prompt(seat)
    assert neocode("diag", "auto", "off") == "automatic diagnosis: off\n"
    seat.until(PROMPT, seat.enter("gut"))
    assert neocode("diag", "auto", "status") == "automatic diagnosis: off\n"
    seat.until(PROMPT, seat.type(""))
    assert CAUSE.format("gut") not in seat.text(at)
    assert CAUSE.format("ai") not in seat.text(0)  # a question is no failure
    seat.type("exit 7")
    assert seat.backend.wait(PATIENCE_SEC) == 7


def ask_at_the_prompt(seat: Seat) -> None:
    """One question is one answer, about the command before it, and the shell goes on."""
    at = seat.enter("@ai what failed?")
    seat.until(NOT_FOUND.format("ai"), at)  # CMD takes the @ for "do not show this line"
    seat.until(PROMPT, at)
    seat.enter_until(CAUSE.format("gti"), at, PROMPT)
    for _ in range(2):
        seat.until(PROMPT, seat.type(""))
    assert seat.text(at).count(CAUSE.format("gti")) == 1
    at = seat.enter("echo one^two")
    seat.until("onetwo", at)
    seat.until(PROMPT, at)


def test_a_second_process_asks_and_starts_the_mode_in_which_other_lines_run_in_the_shell(shell: Open) -> None:
    seat = shell("--no-auto")
    at = seat.enter("gti")
    seat.until(PROMPT, at)
    assert neocode("diag").startswith("delivered to shell-")
    seat.enter_until(CAUSE.format("gti"), at, PROMPT)
    at = len(seat.screen)
    assert neocode("diag", "-i").startswith("delivered to shell-")
    seat.until(MODE_PROMPT, at)
    at = seat.enter("@ai what failed?")
    seat.until(CAUSE.format("gti"), at)
    seat.until("offline rule", at)
    seat.until(MODE_PROMPT, seat.screen.rindex(b"offline rule"))
    at = seat.enter("echo one^two")
    seat.until("onetwo", at)
    seat.until(MODE_PROMPT, at)
    seat.until(PROMPT, seat.enter("exit"))
    seat.type("exit 7")
    assert seat.backend.wait(PATIENCE_SEC) == 7
    assert "'@ai" not in seat.text(0)  # as CMD names what it knows no program for
