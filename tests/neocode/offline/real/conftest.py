"""Runs real tools for the offline tests and hands what they print to the rules.

Invariant: no network but 127.0.0.1, no file outside the test's directory is written; a tool that is not here skips.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]  # the tools speak otherwise elsewhere: cases/*.toml has those words

REAL_HOME = Path.home()  # before any fixture changes HOME: rustup's toolchains are read from there
DEADLINE = 50  # seconds; below pytest's own time-out, so that the tool is named


def tool_environment(home: Path) -> dict[str, str]:
    """What tools need to find themselves, English words, and nothing that lets them use the network or the home."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(REAL_HOME / ".rustup")),
        "CARGO_HOME": str(home / "cargo"),
        "CARGO_NET_OFFLINE": "true",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOPATH": str(home / "go"),
    }


LAUNCHERS = ("cargo", "rustc")  # rustup puts a launcher on the PATH; the tool is found through the home directory


@functools.cache
def works(tool: str) -> bool:
    """Whether the launcher finds its tool."""
    return subprocess.run([tool, "--version"], capture_output=True, check=False, timeout=DEADLINE).returncode == 0


class Tools:
    """A directory with files to run tools in."""

    def __init__(self, directory: Path, rules: Any) -> None:
        self.directory = directory
        self._rules = rules

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")

    def run(self, argv: Sequence[str], **extra_environment: str) -> tuple[str, int]:
        """What `argv` prints on both streams, and its exit code as a shell tells it."""
        if shutil.which(argv[0]) is None or (argv[0] in LAUNCHERS and not works(argv[0])):
            pytest.skip(f"{argv[0]} is not installed")
        done = subprocess.run(
            list(argv),
            cwd=self.directory,
            env={**tool_environment(self.directory), **extra_environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=DEADLINE,
        )
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return done.stdout.decode("utf-8", "replace"), code

    def diagnose(self, argv: Sequence[str], **extra_environment: str) -> list[Any]:
        """The faults that the rules find in what `argv` prints."""
        log, code = self.run(argv, **extra_environment)
        assert code != 0, f"{argv} was expected to fail:\n{log}"
        return list(self._rules.log(log, command=" ".join(argv), exit_code=code, os="linux"))

    def expect(self, rule: str, argv: Sequence[str], **extra_environment: str) -> Any:
        """Assert that the first fault is `rule`; return it."""
        faults = self.diagnose(argv, **extra_environment)
        assert faults, "no rule fired on:\n" + self.run(argv, **extra_environment)[0]
        assert faults[0].rule_id == rule, [found.rule_id for found in faults]
        return faults[0]


@pytest.fixture
def tools(tmp_path: Path, rules: Any) -> Tools:
    return Tools(tmp_path, rules)


@pytest.fixture
def closed_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
