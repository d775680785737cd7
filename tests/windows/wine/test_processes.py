"""Who started us and who lives, asked of the real system."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from conpty import processes
from neocode.shell import parent_shell

SHOW = "from neocode import facts; print(facts.shell_kind({}))"


def test_the_shell_that_started_us_is_found_among_our_ancestors() -> None:
    done = subprocess.run(
        ["cmd.exe", "/d", "/c", sys.executable, "-c", SHOW],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == b"cmd"


def test_a_chain_of_ancestors_ends() -> None:
    found = processes.ancestors(os.getpid())
    assert os.getpid() not in [process.pid for process in found]
    assert len(found) == len(set(found)) <= processes.MAX_GENERATIONS


def test_who_has_ended_does_not_live() -> None:
    child = subprocess.Popen(["cmd.exe", "/d", "/c", "exit 259"])
    child.wait(30)
    assert processes.is_alive(os.getpid())
    assert not processes.is_alive(child.pid)


def test_a_shell_that_does_not_tell_its_arguments_still_tells_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wine cannot load psutil's library, so what stands in for it does as Windows does with an elevated shell."""

    class Process:
        def __init__(self, pid: int) -> None:
            assert pid == os.getpid()

        def exe(self) -> str:
            return r"C:\elsewhere\cmd.exe"

        def cmdline(self) -> list[str]:
            raise PermissionError(13, "Access is denied")

    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(Process=Process))
    assert parent_shell._ancestor(os.getpid(), "cmd.exe") == (r"C:\elsewhere\cmd.exe", ())
