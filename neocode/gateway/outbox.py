"""What waits to be written to one peer. Invariants: at most 256 messages and 8 MiB wait; order holds within a
session; waiting pieces of one answer become one; whoever does not read is dropped and nobody else waits for him.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from neocode.ask.types import AskEvent
from neocode.gateway.limits import Limits
from neocode.gateway.protocol import encode_event

WRITE_BUFFER_BYTES = 64 * 1024  # what asyncio may hold besides our queue before it says "pause"
MAX_DELTA_CHARS = 128 * 1024  # worst case 6 bytes each ("\u0000"), so a merged chunk stays under 1 MiB


@dataclass(slots=True)
class _Chunks:
    """Waiting deltas of one run."""

    event: AskEvent
    deltas: list[str]
    chars: int
    size: int

    def encode(self) -> bytes:
        payload = {**self.event.payload, "delta": "".join(self.deltas)}
        return encode_event(AskEvent("ask_chunk", self.event.session_id, self.event.run_id, payload))


class Outbox:
    """The outbound queue. `drop` is called once when the peer has let too much wait."""

    def __init__(self, transport: asyncio.WriteTransport, limits: Limits, drop: Callable[[], None]) -> None:
        self._transport = transport
        self._limits = limits
        self._drop = drop
        self._queue: deque[bytes | _Chunks] = deque()
        self._bytes = 0
        self._open_chunks: dict[str, _Chunks] = {}  # run id -> its last entry in the queue
        self._paused = False
        self._closed = False
        transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)

    @property
    def empty(self) -> bool:
        """True when nothing waits here (asyncio's own buffer may still hold bytes)."""
        return not self._queue

    def send(self, data: bytes) -> bool:
        """Write or queue one encoded message. False when the peer is gone."""
        if self._closed:
            return False
        if not self._paused:
            self._transport.write(data)
            return True
        return self._push(data, len(data))

    def send_chunk(self, event: AskEvent, data: bytes) -> bool:
        """Write `data`, the encoding of chunk `event`, or let it wait, merged with the run's waiting ones."""
        if self._closed:
            return False
        if not self._paused:
            self._transport.write(data)
            return True
        delta = str(event.payload.get("delta", ""))
        waiting = self._open_chunks.get(event.run_id)
        if waiting is not None and waiting.chars + len(delta) <= MAX_DELTA_CHARS:
            waiting.deltas.append(delta)
            waiting.chars += len(delta)
            waiting.size += len(data)
            self._bytes += len(data)
            return self._within_limits()
        entry = _Chunks(event, [delta], len(delta), len(data))
        self._open_chunks[event.run_id] = entry
        return self._push(entry, entry.size)

    def pause(self) -> None:
        """The transport's buffer is full."""
        self._paused = True

    def resume(self) -> None:
        """The transport takes bytes again."""
        self._paused = False
        while self._queue and not self._paused and not self._closed:
            entry = self._queue.popleft()
            if isinstance(entry, bytes):
                self._bytes -= len(entry)
                self._transport.write(entry)
                continue
            self._bytes -= entry.size
            if self._open_chunks.get(entry.event.run_id) is entry:
                del self._open_chunks[entry.event.run_id]
            self._transport.write(entry.encode())

    def close(self) -> None:
        """Forget what waits."""
        self._closed = True
        self._queue.clear()
        self._open_chunks.clear()
        self._bytes = 0

    def _push(self, entry: bytes | _Chunks, size: int) -> bool:
        self._queue.append(entry)
        self._bytes += size
        return self._within_limits()

    def _within_limits(self) -> bool:
        waiting = self._bytes + self._transport.get_write_buffer_size()
        if len(self._queue) <= self._limits.queued_messages and waiting <= self._limits.queued_bytes:
            return True
        self.close()
        self._drop()
        return False
