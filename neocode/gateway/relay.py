"""Who listens to which session, and who may order a shell about. No I/O; time comes from a clock that is passed in.

Invariants: a binding lives 15 minutes unless refreshed and dies with its connection; a peer holds at most 128; what
has expired counts as gone even before it is swept; a peer that ever was a shell stays one for the access check.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from neocode.gateway.limits import Limits
from neocode.gateway.protocol import RpcError

PeerT = TypeVar("PeerT", bound=Hashable)


@dataclass(slots=True)
class Binding(Generic[PeerT]):
    """One peer's subscription to a session (`run_id` "" is all its runs). `order` grows with every bind."""

    peer: PeerT
    session_id: str
    run_id: str
    role: str
    channel: str
    state: dict[str, Any]
    expires: float
    order: int
    diagnose_sent: float | None = None
    implicit: bool = False


@dataclass(slots=True)
class _PeerRecord(Generic[PeerT]):
    bindings: dict[tuple[str, str], Binding[PeerT]] = field(default_factory=dict)
    ever_shell: bool = False


class Relay(Generic[PeerT]):
    """The table of bindings. `on_unbound` hears of a session that has just lost its last binding."""

    def __init__(self, limits: Limits, clock: Callable[[], float], on_unbound: Callable[[str], None]) -> None:
        self._limits = limits
        self._clock = clock
        self._on_unbound = on_unbound
        self._peers: dict[PeerT, _PeerRecord[PeerT]] = {}
        self._sessions: dict[str, dict[PeerT, int]] = {}  # session -> peer -> number of bindings
        self._order = count(1)

    def bind(
        self,
        peer: PeerT,
        session_id: str,
        run_id: str = "",
        *,
        role: str = "",
        channel: str = "all",
        state: dict[str, Any] | None = None,
    ) -> Binding[PeerT]:
        """Bind or re-bind explicitly. A re-bind in the same role without `state` keeps the published one.

        Raises:
            RpcError: the peer holds its 128 already.
        """
        record = self._peers.setdefault(peer, _PeerRecord())
        old = record.bindings.get((session_id, run_id))
        if old is None:
            self._make_room(peer, record)
        binding = old or self._new(peer, session_id, run_id)
        if state is not None:
            binding.state = state
            binding.diagnose_sent = None
        elif binding.role != role:
            binding.state = {}
        binding.role, binding.channel, binding.implicit = role, channel, False
        binding.order = next(self._order)
        binding.expires = self._clock() + self._limits.binding_ttl_sec
        record.ever_shell = record.ever_shell or role == "shell"
        return binding

    def bind_for_ask(self, peer: PeerT, session_id: str) -> None:
        """Let `peer` hear `session_id`; a binding it already holds is refreshed, never changed.

        Raises:
            RpcError: no room, and no older implicit binding to give up.
        """
        record = self._peers.setdefault(peer, _PeerRecord())
        held = [binding for binding in record.bindings.values() if binding.session_id == session_id]
        for binding in held:
            binding.expires = self._clock() + self._limits.binding_ttl_sec
        if not any(binding.run_id == "" for binding in held):
            self._make_room(peer, record)
            self._new(peer, session_id, "").implicit = True

    def reserve(self, peer: PeerT) -> None:
        """Make sure one more binding fits, as `bind_for_ask` will need. Raises RpcError when it does not."""
        self._make_room(peer, self._peers.setdefault(peer, _PeerRecord()))

    def touch(self, peer: PeerT) -> None:
        """Refresh all live bindings of `peer`."""
        now = self._clock()
        for binding in self._peers.get(peer, _PeerRecord[PeerT]()).bindings.values():
            if binding.expires > now:
                binding.expires = now + self._limits.binding_ttl_sec

    def forget(self, peer: PeerT, session_id: str) -> None:
        """Drop the role-less bindings of `peer` to a session that was deleted."""
        record = self._peers.get(peer)
        for binding in list(record.bindings.values()) if record else []:
            if binding.session_id == session_id and not binding.role:
                self._remove(binding)

    def drop(self, peer: PeerT) -> None:
        """Forget a peer whose connection is gone."""
        record = self._peers.get(peer)
        for binding in list(record.bindings.values()) if record else []:
            self._remove(binding)
        self._peers.pop(peer, None)

    def sweep(self) -> None:
        """Remove what has expired."""
        now = self._clock()
        for record in list(self._peers.values()):
            for binding in list(record.bindings.values()):
                if binding.expires <= now:
                    self._remove(binding)

    def subscribers(self, session_id: str, run_id: str) -> list[PeerT]:
        """The peers that hear events of `run_id` in exactly this session, each once."""
        return [
            peer
            for peer in self._sessions.get(session_id, ())
            if self._live(peer, session_id, "") or self._live(peer, session_id, run_id)
        ]

    def is_bound(self, session_id: str) -> bool:
        """True when any live binding names the session."""
        now = self._clock()
        return any(
            binding.session_id == session_id and binding.expires > now
            for peer in self._sessions.get(session_id, ())
            for binding in self._peers[peer].bindings.values()
        )

    def shells(self) -> list[Binding[PeerT]]:
        """The bound shells, one per session: the newest binding wins over one whose connection is dying."""
        newest: dict[str, Binding[PeerT]] = {}
        for binding in self._all():
            known = newest.get(binding.session_id)
            if binding.role == "shell" and (known is None or known.order < binding.order):
                newest[binding.session_id] = binding
        return sorted(newest.values(), key=lambda binding: binding.session_id)

    def caller(self, peer: PeerT) -> Binding[PeerT] | None:
        """The binding that lets `peer` trigger actions: `cli` before `tui`, the newest of these; None for a shell."""
        record = self._peers.get(peer)
        if record is None or record.ever_shell:
            return None
        now = self._clock()
        rights = [b for b in record.bindings.values() if b.role in ("cli", "tui") and b.expires > now]
        return max(rights, key=lambda binding: (binding.role == "cli", binding.order), default=None)

    def _all(self) -> Iterator[Binding[PeerT]]:
        now = self._clock()
        for record in self._peers.values():
            for binding in record.bindings.values():
                if binding.expires > now:
                    yield binding

    def _live(self, peer: PeerT, session_id: str, run_id: str) -> bool:
        binding = self._peers[peer].bindings.get((session_id, run_id))
        return binding is not None and binding.expires > self._clock()

    def _new(self, peer: PeerT, session_id: str, run_id: str) -> Binding[PeerT]:
        expires = self._clock() + self._limits.binding_ttl_sec
        binding = Binding(peer, session_id, run_id, "", "all", {}, expires, next(self._order))
        self._peers[peer].bindings[session_id, run_id] = binding
        peers = self._sessions.setdefault(session_id, {})
        peers[peer] = peers.get(peer, 0) + 1
        return binding

    def _make_room(self, peer: PeerT, record: _PeerRecord[PeerT]) -> None:
        """Old talks of a long-lived shell give way to new ones; what a client bound itself never does."""
        if len(record.bindings) < self._limits.bindings:
            return
        given_up = min(
            (binding for binding in record.bindings.values() if binding.implicit),
            key=lambda binding: binding.order,
            default=None,
        )
        if given_up is None:
            raise RpcError("invalid_action", f"too many bindings: {self._limits.bindings} per connection")
        self._remove(given_up)

    def _remove(self, binding: Binding[PeerT]) -> None:
        peer, session_id = binding.peer, binding.session_id
        del self._peers[peer].bindings[session_id, binding.run_id]
        peers = self._sessions[session_id]
        peers[peer] -= 1
        if not peers[peer]:
            del peers[peer]
        if not peers:
            del self._sessions[session_id]
            self._on_unbound(session_id)
