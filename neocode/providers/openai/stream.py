"""From a response body to an answer: bytes in, `Delta`s out, one `Finish` or a `Failure` at the end.

Invariants: sans-IO; the deltas are the same however the bytes are cut; an answer is complete only if the server said
so with a finish_reason; at most MAX_ANSWER_CHARS of it are passed on.
"""

from __future__ import annotations

from typing import Any

from neocode.providers.base import Delta, Finish, Usage
from neocode.providers.openai.errors import Caller, detail_of, from_detail
from neocode.providers.openai.failure import Failure, failure
from neocode.providers.openai.sse import BOM, MAX_LINE_BYTES, Event, SseParser, decode_object
from neocode.providers.openai.text import one_line

MAX_ANSWER_CHARS = 256 * 1024  # text plus thinking; twice what an ask keeps of an answer (`ask/answer.py`)
LENGTH_REASONS = frozenset({"length", "max_tokens"})
# The server gave up in the middle: OpenRouter, vLLM, DeepSeek.
CUT_REASONS = frozenset({"error", "abort", "aborted", "insufficient_system_resource"})
BASE_URL_HINT = "check base_url; it usually ends in /v1"


class BodyDecoder:
    """Events of a body: an SSE stream, or the one JSON object of a server that does not stream."""

    def __init__(self, who: Caller) -> None:
        self._who = who
        self._sse = SseParser()
        self._json: bytearray | None = None
        self._head = b""
        self._sniffed = False

    def feed(self, data: bytes) -> list[Event]:
        """Events that `data` completes. Raises Failure for a web page."""
        if not self._sniffed:
            self._head = (self._head + data).lstrip().removeprefix(BOM).lstrip()
            if BOM.startswith(self._head):
                return []  # nothing yet, or half of a byte order mark
            self._sniffed = True
            data, self._head = self._head, b""
            if data.startswith(b"<"):
                raise failure(
                    f"{self._who.name}: {self._who.where} answered with a web page, not with its API", BASE_URL_HINT
                )
            if data.startswith((b"{", b"[")):
                self._json = bytearray()
        if self._json is None:
            return self._sse.feed(data)
        self._json += data
        return [Event("oversize")] if len(self._json) > MAX_LINE_BYTES else []

    def close(self) -> list[Event]:
        """Events of what came without its end."""
        if self._json is None:
            return self._sse.close()
        body = decode_object(bytes(self._json).strip())
        return [Event("damaged") if body is None else Event("data", body), Event("done")]


class Answer:
    """What the events of one answer add up to."""

    def __init__(self, who: Caller, limit: int) -> None:
        self._who = who
        self._limit = limit
        self._usage = Usage()
        self._model = who.model
        self._reason = ""
        self._text = 0
        self._thinking = 0
        self._damaged = 0
        self.alive = False
        self.ended = False

    @property
    def finishing(self) -> bool:
        """Whether the text is complete and only usage may still follow."""
        return bool(self._reason)

    def take(self, event: Event) -> Delta | None:
        """What `event` adds, if anything. Not called again once `ended`. Raises Failure."""
        if event.kind == "data":
            return self._take_data(event)
        if event.kind == "done":
            self.ended = True
        elif event.kind == "damaged":
            self._take_damaged()
        else:
            raise oversize(self._who)
        return None

    def finish(self) -> Finish:
        """The end of the answer, once the stream has ended. Raises Failure when it did not end well."""
        who = self._who
        if self._reason == "content_filter":
            raise failure(
                f"{who.name}: the content filter of {who.where} {'cut' if self._text else 'withheld'} the answer",
                "ask without the offending part",
                kind="filter",
            )
        if self._reason in CUT_REASONS:
            raise failure(f"{who.name}: {who.where} gave up before the answer was complete", "ask again", retry=True)
        if not self._text:
            raise self._no_text()
        if not self._reason:
            raise failure(
                f"{who.name}: the answer was cut off: {who.where} ended it without a finish_reason", "ask again"
            )
        reason = "length" if self._reason in LENGTH_REASONS else "stop"
        return Finish(usage=self._usage, reason=reason, model=self._model)  # type: ignore[arg-type]

    def _take_damaged(self) -> None:
        self._damaged += 1
        if self._text and not self._reason:
            raise failure(f"{self._who.name}: a part of the answer from {self._who.where} arrived damaged", "ask again")

    def _take_data(self, event: Event) -> Delta | None:
        data = event.data
        if data.get("error") or event.name == "error":
            if self._reason:
                return None  # the answer is complete already
            raise from_detail(self._who, 0, detail_of(data))
        self._take_usage(data)
        if isinstance(model := data.get("model"), str) and model:
            self._model = one_line(model)
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return None
        self.alive = True
        if self._reason:
            return None
        if isinstance(reason := choice.get("finish_reason"), str):
            self._reason = reason
        part = choice.get("delta") or choice.get("message")
        return self._take_part(part) if isinstance(part, dict) else None

    def _take_part(self, part: dict[str, Any]) -> Delta | None:
        thinking = _text(part.get("reasoning_content")) or _text(part.get("reasoning"))
        text = _text(part.get("content")) or _text(part.get("refusal"))
        room = MAX_ANSWER_CHARS - self._text - self._thinking
        if len(thinking) + len(text) > room:
            self._reason = "length"
            self.ended = True
            thinking = thinking[:room]
            text = text[: room - len(thinking)]
        self._thinking += len(thinking)
        self._text += len(text)
        return Delta(text, thinking) if text or thinking else None

    def _take_usage(self, data: dict[str, Any]) -> None:
        usage = data.get("usage")
        if isinstance(usage, dict):
            self._usage = Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")))

    def _no_text(self) -> Failure:
        who = self._who
        if self._reason in LENGTH_REASONS:
            return failure(
                f"{who.name}: {who.model} used up its whole output limit ({self._limit} tokens) before the answer",
                "raise the provider's max_output_tokens",
            )
        if self._reason in ("tool_calls", "function_call"):
            return failure(f"{who.name}: {who.model} asked for a tool instead of answering", "ask again")
        if self._thinking:
            return failure(f"{who.name}: {who.model} thought, but gave no answer", "ask again")
        if self._damaged:
            return failure(f"{who.name}: {who.where} sent an answer that cannot be read", BASE_URL_HINT)
        return failure(f"{who.name}: {who.where} sent an empty answer", "ask again, or use another model")


def oversize(who: Caller) -> Failure:
    """More came than is held or waited for."""
    return failure(f"{who.name}: {who.where} sent more than an answer can be", BASE_URL_HINT)


def _text(value: object) -> str:
    """Content as text: a string, or (Mistral) a list of parts of which the text ones count.

    Half a surrogate pair stays: its other half may be in the next piece.
    """
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict) and part.get("type") == "text"]
        value = "".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
