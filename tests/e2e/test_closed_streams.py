"""Standard streams that are closed or full: the exit code says what happened, nothing goes astray."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from cli import NEOCODE, NeoHome

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
DIAG = ("diag", "--error-log", "bash: gti: command not found")


def sh(home: NeoHome, arguments: tuple[str, ...], redirect: str) -> subprocess.CompletedProcess[str]:
    """`neocode ARGUMENTS` as a shell runs it with `redirect`."""
    return subprocess.run(
        ["sh", "-c", f"{shlex.join([*NEOCODE, *arguments])} {redirect}"],
        env=home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", [DIAG, (*DIAG, "--json"), ("config", "get"), ("provider", "list"), ("--version",)]
)
def test_output_to_a_closed_stdout_is_one_line_not_a_traceback(home: NeoHome, arguments: tuple[str, ...]) -> None:
    done = sh(home, arguments, ">&-")
    assert done.returncode == 1
    assert done.stderr == "neocode: cannot write the output: Bad file descriptor\n"


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("diag", "--help")])
def test_help_that_cannot_be_written_is_one_line(home: NeoHome, arguments: tuple[str, ...]) -> None:
    done = sh(home, arguments, ">/dev/full")
    assert done.returncode == 1
    assert done.stderr == "neocode: cannot write the output: No space left on device\n"


def test_an_error_never_goes_to_stdout_when_stderr_is_closed(home: NeoHome) -> None:
    done = sh(home, ("diag", "--json", "--file", "/nonexistent"), "2>&-")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("redirect", ["<&-", "2>&-", "<&- 2>&-", "2>/dev/full"])
def test_an_answer_needs_neither_stdin_nor_stderr(home: NeoHome, redirect: str) -> None:
    done = sh(home, (*DIAG, "--json"), redirect)
    assert done.returncode == 0
    assert json.loads(done.stdout)["provider"] == "offline"


def test_an_error_that_nobody_can_read_keeps_its_exit_code(home: NeoHome) -> None:
    assert sh(home, ("diag", "--file", "/nonexistent"), "2>/dev/full").returncode == 2
