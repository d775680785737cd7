"""`neocode doctor`: says what is wrong with the set-up, why, and what to change."""

from __future__ import annotations

import argparse
import json
import sys

from neocode.cli.options import add_global_options
from neocode.errors import EXIT_FAILED, EXIT_OK

EPILOG = (
    "exit codes: 0 nothing is broken, 1 something is. Nothing is changed, and nothing is started but with --online."
)
COLOURS = {"ok": "32", "warn": "33", "broken": "31;1"}
MAX_LINE = 400


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `doctor`."""
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--online", action="store_true", help="call the provider too (through the gateway)")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings as they come; 1 if one of them is `broken`."""
    from neocode.doctor.check import Situation
    from neocode.doctor.run import all_checks

    found = []
    for check in all_checks(Situation(args.gateway, args.token_file, args.online)):
        found.append(check)
        if not args.json:
            _print(*check)
    broken = sum(check.status == "broken" for check in found)
    if args.json:
        print(json.dumps({"ok": not broken, "checks": [check._asdict() for check in found]}, indent=1))
    else:
        warned = sum(check.status == "warn" for check in found)
        print(f"\n{broken} broken, {warned} to look at, {len(found) - broken - warned} fine")
    return EXIT_FAILED if broken else EXIT_OK


def _print(name: str, status: str, what: str, do: str) -> None:
    import os

    from neocode.render.stream import use_color, writer
    from ptyproxy.sanitize import sanitize_line

    word = f"{status:6}"
    if use_color("auto", sys.stdout, os.environ):
        word = f"\x1b[{COLOURS[status]}m{word}\x1b[m"
    write = writer(sys.stdout)
    write(f"{word}  {name:15} {sanitize_line(what, MAX_LINE)}\n")
    if do:
        write(f"{'':25}-> {sanitize_line(do, MAX_LINE)}\n")
    sys.stdout.flush()
