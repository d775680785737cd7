"""One turn of a conversation: what was asked, with what captured text, and the answer.

Invariant: a stored turn has an answer; a turn without one lives only while its ask runs.
"""

from __future__ import annotations

import msgspec

from neocode.ask.tokens import estimate_tokens
from neocode.providers.base import AskContext, Message

# Delimiters, the labels of the facts and the chat template around a user and an assistant message.
TURN_OVERHEAD_TOKENS = 64


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """`question` is empty when the captured text came alone; `reasoning` is never shown, only sent back."""

    question: str = ""
    context: AskContext = AskContext()
    answer: str = ""
    reasoning: str = ""

    def messages(self) -> tuple[Message, Message]:
        """The turn in plain words, without the prompt's dressing."""
        return Message("user", self.question or self.context.log), Message("assistant", self.answer, self.reasoning)

    def tokens(self) -> int:
        """An upper bound of what the rendered turn costs, by the estimate."""
        return self.frame_tokens() + estimate_tokens("".join(self.pieces()))

    def frame_tokens(self) -> int:
        """The part of `tokens` that cutting the pieces cannot lower."""
        context = self.context
        return TURN_OVERHEAD_TOKENS + estimate_tokens(" ".join((context.command, context.cwd, *context.near_commands)))

    def pieces(self) -> tuple[str, str, str, str]:
        """The texts that may be cut: question, log, answer, reasoning."""
        return self.question, self.context.log, self.answer, self.reasoning

    def with_pieces(self, question: str, log: str, answer: str, reasoning: str) -> Turn:
        """The same turn with other texts."""
        return msgspec.structs.replace(
            self,
            question=question,
            context=msgspec.structs.replace(self.context, log=log),
            answer=answer,
            reasoning=reasoning,
        )
