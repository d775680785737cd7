"""Throw-away ask sessions whose client vanished. Invariant: one is named for removal only after 15 minutes without a
bound connection; a restart of the daemon does not start these minutes anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from neocode.ask.types import SessionInfo

PREFIXES = ("diag-ask-", "idm-")  # made by our clients for one talk, and deleted by them when it ends
MAX_TALKS = 4096  # four times what the store keeps


class Talks:
    """Session id -> since when nobody is bound to it (None: somebody is). Times in seconds of the caller's clock."""

    def __init__(self, abandoned_sec: float) -> None:
        self._abandoned_sec = abandoned_sec
        self._unbound: dict[str, float | None] = {}

    def adopt(self, stored: Iterable[SessionInfo], now: float) -> None:
        """Take over what an earlier daemon left; `updated_at` is the last sign of life."""
        wall = datetime.now(timezone.utc)
        for session in stored:
            if session.id.startswith(PREFIXES):
                self._add(session.id, now - max(0.0, _age_sec(session.updated_at, wall)))

    def used(self, session_id: str) -> None:
        """A client asked in it, or made it."""
        if session_id.startswith(PREFIXES):
            self._add(session_id, None)

    def bound(self, session_id: str) -> None:
        """A client bound it; a name that no talk belongs to is not remembered."""
        if session_id in self._unbound:
            self._unbound[session_id] = None

    def unbound(self, session_id: str, now: float) -> None:
        """Its last binding is gone."""
        if session_id in self._unbound:
            self._unbound[session_id] = now

    def deleted(self, session_id: str) -> None:
        """Its client removed it."""
        self._unbound.pop(session_id, None)

    def abandoned(self, now: float, is_bound: Callable[[str], bool]) -> list[str]:
        """Take out and return the sessions to remove."""
        due = [
            session_id
            for session_id, since in self._unbound.items()
            if since is not None and now - since >= self._abandoned_sec and not is_bound(session_id)
        ]
        for session_id in due:
            del self._unbound[session_id]
        return due

    def _add(self, session_id: str, since: float | None) -> None:
        self._unbound.pop(session_id, None)
        self._unbound[session_id] = since
        if len(self._unbound) > MAX_TALKS:
            del self._unbound[next(iter(self._unbound))]


def _age_sec(timestamp: str, wall: datetime) -> float:
    try:
        moment = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return (wall - moment).total_seconds()
