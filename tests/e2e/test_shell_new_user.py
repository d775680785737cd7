"""Zsh without any start-up file: its welcome for new users comes as it would have, and we are there afterwards."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import NEOCODE
from seat import Home, Seat

NOBODY = 65534  # zsh greets everybody but root

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="ptys"),
    pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def new_home() -> Iterator[Home]:
    """Somebody's empty home."""
    with tempfile.TemporaryDirectory(prefix="neo") as path:
        home = Home(Path(path))
        for file in home.path.iterdir():
            file.unlink()
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        try:
            yield home
        finally:
            home.close()


def welcomed(home: Home, *command: str) -> list[str]:
    """The screen after zsh's question was answered by `0` (an empty .zshrc), and a command that fails."""
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv to be somebody else with")
        command = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command)
    seat = Seat(list(command), home.env, home.path)
    try:
        seat.until(lambda: seat.last.endswith("Type one of the keys in parentheses ---"), "the question")
        seat.type("0")
        seat.until(lambda: (home.path / ".zshrc").exists() and seat.last.endswith("%"), "the prompt")
        seat.type("ech ${ZDOTDIR-unset} $(zmodload | grep -c newuser)\r")
        seat.until(lambda: "zsh: command not found: ech" in seat.lines(), "the error")
        seat.until(lambda: seat.last.endswith("%"), "the prompt")
        return seat.lines()
    finally:
        seat.close()


def test_a_new_users_welcome_is_neither_kept_back_nor_doubled(new_home: Home) -> None:
    path = shutil.which("zsh") or ""
    plain = welcomed(new_home, path)
    (new_home.path / ".zshrc").unlink()
    ours = welcomed(new_home, *NEOCODE, "shell", "--no-auto", "--shell", path)
    assert "You are seeing this message because you have no zsh startup files" in plain
    assert ours == plain
