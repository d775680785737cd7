"""What one turn of the loop asks, reads and leaves alone. A pump on real descriptors, turned by hand."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import time
import tty
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from ptyproxy.child_input import PENDING_INPUT
from ptyproxy.child_output import MORE_BYTES
from ptyproxy.platform.base import DEFAULT_SIZE
from ptyproxy.platform.unix import UnixPty
from ptyproxy.platform.unix_poller import READ, WRITE
from ptyproxy.pump import TICK_SEC, Pump


class CountingTap:
    """Counts how often it is asked what is due, and the small pieces of output."""

    def __init__(self) -> None:
        self.ticks = 0
        self.small = 0
        self.typed = b""
        self.order: list[str] = []

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        return None

    def output(self, data: bytes) -> None:
        self.small += len(data) < MORE_BYTES
        self.order.append("output")

    def input(self, data: bytes) -> bytes:
        self.typed += data
        self.order.append("key")
        return data

    def resized(self, rows: int, cols: int) -> None:
        """Nothing."""

    def tick(self) -> float | None:
        self.ticks += 1
        return 0.01  # so that a turn with nothing ready ends


class Rig(NamedTuple):
    """`child`: where the child's side is; `keys`: the user's end of the input; `screen`: of the output."""

    pump: Any
    tap: CountingTap
    child: int
    keys: int
    screen: int


@pytest.fixture
def rig() -> Iterator[Rig]:
    master, child = pty.openpty()
    tty.setraw(child)
    keys_out, keys = os.pipe()
    screen, screen_in = os.pipe()
    for fd in (keys_out, screen, screen_in, child):
        os.set_blocking(fd, False)
    terminal = SimpleNamespace(
        in_fd=keys_out, out_fd=screen_in, out_blocks=False, is_tty=False, exact_size=lambda: DEFAULT_SIZE
    )
    tap = CountingTap()
    pump: Any = Pump(UnixPty(os.getpid(), master), terminal, tap)  # type: ignore[arg-type]
    for poller in (pump._flowing, pump._stalled):
        poller.watch(pump._signals.fd, READ)
    pump._stalled.watch(screen_in, WRITE)
    yield Rig(pump, tap, child, keys, screen)
    pump._flowing.close()
    pump._stalled.close()
    pump._signals.close()
    for fd in (master, child, keys, keys_out, screen, screen_in):
        os.close(fd)


def received(rig: Rig) -> bytes:
    """What the child was given within two turns."""
    data = b""
    for _ in range(2):
        rig.pump.wake()  # so that a turn without a tap ends
        rig.pump._turn()
        try:
            data += os.read(rig.child, 4096)
        except BlockingIOError:
            pass
    return data


def test_keys_that_the_tap_takes_no_more_of_stay_in_the_terminal(rig: Rig) -> None:
    rig.pump.input_held = True
    os.write(rig.keys, b"held")
    assert received(rig) == b""
    rig.pump.input_held = False
    assert received(rig) == b"held"


def test_a_tap_that_was_dropped_holds_no_keys(rig: Rig) -> None:
    rig.pump.input_held = True
    rig.pump.tap = None
    os.write(rig.keys, b"free")
    assert received(rig) == b"free"


def test_input_of_our_own_that_fills_the_room_is_not_taken_for_the_end_of_the_keys(rig: Rig) -> None:
    rig.pump._output.closed = True  # nothing is given to the child meanwhile
    rig.pump.send(b"x" * PENDING_INPUT)
    os.write(rig.keys, b"later")
    rig.pump._read_input()
    assert rig.pump._stdin_open
    assert rig.pump._input.room == 0


@pytest.fixture
def flood(rig: Rig) -> Iterator[None]:
    """The child prints as much as is taken, until the test ends."""
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            select.select([], [rig.child], [], 0.1)
            with contextlib.suppress(BlockingIOError):
                os.write(rig.child, b"x" * 2000)

    writer = threading.Thread(target=write)
    writer.start()
    yield
    over.set()
    writer.join()


@pytest.mark.usefixtures("flood")
def test_the_tap_is_not_asked_with_every_batch_of_a_flood(rig: Rig) -> None:
    began, taken = time.monotonic(), 0
    while taken < 2_000_000:
        rig.pump._turn()
        with contextlib.suppress(BlockingIOError):
            taken += len(os.read(rig.screen, 1 << 20))
    assert rig.tap.ticks <= rig.tap.small + (time.monotonic() - began) / TICK_SEC + 2


@pytest.mark.usefixtures("flood")
def test_a_key_and_a_wake_up_are_seen_between_two_batches_of_a_flood(rig: Rig) -> None:
    for number in range(1, 30):
        os.write(rig.keys, b"k")
        turns = 0
        while len(rig.tap.typed) < number:
            rig.pump._turn()
            turns += 1
            with contextlib.suppress(BlockingIOError):
                os.read(rig.screen, 1 << 20)
        assert turns <= 3  # one that was stalled, one that streamed


def test_a_key_is_passed_on_before_the_output_that_came_with_it(rig: Rig) -> None:
    os.write(rig.child, b"x" * 2000)
    assert select.select([rig.pump.pty.fd], [], [], 5)[0]
    os.write(rig.keys, b"k")
    rig.pump._turn()
    assert rig.tap.order[0] == "key"
    assert "output" in rig.tap.order


def test_the_tap_is_asked_soon_after_the_last_batch(rig: Rig) -> None:
    rig.pump._turn()
    os.write(rig.child, b"x" * 2000)
    rig.pump._turn()
    seen, began = rig.tap.ticks, time.monotonic()
    while rig.tap.ticks == seen:
        rig.pump._turn()
    assert time.monotonic() - began < 1.0


def test_the_tap_is_asked_at_once_after_a_key_a_few_bytes_and_a_wake_up(rig: Rig) -> None:
    def asked() -> bool:
        seen = rig.tap.ticks
        rig.pump._turn()
        return rig.tap.ticks > seen

    rig.pump._turn()
    for event in (
        lambda: os.write(rig.keys, b"k"),
        lambda: os.write(rig.child, b"prompt$ "),
        rig.pump.wake,
    ):
        event()
        rig.pump._turn()
        assert asked()
