"""`neocode config`: read or change single settings, or say where they are."""

from __future__ import annotations

import argparse
from typing import Any

from neocode.cli.options import add_global_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `config get`, `set` and `path`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    got = actions.add_parser("get", help="print a setting, or all that are in effect", allow_abbrev=False)
    got.add_argument("key", nargs="?", default="", metavar="KEY", help="for example context.ask.retain_turns")
    put = actions.add_parser("set", help="change a setting", allow_abbrev=False)
    put.add_argument("key", metavar="KEY")
    put.add_argument("value", metavar="VALUE", help='a list is written as JSON: ["a", "b"]')
    where = actions.add_parser("path", help="print the path of the configuration file", allow_abbrev=False)
    for action in (parser, got, put, where):
        add_global_options(action)


def run(args: argparse.Namespace) -> int:
    """Run the chosen action; returns 0. Raises NeocodeError."""
    if args.action == "path":
        from neocode import paths

        print(paths.config_file())
    elif args.action == "get":
        _get(args)
    else:
        _set(args)
    return 0


def _get(args: argparse.Namespace) -> None:
    from neocode.cli.settings import current, show
    from neocode.config.keys import plain, resolve, value_at

    config = current()
    value = plain(value_at(config, resolve(args.key, config))) if args.key else plain(config)
    if isinstance(value, (dict, list)):
        from neocode.config.yamltext import dump

        show(dump(value).rstrip("\n"))
    else:
        show(str(value))


def _set(args: argparse.Namespace) -> None:
    from neocode.cli.settings import change, show
    from neocode.config import Config
    from neocode.config.file import load_config
    from neocode.config.keys import parse_value, plain, put_value, resolve, value_at

    # only a provider's key needs the file: a file with a wrong value must be mendable from here
    key = resolve(args.key, load_config().config if args.key.startswith("providers.") else Config())
    value = parse_value(key, args.value)

    def mutate(data: Any) -> None:
        put_value(data, key, value)

    config = change(args, mutate).config
    show(f"{args.key} = {plain(value_at(config, key))}")
