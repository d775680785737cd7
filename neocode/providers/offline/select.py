"""Which list of commands counts for a shell kind and a system. Invariant: the first key that exists wins whole."""

from __future__ import annotations

import re
from collections.abc import Mapping

from neocode.providers.offline.quoting import POWERSHELLS

WINDOWS_KINDS = ("pwsh", "powershell", "cmd")
POSIX_KINDS = ("bash", "zsh", "fish", "sh")
KINDS = (*POSIX_KINDS, *WINDOWS_KINDS)
SYSTEMS = ("linux", "darwin", "windows")
KEYS = frozenset([*KINDS, "linux", "darwin", "posix", "windows", "any"])

_SHELL_SYNTAX = re.compile(r"[$&|;<>()`=\"'*]")  # what PowerShell on Linux would read otherwise than a POSIX shell


def shell_kind(shell: str, os: str) -> str:
    """A kind of KINDS for what the context says; a path or a version is allowed; by `os` when unknown."""
    name = re.split(r"[\\/]", shell.strip().lower())[-1].split(" ")[0].removesuffix(".exe").lstrip("-")
    if name in KINDS:
        return name
    if name in ("dash", "ash", "ksh", "mksh", "busybox"):
        return "sh"
    return "powershell" if system(os, "") == "windows" else "bash"


def system(os: str, kind: str) -> str:
    """One of SYSTEMS: what the context says, else what the shell kind suggests."""
    name = os.split(" ")[0].lower()
    if name in SYSTEMS:
        return name
    return "windows" if kind in WINDOWS_KINDS else "linux"


def select(commands: Mapping[str, tuple[str, ...]], kind: str, os: str) -> tuple[str, ...]:
    """The commands for `kind` on system `os`, in the order of FORMAT.md; empty when there are none."""
    unix = system(os, kind) != "windows"
    if kind in commands:
        return commands[kind]
    if kind == "pwsh" and "powershell" in commands and not unix:
        return commands["powershell"]
    if unix:
        for key in (os, "posix"):
            if key in commands and (kind not in POWERSHELLS or _plain(commands[key])):
                return commands[key]
    elif kind in POSIX_KINDS and "posix" in commands:
        return commands["posix"]
    if kind in WINDOWS_KINDS and not unix and "windows" in commands:
        return commands["windows"]
    return commands.get("any", ())


def _plain(commands: tuple[str, ...]) -> bool:
    return not any(_SHELL_SYNTAX.search(command) for command in commands if not command.startswith("#"))
