"""`@ai QUESTION` at the prompt of a real cmd.exe: CMD says that it knows no program `ai`, and we answer.

Wine's cmd does not read PROMPT from its environment (`test_cmd_marks`), so the script of `--init cmd` is called first.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_seat import PATIENCE_SEC, Seat

from conpty.backend import Launch
from conpty.choose import open_direct
from conpty.command_line import join
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.lifecycle import stop_daemon
from ptyproxy.integration.plan import script

PROMPT = "C> \x1b]7781;neocode;B\x1b\\"  # Wine's console shows the mark, and carries it on
WIDTH = 400  # the marks would wrap
CAUSE = "CMD found no program called {}"
NOT_FOUND = "'{}' is not recognized as an internal or external command,"


@pytest.fixture
def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seat]:
    """A `neocode shell` with a cmd.exe at its first prompt. `gti` and `ai` fail as on Windows, in Microsoft's words."""
    monkeypatch.setenv("NEOCODE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "marks.cmd").write_text(script("cmd"), newline="")
    for name in ("gti", "ai"):
        words = f"@echo {NOT_FOUND.format(name)}\r\n@echo operable program or batch file.\r\n@exit /b 9009\r\n"
        (tmp_path / f"{name}.cmd").write_text(words, newline="")
    start = f"set PROMPT=$N$G$S&call {tmp_path}\\marks.cmd"
    line = join([sys.executable, "-I", "-m", "neocode", "shell", "--shell", "cmd.exe", "--", "/D", "/K", start])
    made = Seat(open_direct(Launch(line, str(tmp_path), dict(os.environ), 30, WIDTH)))
    made.until(PROMPT)
    yield made
    made.close()
    asyncio.run(stop_daemon(resolve_endpoint()))


def test_a_question_at_cmds_own_prompt_is_answered_and_is_no_failure(seat: Seat) -> None:
    at = seat.enter("gti")
    seat.until(PROMPT, at)
    seat.enter_until(CAUSE.format("gti"), at, PROMPT)
    at = seat.enter("@ai what failed?")
    seat.until(NOT_FOUND.format("ai"), at)  # CMD takes the @ for "do not show this line"
    seat.until(PROMPT, at)
    seat.enter_until(CAUSE.format("gti"), at, PROMPT)  # one turn, about the command before it
    for _ in range(2):
        seat.until(PROMPT, seat.type(""))
    assert seat.text(at).count(CAUSE.format("gti")) == 1
    assert CAUSE.format("ai") not in seat.text(0)
    at = seat.enter("echo one^two")
    seat.until("onetwo", at)
    seat.type("exit 7")
    assert seat.backend.wait(PATIENCE_SEC) == 7
