"""The gateway: where it should be, whether it runs and answers, and what its log says last. None is started."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from typing import Any

from neocode import __version__, paths
from neocode.doctor.check import Check, Situation
from neocode.errors import NeocodeError

OPEN_SEC = 3.0
CALL_SEC = 3.0
MAX_LOG_TAIL = 64 * 1024
RESTART = "neocode gateway restart"
_PROBLEM = re.compile(r"^\S+ \S+ (?:WARNING|ERROR|CRITICAL) ")


def gateway(situation: Situation) -> Iterator[Check]:
    """Address, whether it answers, version, last problem in the log."""
    from neocode.gateway.endpoint import resolve_endpoint

    endpoint = resolve_endpoint(situation.gateway, situation.token_file)
    if endpoint.note:
        yield Check("gateway address", "warn", endpoint.note, "")
    yield from _reachable(endpoint)
    yield _log()


def _reachable(endpoint: Any) -> Iterator[Check]:
    from neocode.gateway import transport
    from neocode.gateway.client import GatewayAbsent

    try:
        status = status_of(endpoint)
    except GatewayAbsent:
        holder = transport.lock_holder(endpoint.address)
        if holder is not None:
            yield Check("gateway", "broken", f"process {holder} holds {endpoint.address} but does not listen", RESTART)
        else:
            yield Check("gateway", "ok", f"none runs at {endpoint.address}; it is started when it is needed")
        return
    except NeocodeError as error:
        yield Check("gateway", "broken", error.message, error.hint or RESTART)
        return
    except OSError as error:
        yield Check("gateway", "broken", f"{endpoint.address}: {error.strerror or error}", RESTART)
        return
    version = str(status.get("version", ""))
    what = f"version {version or '?'} answers at {endpoint.address} (pid {status.get('pid', '?')})"
    if version != __version__:
        yield Check("gateway", "warn", f"{what}; this is {__version__}", RESTART)
    else:
        yield Check("gateway", "ok", f"{what}, {status.get('shells', '?')} shells")


def status_of(endpoint: Any) -> dict[str, Any]:
    """What a running gateway says of itself. Raises NeocodeError (GatewayAbsent: none runs), OSError."""
    from neocode.gateway.client import GatewayClient
    from neocode.gateway.protocol import RpcError

    async def ask() -> dict[str, Any]:
        async with await GatewayClient.open(endpoint, timeout=OPEN_SEC) as client:
            try:
                return await client.call("gateway.status", {}, timeout=CALL_SEC)
            except RpcError:  # another program's gateway does not have it
                return {"version": client.server_version}

    return asyncio.run(ask())


def _log() -> Check:
    path = paths.log_dir() / "gateway.log"
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_LOG_TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return Check("gateway log", "ok", "there is none yet")
    except OSError as error:
        return Check("gateway log", "warn", f"{path} cannot be read: {error.strerror}", "check its owner and mode")
    problem = next((line for line in reversed(lines) if _PROBLEM.match(line)), "")
    if problem:
        return Check("gateway log", "warn", f"its last problem: {problem[:200]}", f"more of it in {path}")
    return Check("gateway log", "ok", f"no problem in {path}")
