"""`neocode gateway run|status|stop|restart`: the daemon itself, and looking at it. `run` composes the application."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from neocode.ask.types import AskPort
from neocode.cli.options import add_global_options
from neocode.errors import EXIT_GATEWAY, EXIT_OK
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.endpoint import resolve_endpoint

VERBS = {
    "run": "serve in the foreground (what is started on demand)",
    "status": "say whether a gateway runs, and what it does",
    "stop": "stop it; running questions end with CANCELED",
    "restart": "stop it and start a new one with the environment of here and now",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `gateway` and its verbs; `status` is the default."""
    add_global_options(parser)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=type(parser))
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(verb, help=summary, description=summary, allow_abbrev=False)
        add_global_options(sub)
        if verb == "run":
            sub.add_argument("--listen", metavar="PATH", help="the address to serve at")
        if verb == "status":
            sub.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Run one verb. Raises NeocodeError."""
    if args.verb == "run":
        return asyncio.run(_serve(args))
    if args.verb == "stop":
        return asyncio.run(_stop(args))
    if args.verb == "restart":
        return asyncio.run(_restart(args))
    return asyncio.run(_status(args))


async def _serve(args: argparse.Namespace) -> int:
    """The daemon: what only it needs is imported here."""
    from neocode.ask.service import open_ask_service
    from neocode.config.file import load_config
    from neocode.gateway.daemon import run_daemon
    from neocode.providers.registry import make_provider

    endpoint = resolve_endpoint(args.listen or args.gateway, args.token_file)
    config = load_config().config

    async def make_ask() -> AskPort:
        return await open_ask_service(load_config, make_provider)

    return await run_daemon(
        endpoint.address, endpoint.token_file, make_ask, idle_timeout_sec=config.gateway.idle_timeout_sec
    )


async def _stop(args: argparse.Namespace) -> int:
    from neocode.gateway.lifecycle import stop_daemon

    stopped = await stop_daemon(resolve_endpoint(args.gateway, args.token_file))
    print("gateway stopped" if stopped else "no gateway was running")
    return EXIT_OK


async def _restart(args: argparse.Namespace) -> int:
    from neocode.gateway.lifecycle import ensure_daemon, stop_daemon

    endpoint = resolve_endpoint(args.gateway, args.token_file)
    await stop_daemon(endpoint)
    async with await ensure_daemon(endpoint) as client:
        status = await client.call("gateway.status", {})
    print(f"gateway restarted (pid {status.get('pid')})")
    return EXIT_OK


async def _status(args: argparse.Namespace) -> int:
    """Exit code 0 when it runs, 4 when it does not."""
    endpoint = resolve_endpoint(args.gateway, args.token_file)
    as_json = getattr(args, "json", False)
    try:
        async with await GatewayClient.open(endpoint) as client:
            status = await client.call("gateway.status", {})
    except GatewayAbsent:
        if as_json:
            print(json.dumps({"running": False, "address": endpoint.address}))
        else:
            print(f"no gateway runs at {endpoint.address}; it is started when it is needed", file=sys.stderr)
        return EXIT_GATEWAY
    if as_json:
        print(json.dumps({"running": True, **status}))
    else:
        print(_describe(status))
    return EXIT_OK


def _describe(status: dict[str, Any]) -> str:
    provider = " ".join(str(status.get(key, "")) for key in ("provider", "model")).strip()
    return "\n".join(
        (
            f"gateway {status.get('version')} (pid {status.get('pid')}) at {status.get('address')}",
            f"since {status.get('started_at')}, provider {provider}",
            f"{status.get('connections')} connections, {status.get('asks')} questions, {status.get('shells')} shells",
        )
    )
