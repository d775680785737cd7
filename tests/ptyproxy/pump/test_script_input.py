"""Without a terminal on stdin or stdout it works as script(1) does, and ends where script(1) would wait for ever."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from outer import RUNNER

ENV = {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "$ ", "HOME": "/nonexistent"}
BASH = ["/bin/bash", "bash", "--norc"]


def run(command: list[str], data: bytes | None = b"", **more: object) -> subprocess.CompletedProcess[bytes]:
    options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENV, "timeout": 20}
    if data is not None:
        options["input"] = data
    return subprocess.run([*RUNNER, *command], check=False, **(options | more))  # type: ignore[call-overload,no-any-return]


def test_a_piped_script_runs_to_its_end_with_the_shells_status() -> None:
    done = run(BASH, b"echo $((40+2))\nexit 3\n")
    assert b"\n42\r" in done.stdout
    assert done.returncode == 3
    assert done.stderr == b""


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "ksh", "fish"])
def test_the_end_of_a_script_ends_every_shell(shell: str) -> None:
    path = f"/usr/bin/{shell}"
    if not os.path.exists(path):
        pytest.skip(f"no {shell}")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    done = run([path, shell, *options], b"echo $((40+2)) | tr 4 6\n" if shell != "fish" else b"math 60 + 2\n")
    assert b"62" in done.stdout
    assert done.returncode == 0


def test_the_end_reaches_a_command_that_reads_and_then_the_shell() -> None:
    done = run(BASH, b"cat | tr a-z A-Z\nhello\n")
    assert b"HELLO" in done.stdout
    assert done.returncode == 0


def test_a_child_with_another_end_of_file_key_is_told_with_that() -> None:
    done = run(["/bin/sh", "sh", "-c", "stty eof ^X; cat >/dev/null; echo over"], b"some line\n")
    assert b"over" in done.stdout
    assert b"^D" not in done.stdout


def test_a_last_line_without_its_end_is_read() -> None:
    done = run(["/bin/sh", "sh", "-c", "cat | tr a-z A-Z"], b"first\nlast")
    assert b"FIRST\r\nLAST" in done.stdout
    assert done.returncode == 0


def test_input_that_comes_before_anyone_reads_is_not_lost() -> None:
    done = run(
        ["/bin/sh", "sh", "-c", "stty -echo; sleep 0.5; cat | tr a-z A-Z"],
        b"".join(b"line %d\n" % n for n in range(2000)),
    )
    assert done.stdout.count(b"LINE ") == 2000


def test_input_for_a_reader_that_comes_late_ends_after_the_last_byte() -> None:
    """A program that makes its terminal raw after we have written gets no stray end-of-file key in its data."""
    program = "import os,time,tty; time.sleep(0.5); tty.setraw(0, 0); d=b''\n"
    program += "while not d.endswith(b'END\\n'): d+=os.read(0,9)\nos.write(1, b'<'+d+b'>')"
    done = run([sys.executable, "python", "-I", "-S", "-c", program], b"data END\n")
    assert b"<data END\n>" in done.stdout


def test_no_input_at_all_ends_a_shell(tmp_path: Path) -> None:
    for stdin in (subprocess.DEVNULL, None):
        if stdin is None:
            empty = tmp_path / "empty"
            empty.touch()
            with empty.open("rb") as handle:
                done = run(BASH, None, stdin=handle)
        else:
            done = run(BASH, None, stdin=stdin)
        assert b"exit" in done.stdout
        assert done.returncode == 0


def test_a_file_as_input_and_a_file_as_output(tmp_path: Path) -> None:
    script, out = tmp_path / "script", tmp_path / "out"
    script.write_bytes(b"".join(b"echo $((1000+%d)).\n" % n for n in range(300)) + b"exit 5\n")
    with script.open("rb") as stdin, out.open("wb") as stdout:
        done = run(BASH, None, stdin=stdin, stdout=stdout)
    assert done.returncode == 5
    said = out.read_bytes()
    assert [n for n in range(1000, 1300) if b"%d.\r\n" % n not in said] == []


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
def test_closed_descriptors_are_as_good_as_the_null_device(closed: tuple[int, ...], tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"test -t 0 -a -t 1 -a -t 2 && ls -l /proc/$$/fd > {told}; cat; exit 4"

    def close() -> None:
        for fd in closed:
            os.close(fd)

    done = run(["/bin/bash", "bash", "-c", script], None if 0 in closed else b"", preexec_fn=close)
    assert done.returncode == 4
    assert told.read_text().count("/dev/pts/") >= 3


def test_a_long_output_into_a_slow_pipe_arrives_whole() -> None:
    runner = " ".join(RUNNER)
    line = f"{runner} /bin/bash bash -c 'for i in $(seq 60000); do echo $i; done' </dev/null | (sleep 0.5; cksum)"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env=ENV, timeout=30, check=True)
    text = b"".join(b"%d\r\n" % number for number in range(1, 60001))
    assert done.stdout == subprocess.run(["cksum"], input=text, capture_output=True, check=True).stdout


def test_a_shared_pipe_that_does_not_block_keeps_its_mode_and_loses_nothing() -> None:
    """What others may have done to the description that we were given: O_NONBLOCK is theirs to set."""
    for blocking in (True, False):
        read, write = os.pipe()
        os.set_blocking(write, blocking)
        process = subprocess.Popen(
            [*RUNNER, "/bin/bash", "bash", "-c", "for i in $(seq 40000); do echo $i; done"],
            stdin=subprocess.DEVNULL, stdout=write, env=ENV,
        )  # fmt: skip
        assert os.read(read, 1) == b"1"
        assert os.get_blocking(write) is blocking
        os.set_blocking(read, False)
        got = bytearray(b"1")
        while process.poll() is None or select.select([read], [], [], 0)[0]:
            if select.select([read], [], [], 0.05)[0]:
                got += os.read(read, 1000)
        assert got == b"".join(b"%d\r\n" % number for number in range(1, 40001))
        assert os.get_blocking(write) is blocking
        os.close(read)
        os.close(write)


def test_an_output_that_nobody_reads_any_more_ends_the_shell() -> None:
    runner = " ".join(RUNNER)
    line = f"{runner} /usr/bin/yes yes </dev/null | head -1"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env=ENV, timeout=20, check=True)
    assert done.stdout == b"y\r\n"
    assert done.stderr == b""


def test_an_interrupt_ends_a_run_without_a_terminal() -> None:
    process = subprocess.Popen(
        [*RUNNER, "/bin/sh", "sh", "-c", "echo READY; sleep 100"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENV,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    with process.stdout, process.stdin:
        assert process.stdout.readline() == b"READY\r\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
