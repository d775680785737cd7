"""Options that every command takes, in front of the command or behind it.

They have no defaults of their own (SUPPRESS): the namespace starts with `GLOBAL_DEFAULTS`, so that an option given
in front is not overwritten by the sub-parser's default.
"""

from __future__ import annotations

import argparse

GLOBAL_DEFAULTS: dict[str, object] = {"gateway": None, "token_file": None, "verbose": False}


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add --gateway, --token-file and --verbose to `parser`."""
    group = parser.add_argument_group("common options")
    unset = argparse.SUPPRESS
    group.add_argument("--gateway", metavar="PATH", default=unset, help="the gateway's address")
    group.add_argument("--token-file", metavar="PATH", default=unset, help="the gateway's token file")
    group.add_argument("--verbose", action="store_true", default=unset, help="say where an error comes from")
