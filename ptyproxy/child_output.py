"""From the child to the terminal, one bounded batch at a time.

Invariants: output is written before it is looked at, unchanged; one write per batch. Measured: what is on its way in
a flood delays the echo of a key (batches of 64 KiB by 0.7 ms, 16 KiB 0.4, 8 KiB 0.25), and a Linux terminal takes no
more than 8 to 10 KiB at once, so that the rest of a larger batch only waits; one read per wake-up costs throughput.
"""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable

from ptyproxy.platform.unix_poller import READ
from ptyproxy.tap_guard import TapGuard

if sys.platform != "win32":
    from ptyproxy.platform.unix import UnixPty
    from ptyproxy.platform.unix_writer import TerminalWriter

assert sys.platform != "win32"

READ_BYTES = 8 * 1024  # Linux gives most often 4095 of a pty at once, seldom more
BATCH_BYTES = 2 * 4095  # two full reads
MORE_BYTES = 512  # a read this large promises more at once; a smaller one is somebody typing


class ChildOutput:
    """`closed`: when last read, no process had the child's terminal open. One may open it again by name."""

    def __init__(self, pty: UnixPty, out: TerminalWriter, tap: TapGuard) -> None:
        self.closed = False
        self._pty = pty
        self._out = out
        self._tap = tap

    def take(self) -> int:
        """Read one batch, write it on and show it to the tap; how many bytes it had."""
        read = self._pty.read
        data = read(READ_BYTES)
        if not data:
            self.closed = data is not None
            return 0
        size = len(data)
        while MORE_BYTES <= size < BATCH_BYTES and (more := read(READ_BYTES)):  # an end is seen again by the next read
            data += more
            size += len(more)
        self._out.write(self._tap.with_our_words(data))
        self._tap.output(data)
        return size

    def stream(self, wait: Callable[[float], list[tuple[int, int]]], until: float) -> int:
        """Take batch after batch while nothing else is to be done, as `wait` tells, `until` at the latest.

        What lies between two batches of a flood is kept short: there it runs with cold caches, at ten times its cost.
        Returns the size of the last batch.
        """
        alone = [(self._pty.fd, READ)]
        while True:
            size = self.take()
            if size < MORE_BYTES or self._out.pending or (left := until - time.monotonic()) <= 0 or wait(left) != alone:
                return size

    def take_the_rest(self, silence: float, limit: float) -> None:
        """Take what comes until there is nothing for `silence` seconds, the terminal is full, or `limit` is over."""
        deadline = time.monotonic() + limit
        while not (self.closed or self._out.pending) and time.monotonic() < deadline:
            if not select.select((self._pty.fd,), (), (), silence)[0]:
                break
            self.take()

    def discard(self) -> None:
        """Read and forget: a child that blocks in a write could not act on a signal."""
        self.closed = self._pty.read(READ_BYTES) == b""
