"""What a server's own words about a failure mean: HTTP status and error body, or an error inside the stream.

Invariants: decisions (retry or not, quota or not) are made by status and structured code, never by wording; wording
only chooses the hint. Every text of the server goes through `Caller.clean`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from neocode.errors import ProviderError
from neocode.providers.openai.failure import Failure, Kind, failure
from neocode.providers.openai.keys import ApiKey
from neocode.providers.openai.text import MAX_FOREIGN_CHARS, one_line

QUOTA_CODES = frozenset(
    {
        "insufficient_quota",  # OpenAI
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",  # Moonshot
        "insufficient_balance",
        "insufficient_user_quota",  # one-api
        "arrearage",  # DashScope (Qwen)
    }
)
FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})
CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
MODEL_CODES = frozenset({"model_not_found", "deploymentnotfound"})
RATE_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests"})
SERVER_CODES = frozenset({"server_error", "internal_server_error", "overloaded_error", "service_unavailable"})

CONTEXT_WORDS = re.compile(
    r"context (?:length|size|window)|maximum context|prompt is too long|too many (?:input )?tokens", re.I
)
MODEL_WORDS = re.compile(
    r"\bmodel\b.{0,200}?\b(?:not found|not exist|does not exist|not a valid)|(?:unknown|invalid|no such) model"
    r"|not a valid model",
    re.I | re.S,
)
TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.I | re.S)
MAX_WAIT_SHOWN_SEC = 120  # longer waits are shown in minutes


class Caller(msgspec.Struct, frozen=True):
    """Who calls whom, for messages. `where` is host[:port]; `model` what was asked for."""

    name: str
    where: str
    model: str = ""
    key: ApiKey | None = None

    def clean(self, text: str) -> str:
        """Foreign text made fit to show."""
        return one_line(text, self.key.reveal() if self.key else "")


class Detail(msgspec.Struct, frozen=True):
    """An error body's content. `codes` are its code and type in lower case."""

    message: str = ""
    codes: frozenset[str] = frozenset()
    param: str = ""
    status: int = 0


def read_detail(raw: str) -> Detail:
    """What an error body says, whatever its shape: JSON of several vendors, HTML, plain text."""
    text = raw.strip()[:MAX_FOREIGN_CHARS]
    try:
        body = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        title = TITLE.search(text)
        return Detail(title.group(1) if title else text if not text.startswith("<") else "")
    if isinstance(body, list) and body:
        body = body[0]  # Gemini wraps the error in a list
    return detail_of(body) if isinstance(body, dict) else Detail(str(body))


def detail_of(body: dict[str, Any]) -> Detail:
    """The same for a decoded body or an event of the stream."""
    error = body.get("error")
    inner = error if isinstance(error, dict) else body
    message = inner.get("message") or inner.get("detail") or inner.get("msg")
    if isinstance(error, str):
        message = f"{error}: {message}" if isinstance(message, str) and message != error else error
    if not isinstance(message, str):
        message = msgspec.json.encode(message if message else inner).decode("utf-8")
    names = (inner.get("code"), inner.get("type"), inner.get("status"))
    return Detail(
        message=message,
        codes=frozenset(name.lower() for name in names if isinstance(name, str)),
        param=param if isinstance(param := inner.get("param"), str) else "",
        status=next((s for s in map(_status, names) if s), 0),
    )


def _status(value: object) -> int:
    """An HTTP error status given as a number or its digits, else 0."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else 0


def from_detail(who: Caller, status: int, detail: Detail, retry_after: float | None = None) -> Failure:
    """Judge a refused request (`status` >= 400) or an error inside a stream (`status` 0: the detail's own, if any)."""
    status = status or detail.status
    label = f" ({status})" if status else ""
    said = who.clean(detail.message)
    says = f": {said}" if said else ""
    kind = _kind(status, detail)
    if kind:
        return _of_kind(who, kind, status, f"{label}{says}")
    if status == 429 or (not status and detail.codes & RATE_CODES):
        return failure(
            f"{who.name}: {who.where} limits the rate of requests{label}{says}",
            _wait_hint(retry_after),
            code="RATE_LIMITED",
            retry=True,
            retry_after=retry_after,
        )
    if status >= 500 or status == 408 or (not status and detail.codes & SERVER_CODES):
        return failure(
            f"{who.name}: {who.where} has a problem of its own{label}{says}",
            "try again later, or use another provider",
            code="TIMEOUT" if status in (408, 504) else "PROVIDER_ERROR",
            retry=True,
            retry_after=retry_after,
        )
    if status == 404:
        return failure(f"{who.name}: {who.where} knows no such address (404){says}", "base_url usually ends in /v1")
    if status == 407:
        return failure(f"{who.name}: the proxy wants a log-in (407)", "put it into HTTPS_PROXY as user:password@host")
    error = ProviderError("PROVIDER_ERROR", f"{who.name}: {who.where} refused the request{label}{says}")
    refusal = detail.message if status in (400, 422) else ""
    return Failure(error, refusal=refusal, param=detail.param)


def _kind(status: int, detail: Detail) -> Kind:
    codes = detail.codes
    if codes & QUOTA_CODES or status == 402:
        return "quota"
    if codes & FILTER_CODES:
        return "filter"
    if codes & CONTEXT_CODES or (status in (400, 413, 422) and CONTEXT_WORDS.search(detail.message)):
        return "context"
    if codes & MODEL_CODES or (status in (400, 404) and MODEL_WORDS.search(detail.message)):
        return "model"
    return "auth" if status in (401, 403) else ""


def _of_kind(who: Caller, kind: Kind, status: int, tail: str) -> Failure:
    if kind == "quota":
        what, hint = "the account's quota or credit is used up", "add credit at the provider, or use another one"
    elif kind == "filter":
        what, hint = "the provider's content filter refused the request", "ask without the offending part"
    elif kind == "context":
        what = f"the request is longer than the context of {who.model} allows"
        hint = "send less (a smaller ask.max_log_bytes), or use a model with a larger context"
    elif kind == "model":
        what, hint = f"the model {who.model} is unknown there", "see `neocode model list`"
    else:
        what = "the API key was refused" if who.key else "a key is wanted and none is configured"
        if status == 403 and who.key:
            what = "access was refused"
        hint = _key_hint(who)
    return failure(f"{who.name}: {who.where}: {what}{tail}", hint, kind=kind)


def _key_hint(who: Caller) -> str:
    if who.key is None:
        return f"give one: `neocode provider add {who.name} ... --api-key-env NAME` or `--api-key-file PATH`"
    return f"check {who.key.source} and what that key may do"


def _wait_hint(retry_after: float | None) -> str:
    if retry_after is None:
        return "try again later, or use another provider"
    shown = f"{retry_after:.0f} s" if retry_after <= MAX_WAIT_SHOWN_SEC else f"{retry_after / 60:.0f} min"
    return f"it asks to wait {shown}; try again then, or use another provider"
