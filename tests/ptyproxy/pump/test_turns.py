"""What one turn of the loop asks, reads and leaves alone. A pump on real descriptors, turned by hand."""

from __future__ import annotations

import os
import pty
import time
import tty
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from ptyproxy.child_input import PENDING_INPUT
from ptyproxy.platform.base import DEFAULT_SIZE
from ptyproxy.platform.unix import UnixPty
from ptyproxy.platform.unix_poller import READ
from ptyproxy.pump import TICK_SEC, Pump


class CountingTap:
    """Counts how often it is asked what is due."""

    def __init__(self) -> None:
        self.ticks = 0

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        return None

    def output(self, data: bytes) -> None:
        """Nothing."""

    def input(self, data: bytes) -> bytes:
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
    pump._flowing.watch(pump._signals.fd, READ)
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


def test_the_tap_is_not_asked_with_every_batch_of_a_flood_but_soon_after_it(rig: Rig) -> None:
    began = time.monotonic()
    for _ in range(500):
        os.write(rig.child, b"x" * 2000)
        rig.pump._turn()
        assert os.read(rig.screen, 65536)
    assert rig.tap.ticks <= (time.monotonic() - began) / TICK_SEC + 2
    seen = rig.tap.ticks
    rig.pump._turn()
    rig.pump._turn()
    assert rig.tap.ticks > seen


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
