"""What follows an answer: the one dim closing line, or the one JSON object of `--json`."""

from __future__ import annotations

import msgspec

from neocode.providers.base import FinishReason, Usage
from neocode.render.answer import Diagnosis


class AnswerFacts(msgspec.Struct, frozen=True):
    """What is known about an answer besides its text. `masked`: secrets; `truncated`: the log was shortened."""

    provider: str = ""
    model: str = ""
    usage: Usage = Usage()
    masked: int = 0
    truncated: bool = False
    compacted: bool = False
    finish_reason: FinishReason = "stop"


def closing_line(facts: AnswerFacts, *, color: bool) -> str:
    """`provider offline (rules) · 450 in / 120 out tokens · 3 secrets masked`, without newline, dim if `color`."""
    raise NotImplementedError


def answer_json(diagnosis: Diagnosis, facts: AnswerFacts) -> bytes:
    """The `--json` object as indented UTF-8 JSON, without newline. Flagged commands go into `explanation`."""
    raise NotImplementedError
