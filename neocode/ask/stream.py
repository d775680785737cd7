"""One provider call of an ask: its pieces to the caller, its generator closed, its end judged.

Invariant: when `stream_answer` has returned or raised, the provider's generator is closed or was given up (a log line).
"""

from __future__ import annotations

import asyncio
import logging

from neocode.ask.run import AskRun
from neocode.errors import ProviderError
from neocode.providers.base import AskRequest, Finish, Provider

CLOSE_TIMEOUT_SEC = 5.0  # for a provider's generator to clean up
_log = logging.getLogger("neocode.ask")


async def stream_answer(run: AskRun, provider: Provider, request: AskRequest) -> Finish:
    """Pass the provider's pieces on until its Finish, which is returned; the generator is closed however this ends.

    Raises:
        ProviderError: the provider's own, the stream ended without a Finish, or no text came before it.
    """
    pieces = provider.stream(request)
    try:
        async for piece in pieces:
            if isinstance(piece, Finish):
                return _with_text(run, piece)
            run.answer.think(piece.reasoning)
            run.chunk(run.answer.add(piece.text))
            if run.answer.full:
                return Finish(reason="length", model=provider.model)
            if run.closed:
                raise asyncio.CancelledError
    finally:
        await _close_stream(pieces)
    raise ProviderError("PROVIDER_ERROR", "the model's answer broke off", "ask again", partial=not run.answer.empty)


async def _close_stream(pieces: object) -> None:
    """End the provider's generator here and now, in the task that ran it, within CLOSE_TIMEOUT_SEC."""
    aclose = getattr(pieces, "aclose", None)
    task = asyncio.current_task()
    if aclose is None or task is None:
        return
    timer = asyncio.get_running_loop().call_later(CLOSE_TIMEOUT_SEC, task.cancel)
    try:
        await aclose()
    except asyncio.CancelledError:
        _log.warning("a provider's stream was slow to close")
    except Exception as error:  # what the client raises while it is closed changes nothing any more
        _log.warning("a provider's stream could not be closed: %s", type(error).__name__)
    finally:
        timer.cancel()


def _with_text(run: AskRun, finish: Finish) -> Finish:
    """`finish`, unless nothing but blanks came before it: an empty answer is an error, not a success."""
    if not run.answer.empty:
        return finish
    if finish.reason == "length":
        hint = "raise max_output_tokens of this provider"
        raise ProviderError("PROVIDER_ERROR", "the model reached its output limit before the answer began", hint)
    raise ProviderError("PROVIDER_ERROR", "the model sent an empty answer", "ask again, or try another model")
