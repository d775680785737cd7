"""One client of the server: bytes in, requests handled in order, answers and events out.

Invariants: a request is not looked at before the one before it is answered; a fault in the framing is answered once
and ends the connection; reading stops while more waits than can be handled.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from typing import Any, Protocol

from neocode.gateway import transport as transports
from neocode.gateway.framing import MAX_FRAME_BYTES, BadFrame, LineParser, Request, RequestFault, parse_request
from neocode.gateway.limits import Limits
from neocode.gateway.outbox import Outbox
from neocode.gateway.protocol import Frame, RpcError, encode_error, encode_result
from neocode.gateway.turns import Load, Turns

TURN_FRAMES = 16
TURN_SEC = 0.002  # a turn ends after the frame that passes this; one frame of 1 MiB takes up to 70 ms
LIGHT_BYTES = 64 * 1024  # more than an ask with its log has; whoever sends more at once waits for the others
READ_AHEAD_BYTES = 64 * 1024  # kept while a slow request is being answered


class Owner(Protocol):
    """What a connection needs of the server."""

    limits: Limits
    turns: Turns

    def opened(self, connection: Connection) -> bool:
        """Register; False when there are too many."""
        ...

    def closed(self, connection: Connection) -> None:
        """Forget."""
        ...

    def handle(self, connection: Connection, request: Request) -> Frame | Coroutine[Any, Any, Frame]:
        """Answer, at once or later. Raises RpcError."""
        ...


class Connection(asyncio.Protocol):
    """The server's end of one connection."""

    outbox: Outbox

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._parser = LineParser()
        self._load = Load()
        self._waiting_turn = False
        self._reading = True
        self._eof = False
        self._failed = False
        self._call: asyncio.Task[None] | None = None
        self.authenticated = False
        self.opened_at = self.last_frame = time.monotonic()

    @property
    def busy(self) -> bool:
        """True while a slow request is being answered to a client that has not gone."""
        return self._call is not None and not self._eof

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refuse other users and the 129th client without a byte."""
        assert isinstance(transport, asyncio.Transport)
        self.outbox = Outbox(transport, self._owner.limits, self.abort)
        if not transports.peer_is_ours(transport) or not self._owner.opened(self):
            transport.abort()
            return
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse, and handle at once what a light client sent."""
        if self._transport is None or self._failed:
            return
        self._parser.feed(data)
        self._proceed()

    def eof_received(self) -> bool:
        """Answer what was sent, then close."""
        self._eof = True
        self._parser.feed_eof()
        self._proceed()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop everything that belongs to the client."""
        if self._transport is None:
            return
        self._transport = None
        self.outbox.close()
        if self._call is not None:
            self._call.cancel()
        self._owner.closed(self)

    def pause_writing(self) -> None:
        """The peer reads slowly."""
        self.outbox.pause()

    def resume_writing(self) -> None:
        """The peer reads again."""
        self.outbox.resume()
        self._close_if_done()

    def close(self) -> None:
        """Close after what asyncio has buffered is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    def take_turn(self) -> None:
        """Handle some of the waiting frames; see `Turns`."""
        self._waiting_turn = False
        self._work()

    def _proceed(self) -> None:
        if self._waiting_turn:
            return
        if self._call is not None:
            self._set_reading(self._parser.buffered < READ_AHEAD_BYTES)
        elif self._parser.buffered > LIGHT_BYTES or self._load.heavy(time.monotonic()):
            self._wait_turn(heavy=True)
        else:
            self._work()

    def _wait_turn(self, heavy: bool) -> None:
        self._set_reading(False)
        self._waiting_turn = True
        self._owner.turns.ask(self, heavy)

    def _work(self) -> None:
        started = time.monotonic()
        more = self._handle_some(started + TURN_SEC)
        now = time.monotonic()
        self._load.add(now - started, now)
        if self._transport is None or self._failed:
            return
        if more:
            self._wait_turn(self._load.heavy(now))
        else:
            self._set_reading(self._call is None or self._parser.buffered < READ_AHEAD_BYTES)
            self._close_if_done()

    def _handle_some(self, deadline: float) -> bool:
        """True when the turn ended before the lines did."""
        for _ in range(TURN_FRAMES):
            if self._transport is None or self._call is not None:
                return False
            try:
                line = self._parser.next_line()
                if line is None:
                    return False
                self._handle(line)
            except BadFrame as fault:
                self._fail(fault)
                return False
            if time.monotonic() > deadline:
                break
        return True

    def _handle(self, line: bytes) -> None:
        self.last_frame = time.monotonic()
        try:
            request = parse_request(line)
        except RequestFault as fault:
            self.outbox.send(encode_error(fault.request_id, fault.error))
            return
        try:
            answer = self._owner.handle(self, request)
        except BadFrame:
            raise
        except RpcError as error:
            self.outbox.send(encode_error(request.id, error))
            return
        if isinstance(answer, Frame):
            self._answer(request, answer)
        else:
            self._call = asyncio.get_running_loop().create_task(self._finish(request, answer))

    async def _finish(self, request: Request, answer: Coroutine[Any, Any, Frame]) -> None:
        try:
            self._answer(request, await answer)
        except RpcError as error:
            self.outbox.send(encode_error(request.id, error))
        finally:
            self._call = None
            self.last_frame = time.monotonic()
            if self._transport is not None:
                self._proceed()

    def _answer(self, request: Request, frame: Frame) -> None:
        data = encode_result(request.id, frame)
        if len(data) > MAX_FRAME_BYTES:
            data = encode_error(request.id, RpcError("internal_error", "the answer is longer than a frame may be"))
        self.outbox.send(data)

    def _fail(self, fault: BadFrame) -> None:
        self._failed = True
        self.outbox.send(encode_error(None, fault))
        self._set_reading(False)
        self._close_if_done()

    def _close_if_done(self) -> None:
        """After the peer's last frame, or a fault: close once everything is handed to asyncio."""
        if not (self._failed or self._eof) or self._waiting_turn or self._call is not None:
            return
        if self._transport is not None and self.outbox.empty:
            self._transport.close()

    def _set_reading(self, wanted: bool) -> None:
        if self._transport is None or wanted == self._reading or self._transport.is_closing():
            return
        self._reading = wanted
        with contextlib.suppress(RuntimeError):  # Python 3.10 refuses at the end of the stream
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()
