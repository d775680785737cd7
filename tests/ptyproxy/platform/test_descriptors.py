"""Waiting for, writing to and opening descriptors: the same on every system's way."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ptyproxy.platform.unix_inherited import inheritable_descriptors, open_private
from ptyproxy.platform.unix_poller import READ, WRITE, EpollPoller
from ptyproxy.platform.unix_selector import SelectorPoller
from ptyproxy.platform.unix_signals import SignalPipe
from ptyproxy.platform.unix_tty import end_of_file_key, has_unread_input
from ptyproxy.platform.unix_writer import TerminalWriter


@pytest.fixture(params=[EpollPoller, SelectorPoller])
def poller(request: pytest.FixtureRequest) -> Iterator[EpollPoller | SelectorPoller]:
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    os.set_blocking(read, False)
    os.set_blocking(write, False)
    yield read, write
    for fd in (read, write):
        with suppress(OSError):
            os.close(fd)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def test_only_what_is_watched_is_told(poller: EpollPoller | SelectorPoller, pipe: tuple[int, int]) -> None:
    read, write = pipe
    assert poller.wait(0) == []
    poller.watch(write, WRITE)
    poller.watch(read, READ)
    assert poller.wait(None) == [(write, WRITE)]
    poller.watch(write, 0)
    assert poller.wait(0.01) == []
    os.write(write, b"x")
    assert poller.wait(None) == [(read, READ)]
    poller.watch(read, 0)
    poller.watch(read, 0)
    assert poller.wait(-1.0) == []  # a deadline that has passed is no "for ever"


def test_a_hang_up_counts_as_what_is_awaited(poller: EpollPoller | SelectorPoller, pipe: tuple[int, int]) -> None:
    read, write = pipe
    poller.watch(read, READ)
    os.close(write)
    assert poller.wait(None) == [(read, READ)]
    poller.watch(read, 0)
    assert poller.wait(0.01) == []  # and nothing when nothing is: no busy loop


def test_a_regular_file_is_always_ready(poller: EpollPoller | SelectorPoller, tmp_path: Path) -> None:
    with open(tmp_path / "file", "w+b") as handle:
        poller.watch(handle.fileno(), READ)
        assert poller.wait(None) == [(handle.fileno(), READ)]
        poller.watch(handle.fileno(), 0)
        assert poller.wait(0.01) == []
        poller.watch(handle.fileno(), WRITE)
        assert poller.wait(None) == [(handle.fileno(), WRITE)]


@pytest.mark.parametrize("blocks", [False, True])
def test_what_a_terminal_does_not_take_waits_in_order(pipe: tuple[int, int], blocks: bool) -> None:
    read, write = pipe
    os.set_blocking(write, blocks)
    writer = TerminalWriter(write, blocks)
    data = b"".join(b"%d," % number for number in range(60_000))
    for start in range(0, len(data), 50_000):
        writer.write(data[start : start + 50_000])
    assert writer.pending
    got = b""
    while len(got) < len(data):
        got += os.read(read, 1000)
        writer.flush()
    assert got == data
    assert not writer.pending
    assert not writer.gone


@pytest.mark.parametrize("blocks", [False, True])
def test_a_reader_that_went_away_takes_everything(pipe: tuple[int, int], blocks: bool) -> None:
    read, write = pipe
    os.close(read)
    writer = TerminalWriter(write, blocks)
    writer.write(b"nobody reads this")
    assert writer.gone
    assert not writer.pending


def test_short_writes_send_every_byte_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """zellij-org/zellij#4818: the count that a write returned was ignored."""
    taken = bytearray()

    def write_some(fd: int, data: bytes) -> int:
        taken.extend(data[:64])
        return min(64, len(data))

    monkeypatch.setattr(os, "write", write_some)
    writer = TerminalWriter(99, blocks=False)
    data = os.urandom(10_000)
    writer.write(data)
    while writer.pending:
        writer.flush()
    assert taken == data


def test_a_private_descriptor_shares_no_flags(terminal: tuple[int, int]) -> None:
    slave = terminal[1]
    private = open_private(slave, os.O_WRONLY)
    assert private is not None
    assert fcntl.fcntl(private, fcntl.F_GETFL) & os.O_NONBLOCK
    assert not fcntl.fcntl(slave, fcntl.F_GETFL) & os.O_NONBLOCK
    assert not os.get_inheritable(private)
    os.close(private)


def test_there_is_no_private_descriptor_of_a_pipe(pipe: tuple[int, int]) -> None:
    assert open_private(pipe[0], os.O_RDONLY) is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_terminal_of_another_user_is_opened_as_the_controlling_one(terminal: tuple[int, int]) -> None:
    """After su the device may not be opened by name."""
    master, slave = terminal
    pid = os.fork()
    if pid == 0:
        code = 1
        with suppress(BaseException):
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            private = open_private(slave, os.O_WRONLY)
            if private is not None and not os.get_blocking(private):
                os.write(private, b"from nobody")
                code = 0
        os._exit(code)
    assert os.read(master, 100) == b"from nobody"
    assert os.waitpid(pid, 0)[1] == 0


def test_unread_input_is_seen_until_it_is_read(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    assert not has_unread_input(master)
    os.write(master, b"line\n")
    until = time.monotonic() + 5
    while not has_unread_input(master):
        assert time.monotonic() < until
    os.read(slave, 100)
    assert not has_unread_input(master)


def test_the_end_of_file_key_is_the_terminals_own(terminal: tuple[int, int]) -> None:
    master, slave = terminal
    assert end_of_file_key(master) == b"\x04"
    attributes = termios.tcgetattr(slave)
    for key, wanted in ((b"\x18", b"\x18"), (b"\0", b"\x04")):
        attributes[6][termios.VEOF] = key
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        assert end_of_file_key(master) == wanted


def test_what_python_opens_is_not_inheritable(tmp_path: Path) -> None:
    before = inheritable_descriptors()
    with open(tmp_path / "file", "wb"):
        assert inheritable_descriptors() == before


def test_handlers_mask_and_wake_up_descriptor_come_back() -> None:
    def handler(number: int, frame: object) -> None: ...

    old = signal.signal(signal.SIGTERM, handler)
    old_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
    try:
        with SignalPipe() as pipe:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGWINCH)
            assert {signal.SIGTERM, signal.SIGWINCH} <= pipe.read()
        assert signal.getsignal(signal.SIGTERM) is handler
        assert signal.SIGWINCH in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(signal.SIGTERM, old)
        signal.pthread_sigmask(signal.SIG_SETMASK, old_mask)
