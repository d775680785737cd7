"""`neocode diag`: explain a log given here, or ask a running neocode shell to explain what its screen shows."""

from __future__ import annotations

import argparse

from neocode.cli.options import add_global_options
from neocode.errors import UsageError

AUTO_ACTIONS = {"on": "auto_on", "off": "auto_off", "status": "auto_status"}

EPILOG = """\
Which log: --error-log, else --file, else standard input when something is piped in; without any of them the
running neocode shell diagnoses its last command.
exit codes: 0 answered, 1 diagnosis failed, 2 usage, 3 no, several or a busy shell, 4 gateway unreachable,
130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `diag` and its options."""
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", metavar="auto on|off|status", help="switch automatic diagnosis")
    parser.add_argument("--error-log", metavar="TEXT", help="the error text itself")
    parser.add_argument("--file", metavar="PATH", help="a file with the log, of any size")
    parser.add_argument("--json", action="store_true", help="print the answer as one JSON object")
    parser.add_argument("--no-redact", action="store_true", help="send secrets as they are")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    parser.add_argument("-i", "--interactive", action="store_true", help="enter the interactive mode of the shell")
    parser.add_argument("--session", metavar="ID", default="", help="which running shell is meant")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run `neocode diag`; see the table of exit codes in the help."""
    action = shell_action(args)
    stream = None
    if action is None:
        from neocode.cli.diag_input import open_log

        stream = open_log(args.error_log, args.file)
    if stream is None:
        from neocode.cli.diag_trigger import trigger

        return trigger(args, action or "diagnose")
    from neocode.cli.diag_direct import diagnose

    with stream:
        return diagnose(args, stream)


def shell_action(args: argparse.Namespace) -> str | None:
    """The action that `-i` or `auto ...` asks for, None when a log decides. Raises UsageError on a mixture."""
    words = args.words
    given = [name for name in ("error_log", "file") if getattr(args, name) is not None]
    if args.interactive and (words or given):
        raise UsageError("-i goes alone", "neocode diag -i [--session ID]")
    if words:
        if words[0] != "auto" or len(words) != 2 or words[1] not in AUTO_ACTIONS:
            wrong = " ".join(words)
            raise UsageError(f"'{wrong}' is not understood", "neocode diag auto on|off|status, or --error-log TEXT")
        if given:
            raise UsageError("auto takes no log", "neocode diag auto on|off|status")
        return AUTO_ACTIONS[words[1]]
    return "idm_enter" if args.interactive else None
