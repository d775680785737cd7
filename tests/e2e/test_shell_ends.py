"""Every way out of `neocode shell`: status, terminal, nothing left behind. And what passes through it unharmed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from cli import NEOCODE
from seat import SHELL_PROMPT, Home, Seat

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

PATIENCE_SEC = 20.0


def sessions(home: Home) -> list[Path]:
    return list(Path(home.dir, "run").glob("shell-*"))


def soon(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SEC
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def child_of(seat: Seat) -> psutil.Process:
    """The shell inside."""
    return next(each for each in psutil.Process(seat.process.pid).children() if each.name() == "bash")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_the_terminal_as_it_was(shell_home: Home, number: signal.Signals) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        shell = child_of(seat)
        seat.type("printf '\\033[?1049h\\033[?1000h\\033[?25l'; cat\r")
        seat.until(lambda: b"\x1b[?25l" in seat.raw, "the modes of a full-screen program")
        seat.process.send_signal(number)
        assert seat.status() in (128 + number, -number)
        after = bytes(seat.raw)
        for undone in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?25h"):
            assert undone in after[after.index(b"\x1b[?25l") :]
        assert termios.tcgetattr(seat.slave) == seat.before_attributes
        soon(lambda: not shell.is_running(), "the shell still runs")
    assert sessions(shell_home) == []


def test_a_terminal_that_is_closed_leaves_nothing_running(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        family = [psutil.Process(seat.process.pid), *psutil.Process(seat.process.pid).children(recursive=True)]
        os.close(seat.slave)
        seat.slave = -1
        seat.hang_up()
        _, alive = psutil.wait_procs(family, timeout=PATIENCE_SEC)
        assert alive == []
    assert sessions(shell_home) == []


def test_the_proxy_killed_with_9_is_cleaned_up_after_by_the_next_start(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.process.kill()
        seat.process.wait()
    assert len(sessions(shell_home)) == 1
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        assert len(sessions(shell_home)) == 1
        seat.type("exit\r")
        assert seat.status() == 0
    assert sessions(shell_home) == []


@pytest.mark.parametrize(("line", "code"), [("exit 42", 42), ("kill -KILL $$", 137), ("exec true", 0)])
def test_the_status_of_the_shell_is_ours(shell_home: Home, line: str, code: int) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.type(line + "\r")
        assert seat.status() == code


def test_modes_are_undone_however_short_the_shell_lived(shell_home: Home) -> None:
    with shell_home.shell("--", "-c", "printf '\\033[?1000h'; exit 4") as seat:
        assert seat.status() == 4
        assert b"\x1b[?1000l" in seat.raw.partition(b"\x1b[?1000h")[2]


def test_a_script_is_run_as_script_does(shell_home: Home) -> None:
    done = subprocess.run(
        [*NEOCODE, "shell", "--shell", "/bin/sh"],
        input=b"echo one; read line; echo got $line\ntwo\nexit 5\n",
        env=shell_home.env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 5
    assert b"one" in done.stdout
    assert b"got two" in done.stdout
    assert b"7781" not in done.stdout


def test_arguments_after_the_dashes_and_a_login_shell(shell_home: Home) -> None:
    (shell_home.path / ".bash_profile").write_text("echo profile was read\n")
    done = shell_home.run(
        "shell", "--login", "--shell", "/bin/bash", "--", "-c", 'echo "$0 $1"', "name", "--login", "x y"
    )
    assert "profile was read" in done.stdout
    assert "name --login" in done.stdout
    with shell_home.shell("--login") as seat:
        seat.until_shown("profile was read")
        seat.type("shopt -q login_shell && echo it is one\r")
        seat.until(lambda: "it is one" in seat.lines(), "a login shell")


def test_two_thousand_lines_pasted_arrive_whole(shell_home: Home) -> None:
    text = "".join(f"line {number} of what was pasted\r" for number in range(2000))
    with shell_home.shell() as seat:
        seat.run("stty -echo")
        seat.type("cat > pasted; echo DONE\r")
        seat.until(lambda: b";cmd=" in seat.raw.rpartition(b";neocode;B")[2], "the command's start")
        seat.type(text + "\x04")
        seat.until_shown("DONE")
    assert (shell_home.path / "pasted").read_text() == text.replace("\r", "\n")


def test_a_new_size_reaches_the_shell(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.resize(30, 100)
        seat.display.resize(30, 100)
        seat.until(lambda: (seat.run("stty size"), any("30 100" in row for row in seat.lines()))[1], "the new size")


@pytest.mark.parametrize(
    ("start", "seen", "leave"),
    [
        ("vim -u NONE -n file", "the first line", ":q!\r"),
        ("less file", "the first line", "q"),
    ],
)
def test_full_screen_programs_draw_and_leave_the_screen_as_it_was(
    shell_home: Home, start: str, seen: str, leave: str
) -> None:
    if shutil.which(start.split()[0]) is None:
        pytest.skip("not installed")
    (shell_home.path / "file").write_text("the first line\n" * 60)
    with shell_home.shell() as seat:
        seat.run("echo before")
        seat.type(start + "\r")
        seat.until(lambda: sum(seen in row for row in seat.lines()) > 15, "its screen")
        assert b"\x1b[?1049h" in seat.raw
        seat.type(leave)
        seat.until(lambda: b"\x1b[?1049l" in seat.raw, "its end")
        seat.until_last(SHELL_PROMPT)
        seat.run("ech after")
        seat.until_shown("named ech")


@pytest.mark.parametrize(
    ("start", "seen", "leave"),
    [("htop -d 1", "PID", "\x07q"), ("seq 60 | fzf", "60/60", "\x07"), ("fzf <file", "1/1", "\r")],
)
def test_a_program_that_has_the_screen_has_the_hotkey_too_and_its_record_is_right(
    shell_home: Home, start: str, seen: str, leave: str
) -> None:
    """Ctrl+G leaves fzf; htop does nothing with it."""
    if shutil.which(start.split()[0]) is None or shutil.which("fzf") is None:
        pytest.skip("not installed")
    (shell_home.path / "file").write_text("only line\n")
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.type(start + "\r")
        seat.until(lambda: any(seen in row for row in seat.lines()), "its screen")
        seat.type(leave)
        seat.until(lambda: b"\x1b[?1049l" in seat.raw, "its end")
        seat.until(lambda: seat.last.endswith(SHELL_PROMPT), "the prompt")
        seat.type("clear\r")
        seat.until(lambda: seat.lines() == [SHELL_PROMPT], "an empty screen")
        seat.run("ech after")
        seat.until_shown("named ech")
        assert sum(row == "Cause" for row in seat.scrollback()) == 1


def test_inside_a_terminal_multiplexer_it_works_as_on_a_terminal(shell_home: Home) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("not installed")
    tmux = ["tmux", "-L", f"outer{os.getpid()}", "-f", "/dev/null"]
    shell = " ".join([*NEOCODE, "shell", "--shell", "/bin/bash"])

    def screen() -> str:
        shown = subprocess.run([*tmux, "capture-pane", "-p"], env=shell_home.env, capture_output=True, check=False)
        return shown.stdout.decode()

    subprocess.run([*tmux, "new-session", "-d", "-x", "80", "-y", "24", shell], env=shell_home.env, check=True)
    try:
        soon(lambda: SHELL_PROMPT in screen(), "the prompt")
        subprocess.run([*tmux, "send-keys", "ech inside", "Enter"], env=shell_home.env, check=True)
        soon(lambda: "provider offline" in screen(), "the answer")
        soon(lambda: screen().rstrip().endswith(SHELL_PROMPT), "the prompt below it")
        subprocess.run([*tmux, "send-keys", "C-g"], env=shell_home.env, check=True)
        soon(lambda: screen().rstrip().endswith(f"{SHELL_PROMPT} echo inside"), "the fix")
    finally:
        subprocess.run([*tmux, "kill-server"], env=shell_home.env, capture_output=True, check=False)


def test_a_terminal_multiplexer_inside_is_another_terminal(shell_home: Home) -> None:
    if shutil.which("tmux") is None:
        pytest.skip("not installed")
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        with contextlib.ExitStack() as stack:
            stack.callback(subprocess.run, ["tmux", "-L", f"neo{os.getpid()}", "kill-server"], capture_output=True)
            seat.type(f"tmux -L neo{os.getpid()} -f /dev/null new\r")
            seat.until(lambda: "0:" in seat.lines()[-1], "the status line of tmux")
            seat.type("ech inside\r")
            seat.until_shown("command not found")
            seat.type("exit\r")
            seat.until(lambda: "[exited]" in seat.lines()[-2:] and seat.last == SHELL_PROMPT, "the shell outside")
        seat.run("ech outside")
        seat.until_shown("named ech")
        assert sum(row == "Cause" for row in seat.scrollback()) == 1


def test_shells_that_come_and_go_leave_nothing_with_the_gateway(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("ech once")
        seat.until_shown("provider offline")
        descriptors = Path("/proc", str(shell_home.status()["pid"]), "fd")
        if not descriptors.is_dir():
            pytest.skip("no /proc")
    files = sorted(path for path in shell_home.path.rglob("*") if "shell-" not in path.name)
    soon(lambda: len(live(shell_home)) == 0, "the end of the first")
    before = len(list(descriptors.iterdir()))
    for _ in range(12):
        with shell_home.shell() as seat:
            seat.until_last(SHELL_PROMPT)
            seat.type("exit 0\r")
            assert seat.status() == 0
    soon(lambda: len(list(descriptors.iterdir())) <= before, "as few descriptors as before")
    assert sorted(shell_home.path.rglob("*")) == files


def live(home: Home) -> list[Path]:
    return list((home.dir / "run").glob("shell-*"))
