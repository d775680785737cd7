"""`neocode shell`: the user's own shell, wrapped. Invariant: nobody is left without a shell by a fault of ours.

The command line is read twice over: by hand where it is plain, because argparse costs the first prompt 10 ms, and by
argparse for help, `--init` and whatever is wrong with it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from neocode.errors import UsageError

if TYPE_CHECKING:
    import argparse

INIT_KINDS = ("bash", "zsh", "fish", "pwsh", "cmd")

EPILOG = """\
What follows -- goes to the shell as it is:
  neocode shell --shell zsh -- -c 'make'
To source the integration yourself, put this into your start-up file; it does nothing outside a neocode shell:
  eval "$(neocode shell --init bash)"
exit codes: those of the shell; 127 and 126 when it cannot be run, 2 usage"""


class Arguments(NamedTuple):
    """The command line. `shell` None: the user's own; `rest`: what goes to the shell."""

    shell: str | None = None
    login: bool = False
    no_integration: bool = False
    no_auto: bool = False
    nested: bool = False
    gateway: str | None = None
    token_file: str | None = None
    rest: tuple[str, ...] = ()


_FLAGS = {name: name[2:].replace("-", "_") for name in ("--login", "--no-integration", "--no-auto", "--nested")}
_VALUES = {"--shell": "shell", "--gateway": "gateway", "--token-file": "token_file"}


def read_arguments(words: list[str]) -> Arguments | None:
    """A plain command line (without `shell`); None when argparse has to look at it."""
    known: dict[str, object] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            return Arguments(**known, rest=tuple(words[position:]))  # type: ignore[arg-type]
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            known[_FLAGS[word]] = True
        elif name in _VALUES and equals:
            known[_VALUES[name]] = value
        elif word in _VALUES and position < len(words) and not words[position].startswith("-"):
            known[_VALUES[word]] = words[position]
            position += 1
        else:
            return None
    return Arguments(**known)  # type: ignore[arg-type]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `shell` and its options."""
    import argparse

    from neocode.cli.options import add_global_options

    parser.usage = "neocode shell [OPTIONS] [-- ARGUMENT...]"
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--shell", metavar="PATH", help="which shell to run (default: yours)")
    parser.add_argument("--login", action="store_true", help="run it as a login shell")
    parser.add_argument("--no-integration", action="store_true", help="pass everything through, add nothing")
    parser.add_argument("--no-auto", action="store_true", help="diagnose only when asked (Ctrl+G, neocode diag)")
    parser.add_argument("--nested", action="store_true", help="run inside another neocode shell all the same")
    parser.add_argument("--init", metavar="SHELL", choices=INIT_KINDS, help="print the integration script and exit")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """What argparse has read. Raises NeocodeError before anything was started."""
    if args.words:
        raise UsageError(
            f"'{' '.join(args.words)}' is not understood",
            "which shell: --shell PATH; arguments for it go after --",
        )
    if args.init:
        return _print_script(args.init)
    known = {name: getattr(args, name) for name in Arguments._fields if name != "rest"}
    return start(Arguments(**known, rest=tuple(args.rest or ())))


def _print_script(kind: str) -> int:
    """The script as it is: line ends of the platform would break it."""
    from ptyproxy.integration.plan import script

    try:
        text = script(kind)
    except KeyError:
        raise UsageError(f"{kind} has no script to be sourced", "neocode shell sets everything up by itself") from None
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    return 0


def start(args: Arguments) -> int:
    """Run the shell; its exit status is ours. Raises UsageError before anything was started."""
    from neocode.shell.launch import launch

    return launch(args)
