"""`neocode shell`: the user's own shell, wrapped. Invariant: nobody is left without a shell by a fault of ours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from neocode.cli.options import add_global_options
from neocode.errors import NeocodeError, UsageError

INIT_KINDS = ("bash", "zsh", "fish", "pwsh", "cmd")
SESSION_ENV = "NEOCODE_SHELL_SESSION"

EPILOG = """\
Arguments after -- go to the shell: neocode shell -- -c 'make'
To source the integration yourself, put this into your start-up file; it does nothing outside a neocode shell:
  eval "$(neocode shell --init bash)" """


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare `shell` and its options."""
    parser = commands.add_parser(
        "shell",
        help="your own shell, with diagnosis on the spot",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENTS", help="arguments for the shell")
    parser.add_argument("--shell", metavar="PATH", help="which shell to run (default: yours)")
    parser.add_argument("--login", action="store_true", help="run it as a login shell")
    parser.add_argument("--no-integration", action="store_true", help="pass everything through, add nothing")
    parser.add_argument("--no-auto", action="store_true", help="diagnose only when asked (Ctrl+G, neocode diag)")
    parser.add_argument("--nested", action="store_true", help="run inside another neocode shell all the same")
    parser.add_argument("--init", metavar="SHELL", choices=INIT_KINDS, help="print the integration script and exit")
    add_global_options(parser)


def run(args: argparse.Namespace) -> int:
    """Run the shell; its exit status is ours. Raises NeocodeError before anything was started."""
    if args.init:
        from ptyproxy.integration.plan import script

        print(script(args.init), end="")
        return 0
    refuse_nesting(os.environ, nested=args.nested)
    shell = args.shell or default_shell()
    from ptyproxy.platform.base import SpawnError
    from ptyproxy.proxy import NotStarted, Options
    from ptyproxy.proxy import run as run_proxy

    options = Options(
        shell=resolve_shell(shell),
        arguments=tuple(args.arguments),
        login=args.login,
        integrate=not args.no_integration,
        auto=not args.no_auto,
    )
    try:
        from neocode.shell.settings import options_from_config, sessions_dir

        options = options_from_config(options)
        return run_proxy(options, sessions_dir(), lambda: _assistant(args))
    except SpawnError as error:
        print(f"neocode: cannot run the shell: {error}", file=sys.stderr)
        return error.exit_code
    except (NotStarted, NeocodeError) as error:
        return run_plain(options.shell, options.arguments, login=args.login, reason=str(error))


def _assistant(args: argparse.Namespace) -> object:
    from neocode.gateway.endpoint import resolve_endpoint
    from neocode.shell.assistant import ShellAssistant

    return ShellAssistant(resolve_endpoint(args.gateway, args.token_file))


def run_plain(shell: str, arguments: tuple[str, ...], *, login: bool, reason: str) -> int:
    """Become the user's shell without us. Returns only when that fails too."""
    print(f"neocode: {reason}; here is your shell without neocode", file=sys.stderr, flush=True)
    name = ("-" if login else "") + os.path.basename(shell)
    try:
        os.execv(shell, [name, *arguments])
    except OSError as error:
        print(f"neocode: cannot run {shell}: {error.strerror}", file=sys.stderr)
        return 126 if isinstance(error, PermissionError) else 127


def refuse_nesting(environ: Mapping[str, str], *, nested: bool) -> None:
    """Raise UsageError inside a neocode shell that is alive and our ancestor."""
    session = environ.get(SESSION_ENV, "")
    parts = session.split("-")
    if nested or len(parts) < 2 or not parts[1].isdigit():
        return
    if int(parts[1]) in _ancestors():
        raise UsageError(f"this is a neocode shell already ({session})", "use --nested to start another inside it")


def _ancestors() -> set[int]:
    """The ids of our parent and its parents."""
    import psutil

    try:
        return {process.pid for process in psutil.Process().parents()}
    except psutil.Error:
        return set()


def default_shell() -> str:
    """The user's own shell: `$SHELL`, else the password database's, else /bin/sh."""
    if sys.platform == "win32":
        return os.environ.get("COMSPEC", "cmd.exe")
    import pwd

    shell = os.environ.get("SHELL", "")
    if not shell or not os.access(shell, os.X_OK):
        try:
            shell = pwd.getpwuid(os.getuid()).pw_shell
        except KeyError:
            shell = ""
    return shell or "/bin/sh"


def resolve_shell(shell: str) -> str:
    """The path of a shell named by path or by name; a name that is not found stays as it is and fails to spawn."""
    import shutil

    if os.sep in shell:
        return str(Path(shell).absolute())
    return shutil.which(shell) or shell
