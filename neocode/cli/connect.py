"""How a command reaches the gateway: address from the flags, a daemon started when there is none."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from neocode.gateway.client import GatewayClient
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.lifecycle import ensure_daemon


@asynccontextmanager
async def gateway(args: argparse.Namespace) -> AsyncIterator[GatewayClient]:
    """A connected client for `args.gateway` and `args.token_file`; its notes go to stderr, once.

    Raises:
        GatewayUnreachable: no daemon accepts and none could be started.
        ConfigError: the token file or the socket's directory cannot be used.
    """
    endpoint = resolve_endpoint(args.gateway, args.token_file)
    client = await ensure_daemon(endpoint)
    try:
        for note in client.notes:
            print(f"neocode: {note}", file=sys.stderr)
        yield client
    finally:
        await client.close()
