"""Starts the wrapped shell, or the plain one when something of ours is broken.

Invariants: a shell that cannot be run is said in one line, and nothing else is started in its place; any other fault
before the start ends in the user's own shell without us. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from neocode.errors import NeocodeError, UsageError
from neocode.shell.default_shell import default_shell

if TYPE_CHECKING:
    from neocode.cli.shell_cmd import Arguments
    from ptyproxy.ports import Assistant

SESSION_ENV = "NEOCODE_SHELL_SESSION"
DIRECTORY_ENV = "NEOCODE_SESSION_DIR"


def launch(args: Arguments) -> int:
    """Run the shell to its end; returns its exit status, 127 or 126 when it cannot be run. Raises UsageError."""
    refuse_nesting(os.environ, nested=args.nested)
    shell = resolve_shell(default_shell() if args.shell is None else args.shell)
    try:
        wrapped = _prepared(shell, args)
    except NeocodeError as error:
        return run_plain(shell, args, error.one_line())
    except Exception as error:  # whatever it is: nobody is left without a shell
        return run_plain(shell, args, f"internal error ({type(error).__name__}: {error})")
    return wrapped()


def _prepared(shell: str, args: Arguments) -> Callable[[], int]:
    """What runs the wrapped shell, with everything that can fail before it done."""
    from neocode import userdir
    from neocode.shell.settings import options_from_config, sessions_dir
    from ptyproxy.options import Options
    from ptyproxy.platform.base import SpawnError
    from ptyproxy.proxy import NotStarted, run

    if sys.platform == "win32":
        from conpty.version import unsupported, windows_build
        from ptyproxy.platform.windows import check_program
    else:
        from ptyproxy.platform.unix import check_program

    def cannot_run(error: SpawnError) -> int:
        print(f"neocode: cannot run the shell: {error}", file=sys.stderr)
        return error.exit_code

    try:
        check_program(shell)
    except SpawnError as error:
        code = cannot_run(error)
        return lambda: code
    if sys.platform == "win32" and (too_old := unsupported(windows_build())):
        raise NeocodeError(too_old)
    options = Options(
        shell=shell,
        arguments=args.rest,
        login=args.login,
        integrate=not args.no_integration,
        auto=not args.no_auto,
        mode_history=os.path.join(userdir.locate(), userdir.STATE, "ai-history"),
    )
    options = options_from_config(options)
    base = sessions_dir()

    def wrapped() -> int:
        try:
            return run(options, base, _assistant_for(args))
        except SpawnError as error:
            return cannot_run(error)
        except NotStarted as error:
            return run_plain(shell, args, str(error))

    return wrapped


def _assistant_for(args: Arguments) -> Callable[[str, Callable[[], int]], Assistant]:
    def make(nonce: str, cols: Callable[[], int]) -> Assistant:
        from neocode.gateway.endpoint import resolve_endpoint
        from neocode.shell.assistant import ShellAssistant
        from ptyproxy.ports import AssistantError

        try:
            endpoint = resolve_endpoint(args.gateway, args.token_file)
        except NeocodeError as error:  # told with the first question; the shell needs no gateway
            raise AssistantError(error.one_line()) from error
        return ShellAssistant(endpoint, literals=(nonce,), cols=cols, color=not os.environ.get("NO_COLOR"))

    return make


def run_plain(shell: str, args: Arguments, reason: str) -> int:
    """Say why and become the user's shell without us. Returns only when that fails too."""
    line = " ".join(reason.split())
    try:
        print(f"neocode: {line}; here is your shell without neocode", file=sys.stderr, flush=True)
    except OSError:
        pass  # nobody reads it; the shell is what counts
    name = ("-" if args.login else "") + os.path.basename(shell)
    try:
        become(shell, (name, *args.rest))
    except OSError as error:
        print(f"neocode: cannot run {shell}: {error.strerror}", file=sys.stderr)
        return 126 if isinstance(error, PermissionError) else 127


if sys.platform == "win32":

    def become(path: str, argv: tuple[str, ...]) -> NoReturn:
        """Run it and end with its exit code: exec would give the prompt back to the parent at once."""
        import signal
        import subprocess

        from conpty.backend import signed
        from conpty.command_line import join

        for number in (signal.SIGINT, signal.SIGBREAK):  # the shell has them too, and ours would end it
            signal.signal(number, signal.SIG_IGN)
        sys.exit(signed(subprocess.run(join((path, *argv[1:])), check=False).returncode))

else:

    def become(path: str, argv: tuple[str, ...]) -> NoReturn:
        """exec, with the signals and the environment as we found them."""
        import signal

        from ptyproxy.platform.unix_inherited import original_environment

        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them for itself
            signal.signal(number, signal.SIG_DFL)
        os.execve(path, argv, original_environment())


def refuse_nesting(environ: Mapping[str, str], *, nested: bool) -> None:
    """Raise UsageError inside a neocode shell that is alive and our ancestor.

    A variable that came here by ssh, tmux or from a shell that has ended is no reason.
    """
    session = environ.get(SESSION_ENV, "")
    parts = session.split("-")
    if nested or len(parts) < 2 or not parts[1].isdecimal():
        return
    directory = environ.get(DIRECTORY_ENV)
    if directory and not os.path.isdir(directory):  # it is removed when its shell ends
        return
    if int(parts[1]) in _ancestors():
        raise UsageError(f"this is a neocode shell already ({session})", "use --nested to start another inside it")


def _ancestors() -> set[int]:
    """The ids of our parent and its parents; none when that cannot be found out, since a shell matters more."""
    try:
        import psutil

        return {process.pid for process in psutil.Process().parents()}
    except Exception:
        return set()


def resolve_shell(shell: str) -> str:
    """The path of a shell named by path or by name; a name that is not found stays as it is and fails to spawn."""
    if os.sep in shell or (os.altsep and os.altsep in shell):
        try:
            return os.path.abspath(shell)
        except OSError:  # the working directory was removed
            return shell
    if sys.platform == "win32":
        from neocode.shell.parent_shell import on_path

        found: str | None = on_path(shell, os.environ)
    else:
        import shutil

        found = shutil.which(shell)
    return found or shell
