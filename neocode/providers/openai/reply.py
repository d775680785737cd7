"""One exchange with an endpoint under its deadlines: send, wait for the first byte, read on, close.

Imports the SDK by way of its neighbours, so it is loaded on the first call only. Invariants: every wait has a deadline;
the response is closed however the exchange ends; nothing but Failure and ProviderError leaves here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import httpx2

from neocode.config import ProviderConfig
from neocode.providers.base import Delta, Finish
from neocode.providers.openai.endpoint import COMPLETIONS_PATH, Endpoint
from neocode.providers.openai.errors import Caller
from neocode.providers.openai.failure import Failure, OversizeError, failure
from neocode.providers.openai.http import Link, Outgoing
from neocode.providers.openai.models import MAX_LIST_BYTES, model_ids
from neocode.providers.openai.network import BODY_ERRORS, CALL_ERRORS, not_an_api, of_exception
from neocode.providers.openai.sse import Event
from neocode.providers.openai.stream import Answer, BodyDecoder, oversize

PROGRESS_LIMIT_SEC = 600.0  # keep-alives prove a connection, not an answer: the longest they alone can hold a call
TAIL_GRACE_SEC = 2.0  # for the usage that may follow a complete text
DRAIN_SEC = 0.1  # for the end of the body after [DONE], so that the connection can be used again
ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


class Line:
    """An endpoint we can talk to. Making it reads files, so it is done in a worker thread. Raises ProviderError."""

    def __init__(self, endpoint: Endpoint, config: ProviderConfig) -> None:
        self._endpoint = endpoint
        self._config = config
        slowest = max(config.first_byte_timeout_sec, config.idle_timeout_sec, TAIL_GRACE_SEC)
        self._link = Link(endpoint, config.connect_timeout_sec, slowest)

    async def ask(self, body: dict[str, Any], who: Caller) -> Reply:
        """Send a completion request; return the reply once its first byte is there. Raises Failure, ProviderError."""
        limit = next((body[name] for name in ("max_tokens", "max_completion_tokens") if name in body), 0)
        return Reply(await self._begin(COMPLETIONS_PATH, body, who), Answer(who, limit), who, self._config)

    async def models(self, who: Caller) -> list[str]:
        """The ids of the model list. Raises Failure, ProviderError."""
        incoming = await self._begin(self._endpoint.models_path, None, who)
        raw = bytearray()
        end = time.monotonic() + self._config.first_byte_timeout_sec
        try:
            while (
                piece := await incoming.read(min(self._config.idle_timeout_sec, end - time.monotonic()))
            ) is not None:
                raw += piece
                if len(raw) > MAX_LIST_BYTES:
                    raise oversize(who)
        finally:
            await incoming.aclose()
        ids = model_ids(bytes(raw))
        if ids is None:
            raise not_an_api(who)
        return ids

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        await self._link.aclose()

    async def _begin(self, path: str, body: dict[str, Any] | None, who: Caller) -> Incoming:
        """Two deadlines in one scope: to connect, then, from the moment the request is sent, for the first byte."""
        config, connecting = self._config, True

        def on_sending() -> None:
            nonlocal connecting
            connecting = False
            scope.deadline = anyio.current_time() + config.first_byte_timeout_sec

        with anyio.move_on_after(config.connect_timeout_sec) as scope:
            try:
                response = await self._link.open(path, body, Outgoing(who.key, on_sending))
            except CALL_ERRORS as error:
                raise of_exception(error, who, self._endpoint) from None
            incoming = Incoming(response, who, self._endpoint)
            try:
                await incoming.start()
            except BaseException:
                await incoming.aclose()
                raise
            return incoming
        if connecting:
            what = f"no connection to {who.where} within {config.connect_timeout_sec:g} s"
        else:
            what = f"{who.where} sent nothing for {config.first_byte_timeout_sec:g} s"
        raise failure(
            f"{who.name}: {what}", "try again, or raise the provider's time-outs", code="TIMEOUT", kind="timeout"
        )


class Incoming:
    """A response's decoded body, piece by piece."""

    def __init__(self, response: httpx2.Response, who: Caller, endpoint: Endpoint) -> None:
        self._response = response
        self._who = who
        self._endpoint = endpoint
        self._pieces: AsyncGenerator[bytes, None] = response.aiter_bytes()
        self._first: bytes | None = None

    async def start(self) -> None:
        """Wait for the first piece."""
        encoding = self._response.headers.get("content-encoding", "").strip().lower()
        if encoding not in ENCODINGS:
            unknown = self._who.clean(encoding)
            raise failure(
                f"{self._who.name}: {self._who.where} compresses with {unknown}, which was not asked for",
                "turn that off in the server or proxy",
            )
        self._first = await self._next()

    async def read(self, timeout: float) -> bytes | None:
        """The next piece, None at the end. Raises Failure, of kind "timeout" after `timeout` seconds without one."""
        if self._first is not None:
            piece, self._first = self._first, None
            return piece
        with anyio.move_on_after(timeout):
            return await self._next()
        raise failure(
            f"{self._who.name}: {self._who.where} fell silent in the middle of the answer (time-out)",
            "ask again, or raise the provider's idle_timeout_sec",
            code="TIMEOUT",
            kind="timeout",
        )

    async def drain(self) -> None:
        """Read what little is left, so that the connection can be used again."""
        with anyio.move_on_after(DRAIN_SEC), contextlib.suppress(Failure):
            while await self._next() is not None:
                pass

    async def aclose(self) -> None:
        """Close the response; a body not read to its end closes the connection, which tells the server to stop."""
        await self._pieces.aclose()
        with contextlib.suppress(*BODY_ERRORS):
            await self._response.aclose()

    async def _next(self) -> bytes | None:
        try:
            return await anext(self._pieces, None)
        except OversizeError:
            raise oversize(self._who) from None
        except BODY_ERRORS as error:
            raise of_exception(error, self._who, self._endpoint) from None


