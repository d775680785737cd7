"""How to start any shell so that it marks its commands, or plainly when that cannot be done without a visible change.

Invariants: a fault here never keeps a shell from starting; the user's files are neither read nor written.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os.path import basename, dirname, join

from ptyproxy.integration.base import Plan
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

# program name -> kind, which is also the name of its module and of its script
_KINDS = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "sh": "sh",
    "dash": "sh",
    "ash": "sh",
    "ksh": "sh",
    "ksh93": "sh",
    "mksh": "sh",
    "pwsh": "pwsh",
    "powershell": "powershell",
    "cmd": "cmd",
}
_ON_WINDOWS = ("pwsh", "powershell", "cmd")
_MODULES = {"powershell": "pwsh"}
_SCRIPTS = {
    "bash": "bash",
    "zsh": "zsh",
    "fish": "fish",
    "pwsh": "ps1",
    "powershell": "ps1",
    "sh": "sh",
    "cmd": "cmd",
}


def shell_kind(path: str) -> str:
    """`bash`, `zsh`, `fish`, `pwsh`, `powershell`, `cmd`, `sh` (dash and ksh too), or "" for another program."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _KINDS.get(name.removesuffix(".exe").lstrip("-"), "")


def script(kind: str) -> str:
    """The script that integrates a shell of this kind; it does nothing outside a session. Raises KeyError, OSError."""
    with open(join(dirname(__file__), "scripts", f"neocode.{_SCRIPTS[kind]}"), encoding="utf-8", newline="") as file:
        return file.read()


def plan(
    path: str,
    arguments: tuple[str, ...],
    environ: Mapping[bytes, bytes],
    session: Session,
    *,
    login: bool,
    hotkey: str = "ctrl-g",
    integrate: bool = True,
) -> Plan:
    """The command line and environment for the shell `path`, and what is to be expected of it.

    `login`: start it as login(1) does. `hotkey`: `ctrl-g`, another control character, or empty for none.
    """
    kind = shell_kind(path)
    env = dict(environ)
    env[b"NEOCODE_SHELL_SESSION"] = session.id.encode()
    env[b"NEOCODE_SESSION_DIR"] = session.directory.encode("utf-8", "surrogateescape")
    name = basename(path)
    plain = ShellCommand(path, (f"-{name}" if login else name, *arguments), env)
    reason = _why_not(path, kind, env, integrate=integrate)
    if reason:
        return Plan(plain, kind, False, reason=reason)
    module = import_module(f"ptyproxy.integration.{_MODULES.get(kind, kind)}")
    reason = module.why_not(path, arguments, env, login=login)
    if reason:
        return Plan(plain, kind, False, reason=reason)
    try:
        source = script(kind) if kind in _SCRIPTS else ""
        made: Plan = module.prepare(path, arguments, env, session, login=login, hotkey=hotkey, source=source)
    except OSError as error:
        return Plan(plain, kind, False, reason=f"the script could not be written: {error.strerror}")
    return made._replace(kind=kind)


def _why_not(path: str, kind: str, environ: Mapping[bytes, bytes], *, integrate: bool) -> str:
    if not integrate:
        return "switched off"
    if not kind:
        return "an unknown shell"
    console = kind in _ON_WINDOWS and path.lower().endswith(".exe")  # a Windows console sets no TERM
    if environ.get(b"TERM", b"xterm" if console else b"") in (b"", b"dumb"):
        return "the terminal takes no control sequences (TERM is dumb or unset)"
    if b"INSIDE_EMACS" in environ:
        return "the shell runs inside Emacs"
    return ""
