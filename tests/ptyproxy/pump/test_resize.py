"""The size inside is the size outside: before the shell runs, and soon after every change."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import termios
import time
from collections.abc import Callable

import pytest
from outer import Outer

Start = Callable[..., Outer]

WATCH = """
import fcntl, os, signal, struct, sys, termios, time
def say(number, frame):
    rows, cols, x, y = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"\\0" * 8))
    os.write(1, b"[%d %d %d %d]" % (rows, cols, x, y))
signal.signal(signal.SIGWINCH, say)
os.write(1, b"READY")
while True:
    signal.pause()
"""


def watcher(start: Start, **more: object) -> Outer:
    """A child that says its size whenever it is told of a new one."""
    outer = start(sys.executable, "python", "-I", "-S", "-c", WATCH, **more)
    outer.expect(b"READY")
    return outer


@pytest.mark.parametrize("size", [(24, 80), (1, 1), (0, 0), (300, 500), (65535, 65535)])
def test_the_size_is_there_before_the_shell_runs(start: Start, size: tuple[int, int]) -> None:
    """marimo-team/marimo#10830: set after the spawn, the first prompt was drawn at 80x24."""
    outer = start("/bin/sh", "sh", "-c", "stty size", size=size)
    assert outer.finish() == b"%d %d\r\n" % size


def test_pixels_pass_and_the_start_sends_no_signal(start: Start) -> None:
    outer = watcher(start, size=(30, 90, 900, 600))
    outer.step(0.3)
    assert bytes(outer.screen) == b""
    outer.resize(31, 90, 900, 620)
    assert outer.expect(b"]") == b"[31 90 900 620]"


def test_a_new_size_is_inside_within_a_tenth_of_a_second(start: Start) -> None:
    outer = watcher(start)
    took = []
    for rows in range(30, 50):
        began = time.monotonic()
        outer.resize(rows, 100)
        assert outer.expect(b"]") == b"[%d 100 0 0]" % rows
        took.append(time.monotonic() - began)
    assert sorted(took)[len(took) // 2] < 0.1


def test_a_storm_of_resizes_ends_with_the_last_size(start: Start) -> None:
    """Fifty a second, as a dragged window makes; they may coalesce."""
    outer = watcher(start)
    for number in range(100):
        outer.resize(20 + number, 60 + number)
        outer.step(0.02)
    while not outer.screen.endswith(b"[119 159 0 0]"):
        assert outer.step(5)
    seen = bytes(outer.screen).count(b"]")
    assert 1 <= seen <= 100


def test_resizes_faster_than_anyone_reads_coalesce(start: Start) -> None:
    outer = watcher(start)
    for number in range(5000):
        outer.resize(20 + number % 50, 60)
    outer.resize(77, 66)
    outer.expect(b"[77 66 0 0]")


def test_a_size_that_changed_while_the_shell_was_started_is_not_missed(start: Start) -> None:
    outer = start("/bin/sh", "sh", "-c", "until [ \"$(stty size)\" = '40 50' ]; do :; done; exit 8")
    time.sleep(0.02)
    outer.resize(40, 50)
    assert outer.status(10) == 8


def test_a_resize_while_output_floods_is_seen(start: Start) -> None:
    outer = start(
        "/bin/bash", "bash", "-c", "trap 'stty size; exit 3' WINCH; printf READY; while :; do echo flood; done"
    )
    outer.expect(b"READY")
    outer.resize(41, 51)
    outer.expect(b"41 51")
    assert outer.status() == 3


def test_the_size_of_the_slave_of_a_foreign_terminal_is_read_from_stdout(start: Start) -> None:
    """A script feeds stdin; the terminal is only on stdout."""
    read, write = os.pipe()
    with os.fdopen(read, "rb"), os.fdopen(write, "wb"):
        outer = start("/bin/sh", "sh", "-c", "stty size", stdin=read, size=(44, 55))
        assert b"44 55" in outer.finish()


def test_winsize_of_the_outer_terminal_is_left_alone(start: Start) -> None:
    outer = start("/bin/sh", "sh", "-c", "stty rows 5 cols 6; stty size")
    assert outer.finish() == b"5 6\r\n"
    assert struct.unpack("HHHH", fcntl.ioctl(outer.slave, termios.TIOCGWINSZ, b"\0" * 8))[:2] == (24, 80)
