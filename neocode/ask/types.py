"""The records that pass between the gateway and the ask service, and the port the gateway calls.

Invariant: after `AskPort.submit` returns, exactly one `ask_done` or `ask_error` follows for that run id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from neocode.errors import NeocodeError
from neocode.providers.base import AskContext

TERMINAL_DIAGNOSIS = "terminal-diagnosis"
DIAGNOSIS_QUESTION = "Why did this fail, and what should I do?"  # of a diagnosis that nobody put into words
SESSION_ID_CHARS = 128  # ids are names in tables, logs and screens, not storage

AskEventType = Literal["ask_chunk", "ask_done", "ask_error"]


class AskParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Params of `gateway.ask`. `workdir` and `skills` count on a session's first ask."""

    user_query: str
    session_id: str = ""
    skills: tuple[str, ...] = ()
    workdir: str = ""
    context: AskContext | None = None


class AskTicket(msgspec.Struct, frozen=True):
    """What an accepted ask is known by."""

    session_id: str
    run_id: str


class AskEvent(msgspec.Struct, frozen=True):
    """One event of a run.

    `payload` by type: ask_chunk {session_id, delta}; ask_done {session_id, full_response, compacted,
    usage {input_tokens, output_tokens}, provider, model, finish_reason}; ask_error {session_id, code, message, hint}.
    The concatenated deltas equal `full_response`.
    """

    event_type: AskEventType
    session_id: str
    run_id: str
    payload: dict[str, Any]


class SessionInfo(msgspec.Struct, frozen=True):
    """A stored ask session as `gateway.listSessions` shows it; times RFC 3339 UTC."""

    id: str
    title: str
    created_at: str
    updated_at: str


class ProviderInfo(msgspec.Struct, frozen=True):
    """The provider in use. `origin`: where its requests go, such as `https://api.example.com`; empty: this machine."""

    name: str
    model: str
    origin: str = ""


class AskRefused(NeocodeError):
    """An ask that is not accepted: empty question, unknown skill (the message names the known ones), queue full."""


Emit = Callable[[AskEvent], None]


class AskPort(Protocol):
    """What the gateway needs of ask mode. All methods are called on the gateway's event loop."""

    def submit(self, ask: AskParams, emit: Emit) -> AskTicket:
        """Accept an ask (a new session id `ask-<hex>` when none is given) and answer it in the background.

        `emit` is called on the loop, never before `submit` returned. Raises AskRefused.
        """
        ...

    async def cancel(self, *, run_id: str = "", session_id: str = "") -> bool:
        """End a run, or every run of a session, with `ask_error CANCELED`; the provider call stops. False: none."""
        ...

    async def delete(self, session_id: str) -> bool:
        """Cancel the session's runs and forget it. False when it was unknown."""
        ...

    def create(self, session_id: str) -> str:
        """Make an empty session (or touch the existing one) and return its id; an id is made when empty."""
        ...

    def sessions(self) -> list[SessionInfo]:
        """The stored sessions, newest first."""
        ...

    def running(self) -> dict[str, str]:
        """Run id -> session id of every ask that is queued or running."""
        ...

    def provider(self) -> ProviderInfo:
        """The provider that the next ask will use."""
        ...

    async def check_provider(self, name: str) -> str:
        """Test provider `name` ("" = the one in use) from this process; a line that says what works.

        Raises ProviderError or ConfigError with what is wrong and what to do.
        """
        ...

    async def list_models(self, name: str) -> list[str]:
        """The model ids that provider `name` ("" = the one in use) offers. Raises like `check_provider`."""
        ...

    async def reload(self) -> list[str]:
        """Read config, providers and skills again; return warnings. Raises ConfigError and keeps the old ones."""
        ...

    async def aclose(self) -> None:
        """Cancel every run (each gets its ask_error), close providers and store."""
        ...
