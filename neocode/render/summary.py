"""What follows an answer: the one dim closing line, or the one JSON object of `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from neocode.providers.base import FinishReason, Usage
from neocode.render.answer import Diagnosis
from ptyproxy.sanitize import sanitize

SEPARATOR = " · "


class AnswerFacts(msgspec.Struct, frozen=True):
    """What is known about an answer besides its text. `masked`: secrets; `truncated`: the log was shortened."""

    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    masked: int = 0
    truncated: bool = False
    compacted: bool = False
    finish_reason: FinishReason = "stop"


class AnswerObject(msgspec.Struct, frozen=True):
    """The members of `--json`, in this order."""

    confidence: str
    root_cause: str
    explanation: str
    fix_commands: tuple[str, ...]
    investigation_commands: tuple[str, ...]
    provider: str
    model: str
    usage: Usage
    masked: int
    truncated: bool


def answer_facts(done: Mapping[str, Any], *, masked: int, truncated: bool) -> AnswerFacts:
    """The facts of an answer from the payload of its `ask_done` event and what the client knows of the log."""
    usage = done.get("usage") or {}
    return AnswerFacts(
        provider=str(done.get("provider", "")),
        model=str(done.get("model", "")),
        usage=Usage(int(usage.get("input_tokens", 0)), int(usage.get("output_tokens", 0))),
        masked=masked,
        truncated=truncated,
        compacted=bool(done.get("compacted", False)),
        finish_reason="length" if done.get("finish_reason") == "length" else "stop",
    )


def closing_line(facts: AnswerFacts, *, color: bool) -> str:
    """`provider offline (rules) · 450 in / 120 out tokens · 3 secrets masked`, without line end, dim if `color`."""
    parts = [
        _provider(facts),
        _tokens(facts.usage),
        _counted(facts.masked, "secret") + " masked" if facts.masked else "",
        "log shortened" if facts.truncated else "",
        "history compacted" if facts.compacted else "",
        "answer cut at the model's output limit" if facts.finish_reason == "length" else "",
    ]
    line = " ".join(sanitize(SEPARATOR.join(part for part in parts if part)).split())
    return f"\x1b[2m{line}\x1b[0m" if color and line else line


def answer_json(diagnosis: Diagnosis, facts: AnswerFacts) -> bytes:
    """The `--json` object as indented UTF-8 JSON, without line end. Flagged commands go into `explanation`."""
    encoded = msgspec.json.encode(
        AnswerObject(
            confidence=diagnosis.confidence,
            root_cause=_encodable(diagnosis.root_cause),
            explanation=_encodable(_explanation(diagnosis)),
            fix_commands=tuple(map(_encodable, diagnosis.fix_commands)),
            investigation_commands=tuple(map(_encodable, diagnosis.investigation_commands)),
            provider=_encodable(sanitize(facts.provider)),
            model=_encodable(sanitize(facts.model)),
            usage=facts.usage,
            masked=facts.masked,
            truncated=facts.truncated,
        )
    )
    return msgspec.json.format(encoded, indent=2)


def _explanation(diagnosis: Diagnosis) -> str:
    """With what is no single safe command: a reader of the JSON must not lose it, nor find it in a command list."""
    parts = [diagnosis.explanation] if diagnosis.explanation else []
    for item in diagnosis.flagged:
        fence = "````" if "```" in item.text else "```"
        parts.append(f"{item.section.capitalize()} ({item.reason}):\n{fence}\n{item.text}\n{fence}")
    return "\n\n".join(parts)


def _provider(facts: AnswerFacts) -> str:
    model = f" ({facts.model})" if facts.model else ""
    return f"provider {facts.provider}{model}" if facts.provider else ""


def _tokens(usage: Usage) -> str:
    if not usage.input_tokens and not usage.output_tokens:
        return ""
    return f"{usage.input_tokens} in / {usage.output_tokens} out tokens"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _encodable(text: str) -> str:
    """Without lone surrogates, which JSON's UTF-8 cannot carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
