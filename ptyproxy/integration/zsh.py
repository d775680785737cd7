"""Starts zsh with its marks and its widget, without a file of the user's being touched.

Invariants: zsh reads one file of ours, as its .zshenv, whose first act is to put ZDOTDIR back; all others it reads
itself, where the user has them. Where there is none, zsh's welcome for new users comes as it would have.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ptyproxy.integration.base import WIDGET_KEY, Plan, control_letter
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

_SCRIPT = ".zshenv"
# options without an argument that leave zsh interactive and its .zshenv read
_PLAIN_LETTERS = frozenset("ilXx")


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why zsh started like this is left alone, empty when it can be integrated."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-o", "+o"):
            rest = rest[1:]
        elif word not in ("--login", "--interactive") and not (word[:1] == "-" and _PLAIN_LETTERS.issuperset(word[1:])):
            return f"zsh was given {word}"
    return ""


def prepare(
    path: str,
    arguments: tuple[str, ...],
    environ: Mapping[bytes, bytes],
    session: Session,
    *,
    login: bool,
    hotkey: str,
    source: str,
) -> Plan:
    """The plan for zsh; writes the script into the session's directory. Raises OSError."""
    session.write(_SCRIPT, source.encode())
    env = dict(environ)
    env[b"NEOCODE_ZSH"] = b"1"
    env[b"NEOCODE_HOTKEY"] = control_letter(hotkey).encode()
    if b"ZDOTDIR" in env:
        env[b"NEOCODE_ZDOTDIR"] = env[b"ZDOTDIR"]
    env[b"ZDOTDIR"] = env[b"NEOCODE_SESSION_DIR"]
    name = os.path.basename(path)
    argv = (f"-{name}" if login else name, *arguments)
    return Plan(ShellCommand(path, argv, env), "zsh", True, WIDGET_KEY)
