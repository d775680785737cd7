"""The shell's end is ours: its status, all it printed, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from outer import Outer

Start = Callable[..., Outer]


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 42", 42),
        ("exit 0", 0),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ],
)
def test_the_status_is_the_shells(start: Start, script: str, status: int) -> None:
    assert start("/bin/sh", "sh", "-c", script).status() == status


def test_a_program_that_does_not_exist_is_127_and_one_line(start: Start) -> None:
    outer = start("/nonexistent/shell", "shell")
    said = outer.finish()
    assert outer.process.wait() == 127
    assert said.count(b"\n") == 1
    assert b"/nonexistent/shell: no such file" in said


@pytest.mark.parametrize("kind", ["not executable", "a directory", "a wrong format", "a missing interpreter"])
def test_a_program_that_cannot_be_run_is_126_and_one_line(start: Start, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "shell"
    if kind == "a directory":
        path.mkdir()
    else:
        path.write_bytes(b"#!/nonexistent/interpreter\n" if kind == "a missing interpreter" else b"\x00\x01\x02\x03")
        path.chmod(stat.S_IRUSR if kind == "not executable" else stat.S_IRWXU)
    if kind == "not executable" and os.access(path, os.X_OK):
        pytest.skip("this user may execute everything")
    outer = start(str(path), "shell")
    said = outer.finish()
    assert outer.process.wait() == (127 if kind == "a missing interpreter" else 126)
    assert said.count(b"\n") == 1
    assert said.count(str(path).encode()) == 1
    assert b"Traceback" not in said


def test_a_program_that_ends_at_once_loses_nothing(start: Start, tmp_path: Path) -> None:
    """asciinema/asciinema#246, microsoft/node-pty#529: the output of a command that exits at once was lost."""
    report = tmp_path / "report"
    options = ("--cycles", "300", "--report", str(report))
    outer = start("/bin/sh", "sh", "-c", "printf x; exit 3", options=options)
    assert outer.finish(50) == b"x" * 300
    assert outer.process.wait() == 3


def test_start_and_exit_leave_nothing_open(start: Start, tmp_path: Path) -> None:
    """microsoft/node-pty#882: a descriptor of the pty's master leaked with every start."""
    report = tmp_path / "report"
    outer = start("/bin/sh", "sh", "-c", "exit 3", options=("--cycles", "200", "--report", str(report)))
    assert outer.status(50) == 3
    seen = json.loads(report.read_text())
    assert {one["fds"] for one in seen} == {seen[0]["fds"]}
    assert seen[-1]["rss_kib"] - seen[20]["rss_kib"] < 512


def test_a_large_last_output_is_passed_on_whole(start: Start) -> None:
    outer = start("/bin/bash", "bash", "-c", "printf '%0200000d' 7; exit 9")
    said = outer.finish()
    assert len(said) == 200_000
    assert outer.process.wait() == 9


def test_a_slow_terminal_still_gets_what_was_read(start: Start) -> None:
    """The limit on reading the pty after the exit is none on writing to the terminal."""
    outer = start("/bin/bash", "bash", "-c", "printf '%03000d' 7; (sleep 0.05; printf '%060000d' 8) & exit 9")
    time.sleep(1.0)  # nobody looks at the screen for longer than any limit
    said = outer.finish()
    assert said.startswith(b"0" * 2999 + b"7")
    assert outer.process.wait() == 9


FIVE_SECONDS = "while [ $SECONDS -lt 5 ]; do"  # longer than the test, and over by itself: nothing else ends the job


@pytest.mark.parametrize(
    "job", ["sleep 5", f"{FIVE_SECONDS} echo more; done", f"{FIVE_SECONDS} echo more; sleep 0.02; done"]
)
def test_a_background_job_that_holds_the_terminal_does_not_hold_us(start: Start, job: str) -> None:
    outer = start("/bin/bash", "bash", "-c", f"trap '' HUP; ({job}) & printf BYE; exit 4")
    outer.expect(b"BYE")
    ended = time.monotonic()
    assert outer.status() == 4
    assert time.monotonic() - ended < 1.5


def test_late_output_within_the_silence_is_passed_on(start: Start) -> None:
    """Once of ten times is enough: on a busy machine the job itself may come too late."""
    script = "trap '' HUP; (sleep 0.01; printf LATE) & exit 0"
    assert any(b"LATE" in start("/bin/bash", "bash", "-c", script).finish() for _ in range(10))


def test_the_terminal_gets_its_modes_back(start: Start) -> None:
    outer = start("/bin/bash", "bash", "-c", "stty raw -echo; exit 1")
    assert outer.status() == 1
    assert termios.tcgetattr(outer.slave) == outer.before_attributes


