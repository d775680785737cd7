"""Who started us and who lives, asked of the real system."""

from __future__ import annotations

import os
import subprocess
import sys

from conpty import processes

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
