"""The local stream transport of this platform: Unix sockets or Windows named pipes, with the same function names."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from neocode.gateway.transport.windows import (
        Listener,
        Lock,
        acquire_lock,
        connect,
        default_address,
        fit_address,
        listen,
        lock_holder,
        peer_is_ours,
        prepare,
    )
else:
    from neocode.gateway.transport.unix import (
        Listener,
        Lock,
        acquire_lock,
        connect,
        default_address,
        fit_address,
        listen,
        lock_holder,
        peer_is_ours,
        prepare,
    )

__all__ = [
    "Listener",
    "Lock",
    "acquire_lock",
    "connect",
    "default_address",
    "fit_address",
    "listen",
    "lock_holder",
    "peer_is_ours",
    "prepare",
]
