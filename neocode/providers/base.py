"""What a provider is: an `AskRequest` in, `Delta`s out, one `Finish` at the end, `ProviderError` otherwise.

Invariants: one provider call per ask, no tools. `messages` is the whole prompt as chat turns (system first, the
question last); `context` is the same situation as structure, for providers that compute instead of generate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length"]
# the log of a command without output: an ask without a log would be taken for a question
NO_OUTPUT = "[the command printed nothing]"


class Message(msgspec.Struct, frozen=True):
    """One chat turn. `reasoning` is kept for endpoints that want it back; it is never shown as the answer."""

    role: Role
    content: str
    reasoning: str = ""


class AskContext(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the client knows and the daemon cannot. All text is already stripped and redacted by the client.

    `log`: the captured output; `command`: the failed command line; `exit_code`: None when unknown; `shell`: the kind of
    the user's shell, a value of `facts.SHELL_KINDS`; `os`: "linux" | "darwin" | "windows" plus free text after a space;
    `cwd`: directory; `duration_ms`: milliseconds; `lang`: BCP 47 tag of the language to answer in; `near_commands`:
    names on the user's PATH near the command not found, best first.
    """

    log: str = ""
    command: str = ""
    exit_code: int | None = None
    shell: str = ""
    os: str = ""
    cwd: str = ""
    duration_ms: int | None = None
    lang: str = ""
    near_commands: tuple[str, ...] = ()


class Usage(msgspec.Struct, frozen=True):
    """Token counts as the provider reports them; zero when it does not."""

    input_tokens: int = 0
    output_tokens: int = 0


class AskRequest(msgspec.Struct, frozen=True):
    """One call. `question` is the user's own words of this turn; `diagnosis` is true when the turn carries a log."""

    messages: tuple[Message, ...]
    context: AskContext
    question: str = ""
    diagnosis: bool = False


class Delta(msgspec.Struct, frozen=True):
    """A piece of the answer. Empty `text` with `reasoning` set is thinking: kept in the history, not shown.

    A text may end in half a surrogate pair, as JSON cut between two pieces has it; whoever joins the texts joins it.
    """

    text: str
    reasoning: str = ""


class Finish(msgspec.Struct, frozen=True):
    """The regular end of an answer. `length` means the model hit its output limit."""

    usage: Usage = Usage()
    reason: FinishReason = "stop"
    model: str = ""


class Provider(Protocol):
    """A source of answers. `name` is the config's name for it, `model` what it runs."""

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    def stream(self, request: AskRequest) -> AsyncIterator[Delta | Finish]:
        """Answer `request`. Yields `Delta`s, then exactly one `Finish`.

        Raises:
            ProviderError: the call failed; after some `Delta`s `partial` is true.
        Cancelling the consuming task (or `aclose` of the generator) ends the call at the provider's side too.
        """
        ...

    async def check(self) -> str:
        """Make the cheapest real call; return one line that says what works. Raises ProviderError."""
        ...

    async def models(self) -> list[str]:
        """The model ids on offer. Raises ProviderError."""
        ...

    async def aclose(self) -> None:
        """Release connections. Idempotent."""
        ...
