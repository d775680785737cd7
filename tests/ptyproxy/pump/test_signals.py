"""Stops, continues and signals at any moment leave the shell alive and the terminal as it was."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from outer import RUNNER, Outer

Start = Callable[..., Outer]
ECHO = ["/bin/sh", "sh", "-c", "stty raw -echo; printf READY; exec cat"]


def is_raw(outer: Outer) -> bool:
    return not termios.tcgetattr(outer.slave)[3] & termios.ICANON


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def wait_until(condition: Callable[[], bool], outer: Outer | None = None) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        if outer is None:
            time.sleep(0.005)
        else:
            outer.step(0.005)


def test_stop_and_continue_lose_nothing_and_raw_mode_comes_back(start: Start) -> None:
    outer = start(*ECHO)
    outer.expect(b"READY")
    outer.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state_of(outer.process.pid) == "T")
    termios.tcsetattr(outer.slave, termios.TCSANOW, outer.before_attributes)  # as the parent shell does
    outer.resize(33, 44)
    outer.process.send_signal(signal.SIGCONT)
    wait_until(lambda: is_raw(outer))
    outer.send(b"typed after\r\x03")
    assert outer.expect_bytes(13) == b"typed after\r\x03"


def test_suspend_stops_us_too_and_fg_goes_on(start: Start) -> None:
    """The parent is a real job-control shell; inside `suspend` gives its prompt back, `fg` ours."""
    parent = start("/bin/bash", "bash", "--norc", "-i", plain=True)
    parent.expect(b"$ ")
    inner = " ".join(RUNNER)
    parent.send(f"PS1='inner> ' {inner} /bin/bash bash --norc -i\r".encode())
    parent.expect(b"inner> ")  # what was typed
    parent.expect(b"inner> ")
    parent.send(b"echo a$((1+1)); suspend\r")
    parent.expect(b"a2")
    parent.expect(b"Stopped")
    parent.expect(b"$ ")
    parent.send(b"echo b$((1+1))\r")
    parent.expect(b"b2")
    parent.send(b"stty -a | grep -c -e '-icanon'; echo cooked$((1+1))\r")
    assert b"\r0\r\n" in parent.expect(b"cooked2")
    parent.send(b"fg\r")
    parent.expect(b"inner> ")
    parent.send(b"echo c$((1+1)); exit 9\r")
    parent.expect(b"c2")
    parent.expect(b"$ ")
    parent.send(b"echo status=$?\r")
    parent.expect(b"status=9")


def test_suspend_without_anybody_to_continue_us_goes_on_at_once(start: Start) -> None:
    """Our process group is an orphan: a stop would be for ever."""
    outer = start("/bin/bash", "bash", "-c", "kill -STOP $$; echo on; exit 3")
    assert b"on" in outer.finish()
    assert outer.process.wait() == 3


def test_keys_that_became_signals_before_raw_mode_reach_the_child_as_keys(start: Start) -> None:
    outer = start(*ECHO)
    outer.expect(b"READY")
    outer.process.send_signal(signal.SIGINT)
    assert outer.expect_bytes(1) == b"\x03"
    outer.process.send_signal(signal.SIGQUIT)
    assert outer.expect_bytes(1) == b"\x1c"


def test_an_end_of_file_key_while_raw_mode_was_taken_away_does_not_end_us(start: Start) -> None:
    outer = start(*ECHO)
    outer.expect(b"READY")
    termios.tcsetattr(outer.slave, termios.TCSANOW, outer.before_attributes)
    outer.send(b"\x04")
    assert outer.expect_bytes(1) == b"\x04"
    assert is_raw(outer)
    outer.send(b"on\n")
    assert outer.expect_bytes(3) == b"on\n"


def test_nohup_keeps_the_signal_away(start: Start) -> None:
    """A hang-up that was ignored when we started stays ignored, by us and by the shell."""
    outer = start(*ECHO, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None)
    outer.expect(b"READY")
    outer.process.send_signal(signal.SIGHUP)
    outer.send(b"alive")
    assert outer.expect_bytes(5) == b"alive"


@pytest.mark.parametrize("blocked", [signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT])
def test_signals_that_were_blocked_when_we_started_still_reach_the_loop(start: Start, blocked: signal.Signals) -> None:
    outer = start(
        "/bin/bash", "bash", "-c", "printf READY; read; stty size; exit 7",
        before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [blocked]) and None,
    )  # fmt: skip
    outer.expect(b"READY")
    outer.resize(50, 60)
    time.sleep(0.1)
    outer.send(b"\r")
    outer.expect(b"50 60")
    assert outer.status(5) == 7


def test_an_ignored_sigchld_does_not_lose_the_status(start: Start) -> None:
    outer = start(
        "/bin/sh", "sh", "-c", "exit 7", before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN) and None
    )
    assert outer.status(5) == 7


def test_nonblocking_mode_never_reaches_what_the_parent_shares(start: Start) -> None:
    outer = start(*ECHO)
    before = fcntl.fcntl(outer.slave, fcntl.F_GETFL)
    outer.expect(b"READY")
    for _ in range(20):
        outer.send(b"some keys")
        outer.expect(b"some keys")
        assert fcntl.fcntl(outer.slave, fcntl.F_GETFL) == before
        assert not before & os.O_NONBLOCK
    outer.process.terminate()
    outer.finish()
    assert fcntl.fcntl(outer.slave, fcntl.F_GETFL) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_any_moment_leaves_the_terminal_as_it_was(start: Start, number: signal.Signals) -> None:
    """From before the spawn to after the end; whatever the moment, it is over soon and nothing is left."""
    source = random.Random(int(number))
    for _ in range(25):
        outer = start(
            "/bin/bash", "bash", "-c", "echo pid=$$; for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.01; done; exit 6"
        )
        delay = source.random() * 0.3
        until = time.monotonic() + delay
        while time.monotonic() < until:
            outer.step(until - time.monotonic())
        outer.process.send_signal(number)
        status = outer.status(5)
        assert status in (6, 128 + number, -number)
        assert termios.tcgetattr(outer.slave) == outer.before_attributes
        outer.close()


STORM = """
import os, random, signal, sys, time
source = random.Random(7)
pid, until = int(sys.argv[1]), time.monotonic() + 2
while time.monotonic() < until:
    os.kill(pid, source.choice((signal.SIGWINCH, signal.SIGCONT, signal.SIGCHLD, signal.SIGINT)))
    time.sleep(source.random() / 2000)
"""


def test_a_storm_of_signals_changes_no_byte(start: Start) -> None:
    outer = start(*ECHO)
    outer.expect(b"READY")
    storm = subprocess.Popen([sys.executable, "-I", "-S", "-c", STORM, str(outer.process.pid)])
    sent = bytearray()
    got = bytearray()
    while storm.poll() is None:
        data = random.Random(len(sent)).randbytes(300).replace(b"\x03", b"x")
        sent += data
        outer.send(data)
        while len(got) < len(sent):  # the interrupts arrive as keys among the rest
            got += outer.expect_bytes(1).replace(b"\x03", b"")
    assert got == sent
    outer.send(b"z")
    outer.expect(b"z")
    outer.process.terminate()
    assert outer.status() == 143
