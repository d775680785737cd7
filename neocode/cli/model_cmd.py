"""`neocode model`: list the models that a provider offers, and choose one."""

from __future__ import annotations

import argparse
from typing import Any

from neocode.cli.options import add_global_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `model list` and `model use`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listed = actions.add_parser("list", help="show the models on offer; * marks the one in use", allow_abbrev=False)
    listed.add_argument("--json", action="store_true", help="print a JSON list")
    used = actions.add_parser("use", help="choose a provider's model", allow_abbrev=False)
    used.add_argument("model", metavar="MODEL")
    for action in (listed, used):
        action.add_argument("--provider", default="", metavar="NAME", help="default: the one in use")
    for action in (parser, listed, used):
        add_global_options(action)


def run(args: argparse.Namespace) -> int:
    """Run the chosen action; returns 0. Raises NeocodeError."""
    if args.action == "use":
        _use(args)
    else:
        _list(args)
    return 0


def _list(args: argparse.Namespace) -> None:
    from neocode.cli.settings import ask_gateway, current, note, require_known, show
    from neocode.config import OFFLINE

    config = current()
    if args.provider not in ("", OFFLINE):
        require_known(config.providers, args.provider)
    name = args.provider or config.provider
    models = ask_gateway(args, "gateway.listModels", args.provider).get("models") or []
    if args.json:
        import msgspec

        print(msgspec.json.encode(models).decode())
        return
    if not models:
        note(f"{name} lists no models; name one with neocode model use MODEL")
    entry = config.providers.get(name)
    for model in models:
        show(f"{'*' if entry is not None and entry.model == model else ' '} {model}")


def _use(args: argparse.Namespace) -> None:
    from neocode.cli.settings import change, require_known, show
    from neocode.config import OFFLINE
    from neocode.errors import UsageError

    name = ""

    def mutate(data: Any) -> None:
        nonlocal name
        name = args.provider or str(data.get("provider") or OFFLINE)
        if name == OFFLINE:
            raise UsageError("the offline rules have no model to choose", "neocode use NAME, or --provider NAME")
        providers = data.get("providers") or {}
        require_known(providers, name)
        providers[name]["model"] = args.model

    change(args, mutate)
    show(f"{name} answers with {args.model}")
