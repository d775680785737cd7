"""What went wrong with one attempt, with all that deciding about the next attempt needs.

Invariant: `error` is complete and clean (one line, no secret), so it can be raised to the user as it is.
"""

from __future__ import annotations

from typing import Literal

from neocode.errors import AskErrorCode, ProviderError

Kind = Literal["", "auth", "context", "filter", "model", "quota", "timeout"]


class OversizeError(Exception):
    """The server sent more than we hold in memory or wait for."""


class Failure(Exception):
    """One failed attempt; internal to the `openai` provider, turned into its `error` before it leaves it.

    `retry`: another attempt may help; `retry_after`: seconds the server asks to wait, None when it does not say;
    `refusal`: the server's words about a request it calls malformed (status 400 or 422), else empty; `param`: the
    parameter it names as the culprit, if it says so in a structured way.
    """

    def __init__(
        self,
        error: ProviderError,
        *,
        kind: Kind = "",
        retry: bool = False,
        retry_after: float | None = None,
        refusal: str = "",
        param: str = "",
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.kind = kind
        self.retry = retry
        self.retry_after = retry_after
        self.refusal = refusal
        self.param = param


def failure(
    message: str,
    hint: str = "",
    *,
    code: AskErrorCode = "PROVIDER_ERROR",
    kind: Kind = "",
    retry: bool = False,
    retry_after: float | None = None,
) -> Failure:
    """A Failure from the words for the user."""
    return Failure(ProviderError(code, message, hint), kind=kind, retry=retry, retry_after=retry_after)
