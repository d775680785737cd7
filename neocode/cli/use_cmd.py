"""`neocode use`: choose the provider that answers."""

from __future__ import annotations

import argparse
from typing import Any

from neocode.cli.options import add_global_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `use`."""
    parser.add_argument("name", metavar="NAME", help="a provider of yours, or offline")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write the choice; returns 0. Raises UsageError for an unknown name, ConfigError."""
    from neocode.cli.settings import change, key_problem, note, require_known, show
    from neocode.config import OFFLINE

    def mutate(data: Any) -> None:
        providers = data.get("providers") or {}
        if args.name != OFFLINE:
            require_known(providers, args.name)
        data["provider"] = args.name

    entry = change(args, mutate).config.providers.get(args.name)
    if entry is None:
        show("using offline: the built-in rules; nothing leaves this machine")
        return 0
    show(f"using {args.name}: {entry.model} at {entry.base_url}")
    problem = key_problem(entry)
    if problem:
        note(f"warning: {problem}")
    return 0
