"""Which log `neocode diag` reads, tried with real descriptors in a real process."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROBE = """
from neocode.cli.diag_input import open_stdin
stream = open_stdin()
print("none" if stream is None else f"log:{len(stream.read())}")
"""
ARGV = [sys.executable, "-I", "-c", PROBE]


def probe(stdin: object, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(ARGV, stdin=stdin, capture_output=True, text=True, timeout=30, check=True, **more)  # type: ignore[call-overload]


def close_stdin() -> None:
    os.close(0)


def test_the_null_device_is_no_log() -> None:
    assert probe(subprocess.DEVNULL).stdout == "none\n"


def test_a_terminal_is_no_log() -> None:
    master, slave = pty.openpty()
    try:
        assert probe(slave).stdout == "none\n"
    finally:
        os.close(master)
        os.close(slave)


def test_a_closed_descriptor_is_no_log() -> None:
    assert probe(None, preexec_fn=close_stdin).stdout == "none\n"


def test_an_empty_file_is_no_log(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    with open(empty, "rb") as handle:
        assert probe(handle).stdout == "none\n"


def test_a_pipe_closed_without_a_byte_is_no_log() -> None:
    done = subprocess.run(ARGV, input="", capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "none\n"


def test_a_file_is_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100_000)
    with open(log, "rb") as handle:
        assert probe(handle).stdout == "log:100000\n"


def test_a_pipe_is_read_to_its_end_without_a_notice() -> None:
    done = subprocess.run(ARGV, input="y" * 300_000, capture_output=True, text=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("log:300000\n", "")


def test_a_silent_pipe_is_named_once_and_still_read() -> None:
    process = subprocess.Popen(ARGV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stderr is not None
    notice = process.stderr.readline()
    assert "waiting for a log" in notice
    assert "Ctrl-C" in notice
    out, err = process.communicate("one line\n", timeout=30)
    assert (out, err) == ("log:9\n", "")


def test_text_from_the_command_line_keeps_bytes_that_are_no_utf8(open_log: Callable[..., object]) -> None:
    stream = open_log("caf\udce9", None)
    assert stream.read() == b"caf\xe9"  # type: ignore[attr-defined]


@pytest.fixture
def open_log() -> Callable[..., object]:
    from neocode.cli.diag_input import open_log

    return open_log


def test_what_cannot_be_a_log_says_so(open_log: Callable[..., object], tmp_path: Path) -> None:
    from neocode.errors import UsageError

    (tmp_path / "empty").touch()
    for error_log, file in [
        ("", None),
        ("  \n", None),
        (None, "/nonexistent"),
        (None, str(tmp_path)),
        (None, str(tmp_path / "empty")),
    ]:
        with pytest.raises(UsageError):
            open_log(error_log, file)
