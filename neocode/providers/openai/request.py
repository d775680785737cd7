"""The request body, and what is left out of it for endpoints that refuse parts of it.

Invariant: narrowing always takes something away, so trying again ends.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from neocode.providers.base import Message
from neocode.providers.openai.endpoint import Endpoint
from neocode.providers.openai.failure import Failure

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
NAME_REFUSED = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|instead|not permitted|forbidden", re.I
)


class Shape(msgspec.Struct, frozen=True):
    """Which optional parts a request carries. `limit_names`: the name for the output limit, then its alternatives."""

    tool_choice: bool
    usage: bool
    reasoning: bool
    limit_names: tuple[str, ...]


def first_shape(endpoint: Endpoint) -> Shape:
    """What to try first.

    OpenAI answers 400 to `tool_choice` without `tools`, deprecates `max_tokens`, and knows no `reasoning_content`;
    everywhere else `max_tokens` is the name that is understood.
    """
    names = LIMIT_NAMES[::-1] if endpoint.openai else LIMIT_NAMES
    return Shape(tool_choice=not endpoint.openai, usage=True, reasoning=not endpoint.openai, limit_names=names)


def build_body(shape: Shape, model: str, messages: tuple[Message, ...], limit: int) -> dict[str, Any]:
    """The JSON body of a streamed chat completion of at most `limit` tokens, without tools."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_turn(message, shape.reasoning) for message in messages],
        "stream": True,
    }
    if shape.usage:
        body["stream_options"] = {"include_usage": True}
    if shape.tool_choice:
        body["tool_choice"] = "none"
    if shape.limit_names and limit > 0:
        body[shape.limit_names[0]] = limit
    return body


def _turn(message: Message, reasoning: bool) -> dict[str, str]:
    turn = {"role": message.role, "content": message.content}
    if reasoning and message.reasoning and message.role == "assistant":
        turn["reasoning_content"] = message.reasoning  # DeepSeek refuses a history without it
    return turn


def narrowed(shape: Shape, failure: Failure, *, proven: bool) -> Shape | None:
    """`shape` without what the server refused, None when that was something else.

    A refusal that names no part takes all optional parts away once, unless `proven`: the endpoint took them before.
    """
    if failure.kind == "context" and any(name in failure.error.message for name in LIMIT_NAMES):
        return _without_limit(shape)  # vLLM: prompt and output limit together exceed the context
    if not failure.refusal:
        return None
    smaller = _without(shape, failure.param, failure.refusal) or _without(shape, failure.refusal, failure.refusal)
    if smaller is not None or proven:
        return smaller
    bare = msgspec.structs.replace(shape, tool_choice=False, usage=False, reasoning=False)
    return bare if bare != shape else None


def _without(shape: Shape, named: str, refusal: str) -> Shape | None:
    smaller = msgspec.structs.replace(
        shape,
        tool_choice=shape.tool_choice and "tool_choice" not in named,
        usage=shape.usage and "stream_options" not in named and "include_usage" not in named,
        reasoning=shape.reasoning and "reasoning_content" not in named,
    )
    if shape.limit_names and shape.limit_names[0] in named:
        by_name = bool(NAME_REFUSED.search(refusal))
        smaller = msgspec.structs.replace(smaller, limit_names=shape.limit_names[1:] if by_name else ())
    return smaller if smaller != shape else None


def _without_limit(shape: Shape) -> Shape | None:
    return msgspec.structs.replace(shape, limit_names=()) if shape.limit_names else None


def worth_keeping(accepted: Shape, before: Shape) -> Shape:
    """What to remember of a shape that worked: which names are refused, but never to go without a limit."""
    return accepted if accepted.limit_names else msgspec.structs.replace(accepted, limit_names=before.limit_names)