class Reply:
    """An answer as it comes."""

    def __init__(self, incoming: Incoming, answer: Answer, who: Caller, config: ProviderConfig) -> None:
        self._incoming = incoming
        self._answer = answer
        self._decoder = BodyDecoder(who)
        self._who = who
        self._idle = config.idle_timeout_sec
        self._stalled_at = time.monotonic() + PROGRESS_LIMIT_SEC
        self._failure: Failure | None = None
        self._finished = False

    @property
    def alive(self) -> bool:
        """Whether the model has said anything at all, be it an empty piece."""
        return self._answer.alive

    async def read(self) -> list[Delta | Finish]:
        """The next items, at least one, the Finish last; then an empty list. Raises Failure after what came before."""
        while not self._finished:
            if self._failure is not None:
                raise self._failure
            items = self._decode(await self._piece())
            if items:
                self._stalled_at = time.monotonic() + PROGRESS_LIMIT_SEC
                return items
        return []

    async def aclose(self) -> None:
        """End the exchange. A complete answer leaves its connection open for the next, any other closes it."""
        if self._finished:
            await self._incoming.drain()
        await self._incoming.aclose()

    async def _piece(self) -> bytes | None:
        patience = min(self._idle, self._stalled_at - time.monotonic())
        if self._answer.finishing:
            patience = min(patience, TAIL_GRACE_SEC)
        try:
            return await self._incoming.read(patience)
        except Failure:
            if not self._answer.finishing:
                raise
        return None

    def _decode(self, piece: bytes | None) -> list[Delta | Finish]:
        """A failure is kept for the next read, so that the text before it is never lost."""
        items: list[Delta | Finish] = []
        try:
            for event in self._events(piece):
                delta = self._answer.take(event)
                if delta is not None:
                    items.append(delta)
                if self._answer.ended:
                    break
            if piece is None or self._answer.ended:
                items.append(self._answer.finish())
                self._finished = True
        except Failure as caught:
            self._failure = caught
        return items

    def _events(self, piece: bytes | None) -> list[Event]:
        return self._decoder.close() if piece is None else self._decoder.feed(piece)