def session_of(pid: int) -> set[int]:
    """The living processes of the session whose leader is `pid`."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == pid and fields[0] != "Z":
                found.add(int(entry))
    return found


def shell_pid(outer: Outer) -> int:
    outer.expect(b"pid=")
    return int(outer.expect(b";")[:-1])


@pytest.mark.parametrize(
    "script",
    [
        "sleep 100",
        "sleep 100 & sleep 100 & wait",
        "trap '' HUP; sleep 100",
        "trap '' HUP TERM; while :; do sleep 1; done",
        "trap '' HUP TERM; while :; do echo flood; done",
        "kill -STOP $$; sleep 100",
        "exec <&- >&- 2>&-; while :; do sleep 1; done",
    ],
)
def test_a_closed_terminal_ends_the_shell_within_three_seconds(start: Start, script: str) -> None:
    """liaohch3/claude-tap#455: SIGHUP was not passed on, and 31 orphans had 3.4 GB after 28 hours."""
    outer = start("/bin/bash", "bash", "-c", f"printf 'pid=%d;' $$; {script}")
    shell = shell_pid(outer)
    assert session_of(shell)
    outer.hang_up()
    deadline = time.monotonic() + 3
    while (left := session_of(shell)) and time.monotonic() < deadline:
        time.sleep(0.02)
    if "while :; do sleep" in script:
        left = {pid for pid in left if pid == shell}  # its last sleep is nobody's but its own, and short
    assert left == set()
    assert outer.process.wait(3) == 129


def test_an_interactive_shell_ends_its_jobs_when_the_terminal_closes(start: Start) -> None:
    outer = start("/bin/bash", "bash", "--norc", "-i")
    outer.send(b"set -m; sleep 100 & sleep 101 & printf 'pid=%d;' $$\r")
    outer.expect(b"[2] ")
    outer.expect(b"pid=")
    shell = int(outer.expect(b";")[:-1])
    assert len(session_of(shell)) == 3
    outer.hang_up()
    deadline = time.monotonic() + 3
    while session_of(shell) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert session_of(shell) == set()
    assert outer.process.wait(3) == 129


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_ends_the_shell_and_restores_the_terminal(start: Start, number: signal.Signals) -> None:
    outer = start(
        "/bin/bash", "bash", "-c", "trap 'echo goodbye; exit 5' HUP; printf 'pid=%d;' $$; while :; do sleep 0.05; done"
    )
    shell = shell_pid(outer)
    outer.process.send_signal(number)
    assert b"goodbye" in outer.finish()
    assert outer.process.wait() == 128 + number
    assert session_of(shell) == set()
    assert termios.tcgetattr(outer.slave) == outer.before_attributes


def test_a_signal_ends_us_though_the_terminal_is_stalled(start: Start) -> None:
    outer = start("/bin/bash", "bash", "-c", "printf 'pid=%d;' $$; while :; do echo flood; done")
    shell_pid(outer)
    time.sleep(0.5)  # the screen fills up
    outer.process.send_signal(signal.SIGTERM)
    assert outer.process.wait(5) == 143
    assert termios.tcgetattr(outer.slave) == outer.before_attributes


@pytest.mark.parametrize("options", [(), ("--selectors",)])
def test_a_terminal_that_everyone_closed_may_be_opened_again(start: Start, options: tuple[str, ...]) -> None:
    """The master then reads EIO while the shell lives."""
    away = "exec <&- >&- 2>&-; sleep 0.5; exec <>$t >&0 2>&0"
    script = f"t=$(tty); printf 'one '; {away}; printf 'two '; read x; echo $x; exit 6"
    outer = start("/bin/bash", "bash", "-c", script, options=options)
    outer.expect(b"one ")
    before = _cpu_seconds(outer.process.pid)
    outer.send(b"answer\r")
    outer.expect(b"two ")
    assert _cpu_seconds(outer.process.pid) - before < 0.2  # no busy loop meanwhile
    assert b"answer" in outer.finish()
    assert outer.process.wait() == 6


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_idle_shell_costs_no_processor_time(start: Start) -> None:
    """SerenityOS/serenity#2370: a loop that spins."""
    outer = start("/bin/bash", "bash", "-c", "printf READY; exec sleep 1")
    outer.expect(b"READY")
    before = _cpu_seconds(outer.process.pid)
    outer.step(0.8)
    assert _cpu_seconds(outer.process.pid) - before <= 0.02
    assert outer.status() == 0
