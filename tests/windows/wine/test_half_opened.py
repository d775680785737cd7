"""What fails half-way leaves no handle of its first half, asked of the real system."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    import msvcrt

    from open_handles import handles

    from conpty import console_pipes, pseudo_console_api, security

ROUNDS = 5


def refusing(real: Callable[..., Any], at: int) -> Callable[..., Any]:
    """`real`, which fails at every call number `at`."""
    calls = 0

    def call(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % at == 0:
            raise OSError(errno.EMFILE, "no more handles")
        return real(*arguments)

    return call


@pytest.mark.parametrize(("function", "at"), [("open_pipe", 1), ("create_event", 2), ("open_pipe", 2)])
def test_a_console_whose_pipes_cannot_all_be_had(monkeypatch: pytest.MonkeyPatch, function: str, at: int) -> None:
    consoles = pseudo_console_api.WindowsPseudoConsoles()
    monkeypatch.setattr(console_pipes, function, refusing(getattr(console_pipes, function), at))
    with pytest.raises(OSError, match="no more handles"):
        consoles.open(24, 80)
    before = handles()
    for _ in range(ROUNDS):
        with pytest.raises(OSError, match="no more handles"):
            consoles.open(24, 80)
    assert handles() < before + ROUNDS


def test_a_file_that_gets_no_descriptor_can_be_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "file")
    with monkeypatch.context() as patch:
        patch.setattr(msvcrt, "open_osfhandle", refusing(msvcrt.open_osfhandle, 1))
        with pytest.raises(OSError, match="no more handles"):
            security.open_file(path)
    os.remove(path)  # nobody could, while it is open: it is opened without FILE_SHARE_DELETE
