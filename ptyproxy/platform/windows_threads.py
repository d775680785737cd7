"""What moves bytes where a read or a write can only block: one inbox for the main thread, one outlet per destination.

Invariants: threads only move bytes, the main thread alone looks at them and never blocks on either side; each
direction has its own bounded room in the inbox, so that a full one never stops the other; after `close` a reader's
bytes are dropped and not waited for, because a pseudo console must be read until it is closed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

Write = Callable[[bytes], None]

LANE_BYTES = 64 * 1024  # of each direction, read and not looked at yet; then its reader waits
OUTLET_BYTES = 64 * 1024  # given to a writer and not taken yet; then the main thread takes no more for it
PIECE_BYTES = 16 * 1024  # one write: what comes behind it, such as a Ctrl-C's echo, waits for no longer one


class Lane:
    """Bytes of one direction on their way to the main thread. Guarded by its inbox."""

    def __init__(self) -> None:
        self.parts: deque[bytes] = deque()
        self.size = 0
        self.ended = False  # there will be no more


class Inbox:
    """`take`, `wait`, `ended` and `close` are the main thread's, the others any thread's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._woken = False
        self._closed = False

    def put(self, lane: Lane, data: bytes) -> None:
        """Add bytes; blocks while the lane is full."""
        with self._changed:
            while lane.size >= LANE_BYTES and not self._closed:
                self._changed.wait()
            if not self._closed:
                lane.parts.append(data)
                lane.size += len(data)
                self._changed.notify_all()

    def end(self, lane: Lane) -> None:
        """Nothing more will be put into the lane."""
        with self._changed:
            lane.ended = True
            self._woken = True
            self._changed.notify_all()

    def wake(self) -> None:
        """End the main thread's wait."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, lanes: Sequence[Lane], timeout: float | None) -> bool:
        """Wait for bytes in one of the lanes (True) or for `wake`, at most `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not (found := any(lane.size for lane in lanes)) and not self._woken:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                self._changed.wait(left)
            self._woken = False
            return found

    def take(self, lane: Lane, count: int) -> bytes:
        """What the lane has, whole reads up to about `count` bytes; empty when there is nothing."""
        with self._changed:
            parts, size = [], 0
            while lane.parts and size < count:
                parts.append(lane.parts.popleft())
                size += len(parts[-1])
            was_full = lane.size >= LANE_BYTES
            lane.size -= size
            if was_full and lane.size < LANE_BYTES:
                self._changed.notify_all()
        return b"".join(parts)

    def ended(self, lane: Lane) -> bool:
        """Whether everything of the lane was taken and there will be no more."""
        with self._changed:
            return lane.ended and not lane.size

    def close(self) -> None:
        """From now on whatever is put is dropped at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Outlet:
    """A destination that may block, and the thread that writes to it in `put`'s order. `gone`: it takes nothing."""

    def __init__(self, write: Write, name: str, wake: Callable[[], None]) -> None:
        """`write` raises OSError when the destination is gone; `wake`: there is room again, or `gone` became true."""
        self._write = write
        self._wake = wake
        self._changed = threading.Condition()
        self._pending = bytearray()
        self._runs: deque[tuple[Write, int]] = deque()  # who is to write how much of it
        self._writing = 0
        self._closed = False
        self.gone = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def has_room(self) -> bool:
        """Whether more should be put in."""
        return len(self._pending) + self._writing < OUTLET_BYTES

    def put(self, data: bytes, write: Write | None = None) -> None:
        """Queue bytes. Never waits. `write`: for these, instead of the usual one; no call gets bytes of both."""
        with self._changed:
            if data and not self.gone:
                write, count = write or self._write, len(data)
                if self._runs and self._runs[-1][0] == write:
                    count += self._runs.pop()[1]
                self._runs.append((write, count))
                self._pending += data
                self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything was written (True), at most `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_empty, timeout)

    @property
    def _is_empty(self) -> bool:
        return self.gone or not (self._pending or self._writing)

    def close(self, timeout: float) -> bool:
        """End the thread when it has written what was put; False: it is stuck in a write, and left behind."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while (taken := self._next()) is not None:
                write, piece = taken
                write(piece)
                self._written()
        except OSError:
            pass
        finally:  # also after what nobody expects of a write: whoever waits for room must be told
            self.gone = True
            self._written()

    def _next(self) -> tuple[Write, bytes] | None:
        with self._changed:
            while not self._pending:
                if self._closed:
                    return None
                self._changed.wait()
            write, count = self._runs.popleft()
            piece = bytes(self._pending[: min(count, PIECE_BYTES)])
            if count > len(piece):
                self._runs.appendleft((write, count - len(piece)))
            del self._pending[: len(piece)]
            self._writing = len(piece)
            return write, piece

    def _written(self) -> None:
        with self._changed:
            had_room = self.has_room
            self._writing = 0
            if self.gone:
                self._pending.clear()
                self._runs.clear()
            awaited = self.has_room and not had_room
            self._changed.notify_all()
        if awaited or self.gone:
            self._wake()
