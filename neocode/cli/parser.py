"""The command line's grammar: the chosen command's parser filled in, the others as names.

Invariants: only the chosen command's module is imported; a wrong command line is one line and exit code 2.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

from neocode import __version__
from neocode.cli.options import GLOBAL_DEFAULTS, add_global_options
from neocode.errors import EXIT_USAGE

# command -> (module, what `neocode --help` says of it)
COMMANDS: dict[str, tuple[str, str]] = {
    "shell": ("shell_cmd", "your own shell, with diagnosis on the spot"),
    "diag": ("diag_cmd", "explain an error log, or what just failed in a running neocode shell"),
    "gateway": ("gateway_cmd", "run, stop or look at the local gateway"),
    "provider": ("provider_cmd", "add, list, test or remove model endpoints"),
    "use": ("use_cmd", "choose the provider that answers"),
    "model": ("model_cmd", "list the models that a provider offers, or choose one"),
    "config": ("config_cmd", "read or change the configuration"),
    "doctor": ("doctor_cmd", "say what is wrong with the set-up and what to change"),
}


class Parser(argparse.ArgumentParser):
    """argparse, with errors as one line that names the help."""

    def error(self, message: str) -> NoReturn:
        """One line on stderr, exit code 2."""
        self.exit(EXIT_USAGE, f"neocode: {message}; see `{self.prog} --help`\n")


def build_parser(chosen: str | None) -> tuple[argparse.ArgumentParser, ModuleType | None]:
    """The parser with the chosen command filled in and the others as names, and the chosen one's module."""
    parser = Parser(prog="neocode", description="The AI-aware terminal.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"neocode {__version__}")
    add_global_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    module: ModuleType | None = None
    for name, (module_name, summary) in COMMANDS.items():
        if name == chosen:
            module = importlib.import_module(f"neocode.cli.{module_name}")
            module.add_arguments(commands.add_parser(name, help=summary, allow_abbrev=False))
        else:
            commands.add_parser(name, help=summary, add_help=False)
    return parser, module


def chosen_command(argv: list[str]) -> str | None:
    """The first word that is a command's name, skipping options; values of global options are skipped too."""
    words = iter(argv)
    for word in words:
        if word in ("--gateway", "--token-file"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None


def parse(argv: list[str]) -> tuple[Callable[[argparse.Namespace], int] | None, argparse.Namespace]:
    """The chosen command's `run` and its arguments; without a command the help is printed and there is no `run`.

    What follows the first `--` of `neocode shell` is the shell's own: `args.rest`, None without `--`.
    """
    chosen = chosen_command(argv)
    rest = None
    if chosen == "shell" and "--" in argv:
        at = argv.index("--")
        argv, rest = argv[:at], argv[at + 1 :]
    parser, module = build_parser(chosen)
    args = parser.parse_args(argv, argparse.Namespace(**GLOBAL_DEFAULTS, rest=rest))
    if module is None:
        parser.print_help()
        return None, args
    run: Callable[[argparse.Namespace], int] = module.run
    if args.verbose:
        from neocode.cli.verbose import explained

        run = explained(run)
    return run, args
