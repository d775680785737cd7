"""What looks at the bytes can change nothing by failing, and puts its words where it says."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from outer import Outer

from ptyproxy.child_output import BATCH_BYTES, READ_BYTES, ChildOutput
from ptyproxy.platform.unix import UnixPty
from ptyproxy.platform.unix_signals import WAKE, SignalPipe
from ptyproxy.platform.unix_writer import TerminalWriter
from ptyproxy.tap_guard import TapGuard

Start = Callable[..., Outer]


@pytest.mark.parametrize("where", ["divide", "output", "input", "resized", "tick"])
def test_a_tap_that_raises_is_dropped_and_the_shell_goes_on(start: Start, where: str) -> None:
    """Upstream neo-code's proxy ended the shell when a diagnosis failed."""
    outer = start("/bin/sh", "sh", "-c", "stty raw -echo; printf READY; exec cat", options=("--fault", where))
    outer.expect(b"READY")
    outer.resize(30, 70)
    outer.send(b"all the bytes")
    assert outer.expect_bytes(13) == b"all the bytes"
    outer.send(b"and more")
    assert outer.expect_bytes(8) == b"and more"


class Recorder:
    """A tap that notes what it is given and what was written by then."""

    def __init__(self) -> None:
        self.given: list[bytes] = []
        self.words: tuple[bytes, bytes, bytes] | None = None
        self.screen: Callable[[], bytes] = bytes

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        return self.words

    def output(self, data: bytes) -> None:
        self.given.append(data)
        assert self.screen()

    def input(self, data: bytes) -> bytes:
        return data

    def resized(self, rows: int, cols: int) -> None:
        """Nothing."""

    def tick(self) -> float | None:
        return None


@pytest.fixture
def pair() -> Iterator[tuple[UnixPty, int, int, int]]:
    """A pty of no process: (master, slave, the terminal to write to, where to read that)."""
    master, slave = pty.openpty()
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    yield UnixPty(0, master), slave, write, read
    for fd in (master, slave, read, write):
        os.close(fd)


def test_bytes_are_written_before_they_are_looked_at(pair: tuple[UnixPty, int, int, int]) -> None:
    master, slave, write, read = pair
    tap = Recorder()
    tap.screen = lambda: os.read(read, 100)
    output = ChildOutput(master, TerminalWriter(write, blocks=False), TapGuard(tap))
    os.write(slave, b"abc")
    output.take()
    assert tap.given == [b"abc"]


def test_our_words_go_where_the_tap_divides_and_are_not_given_to_it(pair: tuple[UnixPty, int, int, int]) -> None:
    master, slave, write, read = pair
    tap = Recorder()
    tap.screen = lambda: b"unread"
    tap.words = (b"before ", b"OURS ", b"after")
    os.write(slave, b"before after")
    ChildOutput(master, TerminalWriter(write, blocks=False), TapGuard(tap)).take()
    assert os.read(read, 100) == b"before OURS after"
    assert tap.given == [b"before after"]


def test_a_batch_is_bounded_however_much_there_is(pair: tuple[UnixPty, int, int, int]) -> None:
    master, slave, write, read = pair
    output = ChildOutput(master, TerminalWriter(write, blocks=False), TapGuard(None))
    os.set_blocking(slave, False)
    filler = threading.Thread(target=_fill, args=(slave,))
    filler.start()
    select.select([master.fd], [], [])
    for _ in range(50):
        output.take()
        with contextlib.suppress(BlockingIOError):
            assert len(os.read(read, 1 << 20)) < BATCH_BYTES + READ_BYTES
    filler.join()


def _fill(fd: int) -> None:
    for _ in range(200):
        try:
            os.write(fd, b"x" * 4096)
        except BlockingIOError:
            time.sleep(0.001)


def test_a_wake_up_from_another_thread_makes_the_pipe_readable_and_never_fails() -> None:
    pipe = SignalPipe()
    for _ in range(70_000):  # more than the pipe holds
        pipe.wake()
    seen = 0
    while pipe.read() == {WAKE}:
        seen += 1
    assert seen >= 16
    pipe.close()
    pipe.wake()
    pipe.close()
