"""Any OpenAI-compatible endpoint as a provider, by way of the official SDK.

Invariants: importing this is cheap (the SDK is loaded, in a thread, on the first call); nothing is retried once a
delta was passed on; the key is read at the time of each call; the errors that leave here carry no request with them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from neocode.config import ProviderConfig
from neocode.errors import ProviderError
from neocode.providers.base import AskRequest, Delta, Finish, Message
from neocode.providers.openai.endpoint import Endpoint, parse_endpoint
from neocode.providers.openai.errors import Caller
from neocode.providers.openai.failure import Failure
from neocode.providers.openai.keys import read_key
from neocode.providers.openai.request import Shape, build_body, first_shape, narrowed, worth_keeping
from neocode.providers.openai.retry import Backoff

if TYPE_CHECKING:
    from neocode.providers.openai.reply import Line, Reply

CHECK_TOKENS = 1
CHECK_TURN = Message("user", "Say OK.")
NAMED_MODELS = 5  # how many models an error names
NAMING_TIMEOUT_SEC = 3.0  # an error must not wait long for a hint


class OpenAIProvider:
    """A `Provider` over HTTP. Belongs to one event loop; `aclose` it there."""

    def __init__(self, name: str, config: ProviderConfig) -> None:
        self._name = name
        self._config = config
        self._endpoint: Endpoint | None = None
        self._shape: Shape | None = None
        self._proven = False
        self._line: Line | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    @property
    def name(self) -> str:
        """The config's name for it."""
        return self._name

    @property
    def model(self) -> str:
        """The model that is asked for."""
        return self._config.model

    async def stream(self, request: AskRequest) -> AsyncIterator[Delta | Finish]:
        """See `Provider.stream`. Retries within `retry_budget_sec` as long as nothing was passed on."""
        backoff = Backoff(self._config.retry_budget_sec)
        passed_on = text_shown = False
        while True:
            failure: Failure | None = None
            try:
                reply = await self._answer(request.messages, self._config.max_output_tokens)
                try:
                    while items := await reply.read():
                        for item in items:
                            passed_on = True
                            text_shown = text_shown or (isinstance(item, Delta) and bool(item.text))
                            yield item
                finally:
                    await reply.aclose()
            except Failure as caught:
                failure = caught
            if failure is None:
                return
            delay = backoff.next_delay(failure.retry_after) if failure.retry and not passed_on else None
            if delay is None:
                raise await self._final(failure, partial=text_shown)
            await asyncio.sleep(delay)

    async def check(self) -> str:
        """Have the model say one token; one line with model, host and milliseconds. Raises ProviderError."""
        started = time.monotonic()
        failure = await self._try_token()
        if failure is not None:
            raise await self._final(failure)
        millis = (time.monotonic() - started) * 1000
        return f"{self._name}: {self.model} at {self._endpoint_of_config().where} answered in {millis:.0f} ms"

    async def models(self) -> list[str]:
        """The model ids on offer, at most a thousand, in the server's order. Raises ProviderError."""
        who = self._caller()
        line = await self._connected()
        failure: Failure | None = None
        try:
            return await line.models(who)
        except Failure as caught:
            failure = caught
        raise failure.error

    async def aclose(self) -> None:
        """Release connections. Idempotent; calls after it are refused."""
        self._closed = True
        line, self._line = self._line, None
        if line is not None:
            await line.aclose()

    async def _answer(self, messages: tuple[Message, ...], limit: int) -> Reply:
        """Open a reply, without what this endpoint turns out to refuse. Raises Failure, ProviderError."""
        if not self.model:
            raise ProviderError(
                "PROVIDER_ERROR", f"{self._name}: no model is configured", "see `neocode model list` for those on offer"
            )
        who = self._caller()
        line = await self._connected()
        before = self._shape or first_shape(self._endpoint_of_config())
        shape = before
        while True:
            try:
                reply = await line.ask(build_body(shape, self.model, messages, limit), who)
            except Failure as refused:
                smaller = narrowed(shape, refused, proven=self._proven)
                if smaller is None:
                    raise
                shape = smaller
                continue
            self._shape = worth_keeping(shape, before)
            self._proven = True
            return reply

    async def _try_token(self) -> Failure | None:
        try:
            reply = await self._answer((CHECK_TURN,), CHECK_TOKENS)
        except Failure as caught:
            return caught
        try:
            while not reply.alive and await reply.read():
                pass
        except Failure as caught:
            return None if reply.alive else caught  # one token may all be thinking
        finally:
            await reply.aclose()
        return None

    def _endpoint_of_config(self) -> Endpoint:
        if self._endpoint is None:
            self._endpoint = parse_endpoint(self._config.base_url)
        return self._endpoint

    def _caller(self) -> Caller:
        """Who calls whom, with the key as it is now. Raises ProviderError when the key may not or cannot be used."""
        endpoint = self._endpoint_of_config()
        key = read_key(self._config)
        if key is not None:
            endpoint.refuse_key_in_the_clear()
        return Caller(self._name, endpoint.where, self.model, key)

    async def _connected(self) -> Line:
        """The line to the endpoint, opened on first use. Raises ProviderError."""
        async with self._opening:
            if self._closed:
                raise ProviderError("PROVIDER_ERROR", f"{self._name}: the provider was closed", "ask again")
            if self._line is None:
                self._line = await asyncio.to_thread(_open_line, self._endpoint_of_config(), self._config)
            return self._line

    async def _final(self, failure: Failure, *, partial: bool = False) -> ProviderError:
        """The error for the user: complete, and free of the exceptions that led to it."""
        error, hint = failure.error, failure.error.hint
        if failure.kind == "model":
            hint = await self._models_hint() or hint
        return ProviderError(error.code, error.message, hint, partial=partial)

    async def _models_hint(self) -> str:
        try:
            ids = await asyncio.wait_for(self.models(), NAMING_TIMEOUT_SEC)
        except (ProviderError, asyncio.TimeoutError):
            return ""
        if not ids:
            return ""
        more = ", ..." if len(ids) > NAMED_MODELS else ""
        return f"it has {', '.join(ids[:NAMED_MODELS])}{more}; see `neocode model list`"


def _open_line(endpoint: Endpoint, config: ProviderConfig) -> Line:
    """Load the SDK, which takes half a second, and read the CA bundle: both work for a thread."""
    from neocode.providers.openai.reply import Line

    return Line(endpoint, config)
