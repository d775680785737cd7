"""Why there is no session, in a line that names what failed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ptyproxy import proxy
from ptyproxy.options import Options

if sys.platform == "win32":
    pytest.skip("stdin is no console in a test, and the words are the same", allow_module_level=True)


def run(base: Path) -> str:
    """The words for the user."""

    def assistant(*arguments: Any) -> NoReturn:
        raise AssertionError("nobody is to be asked")

    options = Options(
        shell="/bin/sh", arguments=(), login=False, integrate=False, auto=False, mode_history=str(base / "history")
    )
    with pytest.raises(proxy.NotStarted) as told:
        proxy.run(options, str(base), assistant)
    return str(told.value)


def failing(error: OSError) -> Any:
    def fail(*arguments: Any) -> NoReturn:
        raise error

    return fail


def test_a_console_that_cannot_be_had_is_no_fault_of_our_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "spawn", failing(OSError("no pseudo console: the direct way failed")))
    assert run(tmp_path) == "cannot start the shell: no pseudo console: the direct way failed"
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    base = tmp_path / "file"
    base.touch()
    said = run(base)
    assert said.startswith(f"cannot start a session in {base}: ")
    assert said.count("\n") == 0


def test_a_terminal_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "Terminal", failing(OSError(5, "Input/output error")))
    assert run(tmp_path) == "cannot use this terminal: Input/output error"
    assert list(tmp_path.iterdir()) == []
