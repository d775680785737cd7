"""What the commands that change config.yaml share: write, say what is odd, tell a running gateway.

Invariant: telling the gateway never starts one and never fails the command; the file is the truth.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neocode.config import OFFLINE, Config, LoadedConfig, ProviderConfig
from neocode.errors import NeocodeError, UsageError

if TYPE_CHECKING:
    from neocode.config.yamledit import Mutate  # brings ruamel.yaml

PROVIDER_CALL_SEC = 130.0  # the daemon gives a provider 120 s
RELOAD_SEC = 3.0  # local work; a gateway that takes longer is stuck, and the file is written already


def note(text: str) -> None:
    """One line beside the output, on stderr."""
    from ptyproxy.sanitize import sanitize_line

    print(f"neocode: {sanitize_line(text, 1000)}", file=sys.stderr)


def show(text: str) -> None:
    """Output proper, on stdout, made safe: names and addresses come from a file."""
    from neocode.render.stream import writer
    from ptyproxy.sanitize import sanitize

    writer(sys.stdout)(sanitize(text) + "\n")


def current() -> Config:
    """The configuration as it is; its warnings go to stderr. Raises ConfigError."""
    from neocode.config.file import load_config

    loaded = load_config()
    for warning in loaded.warnings:
        note(f"warning: {warning}")
    return loaded.config


def change(args: argparse.Namespace, mutate: Mutate) -> LoadedConfig:
    """Write a change and have a running gateway read it. Raises ConfigError, and what `mutate` raises."""
    from neocode.config.file import update_config

    loaded = update_config(mutate)
    for warning in loaded.warnings:
        note(f"warning: {warning}")
    problem = _reload(args)
    if problem:
        note(f"warning: the running gateway has not taken the change: {problem}; neocode gateway restart")
    return loaded


def require_known(providers: Mapping[str, Any], name: str) -> None:
    """Raise UsageError, naming the near or the known ones, unless `name` is one of the file's `providers`."""
    if name not in providers:
        raise UsageError(f"no provider is named {name!r}", _known_hint(name, [str(each) for each in providers]))


def _known_hint(name: str, known: list[str]) -> str:
    """`did you mean X?`, or which providers there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, [OFFLINE, *known], n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"known: {', '.join([OFFLINE, *sorted(known)])}; add one with neocode provider add"


def key_problem(entry: ProviderConfig) -> str:
    """Why this shell finds no API key for `entry`, for a warning; empty when it does or needs none."""
    from neocode.errors import ProviderError
    from neocode.providers.openai.keys import read_key

    if entry.api_key_env and not entry.api_key_file:
        found = os.environ.get(entry.api_key_env, "").strip()
        return "" if found else f"the variable {entry.api_key_env} is not set here"
    try:
        read_key(entry)
    except ProviderError as error:
        return error.one_line()
    return ""


def ask_gateway(args: argparse.Namespace, method: str, provider: str) -> dict[str, Any]:
    """What the gateway, started when there is none, answers to `method` about a provider ("" = the one in use).

    It reads the configuration first, so that what was just written counts.

    Raises NeocodeError: what `connect.gateway` raises, RpcError with what the provider or the configuration lacks.
    """
    import asyncio

    from neocode.cli.connect import gateway

    async def ask() -> dict[str, Any]:
        async with gateway(args) as client:
            await client.call("gateway.reloadConfig", {})
            return await client.call(method, {"name": provider}, timeout=PROVIDER_CALL_SEC)

    return asyncio.run(ask())


def _reload(args: argparse.Namespace) -> str:
    """Have a running gateway read the configuration; what went wrong, or empty."""
    import asyncio

    from neocode.gateway.client import GatewayAbsent, GatewayClient
    from neocode.gateway.endpoint import resolve_endpoint

    async def reload() -> None:
        endpoint = resolve_endpoint(args.gateway, args.token_file)
        async with await GatewayClient.open(endpoint, timeout=RELOAD_SEC) as client:
            await client.call("gateway.reloadConfig", {}, timeout=RELOAD_SEC)

    try:
        asyncio.run(reload())
    except GatewayAbsent:
        return ""
    except NeocodeError as error:
        return error.message
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""
