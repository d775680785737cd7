"""`neocode provider`: add, list, test and remove model endpoints.

Invariant: a key is never taken from the command line or shown; only where it is kept.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from neocode.cli.options import add_global_options
from neocode.errors import ConfigError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `provider` and its four commands."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_add(actions)
    listed = actions.add_parser("list", help="show the providers; * marks the one in use", allow_abbrev=False)
    listed.add_argument("--json", action="store_true", help="print a JSON list")
    tested = actions.add_parser(
        "test", help="call a provider from the gateway and say what is wrong", allow_abbrev=False
    )
    tested.add_argument("name", nargs="?", default="", metavar="NAME", help="default: the one in use")
    removed = actions.add_parser("remove", help="forget a provider", allow_abbrev=False)
    removed.add_argument("name", metavar="NAME")
    for action in (parser, listed, tested, removed):
        add_global_options(action)


def _add_add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("add", help="add an OpenAI-compatible endpoint", allow_abbrev=False)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--kind", choices=("openai",), default="openai", help="default: openai (any compatible one)")
    parser.add_argument("--base-url", required=True, metavar="URL", help="for example http://127.0.0.1:11434/v1")
    parser.add_argument("--model", required=True, metavar="MODEL")
    key = parser.add_mutually_exclusive_group()
    key.add_argument("--api-key-env", default="", metavar="NAME", help="the variable that holds the key")
    key.add_argument("--api-key-file", default="", metavar="PATH", help="the 0600 file that holds the key")
    key.add_argument("--api-key", default="", help=argparse.SUPPRESS)  # refused, with what to do instead
    parser.add_argument("--force", action="store_true", help="replace an existing provider of that name")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the chosen action; returns 0. Raises NeocodeError."""
    actions = {"add": _add, "list": _list, "test": _test, "remove": _remove}
    actions[args.action](args)
    return 0


def _add(args: argparse.Namespace) -> None:
    from neocode.cli.settings import change, key_problem, note, show
    from neocode.providers.openai.endpoint import parse_endpoint

    entry = _entry(args)

    def mutate(data: Any) -> None:
        providers = data.get("providers") or {}
        if args.name in providers and not args.force:
            raise UsageError(f"there is a provider {args.name} already", "--force replaces it")
        kept = {key: value for key, value in (providers.get(args.name) or {}).items() if not key.startswith("api_key_")}
        data["providers"] = {**providers, args.name: {**kept, **entry}}

    added = change(args, mutate).config.providers[args.name]
    show(f"added {args.name}: {added.model} at {added.base_url}")
    if added.base_url.count("/") == 2:
        note(f"hint: the address of such an endpoint mostly ends in /v1: {added.base_url}/v1")
    if (added.api_key_env or added.api_key_file) and parse_endpoint(added.base_url).in_the_clear:
        note("warning: plain http to another machine; the key will not be sent there, use https")
    problem = key_problem(added)
    if problem:
        note(f"warning: {problem}")
    show(f"next: neocode use {args.name}; neocode provider test {args.name}")


def _entry(args: argparse.Namespace) -> dict[str, str]:
    """The new entry as it goes into the file. Raises ConfigError for a value that cannot work."""
    from neocode.config import ProviderConfig
    from neocode.config.check import KEY_HINT, check_provider, name_problem

    problem = name_problem(args.name)
    if problem:
        raise ConfigError(problem)
    if args.api_key:
        raise ConfigError("a key on the command line ends up in the shell's history", KEY_HINT)
    entry = {"kind": args.kind, "base_url": args.base_url.rstrip("/"), "model": args.model}
    if args.api_key_env:
        entry["api_key_env"] = args.api_key_env
    if args.api_key_file:
        entry["api_key_file"] = args.api_key_file
    check_provider(ProviderConfig(**entry), args.name)
    if args.api_key_file:  # the gateway has another working directory
        entry["api_key_file"] = os.path.abspath(os.path.expanduser(args.api_key_file))
    return entry


def _list(args: argparse.Namespace) -> None:
    from neocode.cli.settings import current, key_problem, show

    config = current()
    rows: list[dict[str, Any]] = [_row("offline", "offline", "rules", "", "none", "", True, config.provider)]
    for name, entry in config.providers.items():
        source = "file" if entry.api_key_file else "env" if entry.api_key_env else "none"
        where = entry.api_key_file or entry.api_key_env
        found = not key_problem(entry)
        rows.append(_row(name, entry.kind, entry.model, entry.base_url, source, where, found, config.provider))
    if args.json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
        return
    cells = [_cells(row) for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        show("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(
    name: str, kind: str, model: str, base_url: str, source: str, where: str, found: bool, in_use: str
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "model": model,
        "base_url": base_url,
        "key_source": source,
        "key_name": where,
        "key_found": found,
        "in_use": name == in_use,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    key = "no key"
    if row["key_source"] != "none":
        key = f"{row['key_source']} {row['key_name']} ({'set' if row['key_found'] else 'missing'})"
    mark = "*" if row["in_use"] else " "
    return [f"{mark} {row['name']}", row["kind"], row["model"], row["base_url"] or "-", key]


def _test(args: argparse.Namespace) -> None:
    from neocode.cli.settings import ask_gateway, current, require_known, show
    from neocode.config import OFFLINE

    if args.name not in ("", OFFLINE):
        require_known(current().providers, args.name)
    answer = ask_gateway(args, "gateway.testProvider", args.name)
    show(f"{answer.get('provider', args.name)}: {answer.get('message', '')}")


def _remove(args: argparse.Namespace) -> None:
    from neocode.cli.settings import change, require_known, show
    from neocode.config import OFFLINE

    was_used = False

    def mutate(data: Any) -> None:
        nonlocal was_used
        providers = data.get("providers") or {}
        if args.name == OFFLINE:
            raise UsageError("offline is built in and cannot be removed", "neocode use NAME chooses another")
        require_known(providers, args.name)
        was_used = data.get("provider") == args.name
        del providers[args.name]
        if not providers:
            del data["providers"]
        if was_used:
            data["provider"] = OFFLINE

    change(args, mutate)
    show(f"removed {args.name}" + ("; it was in use, now the offline rules answer" if was_used else ""))
