"""The gateway's limits in one place. Invariant: every wait and every queue of the server has one of these."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Seconds, counts and bytes; the defaults are the protocol's, tests pass shorter ones."""

    silence_sec: float = 30.0  # three missed pings
    auth_sec: float = 5.0
    connections: int = 128
    queued_messages: int = 256
    queued_bytes: int = 8 << 20
    bindings: int = 128  # of one connection
    binding_ttl_sec: float = 900.0
    sweep_sec: float = 30.0
    orphan_sec: float = 2.0  # an ask that nobody listens to may cost money no longer than this
    abandoned_sec: float = 900.0  # then a throw-away session whose client never came back is removed
    call_sec: float = 10.0  # delete, cancel, reload: local work
    provider_call_sec: float = 120.0  # testProvider, listModels: connect 10 + first byte 60 + one retry
    flush_sec: float = 2.0  # at shutdown, for peers that still read
