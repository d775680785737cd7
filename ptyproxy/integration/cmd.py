"""Starts Windows' cmd with marks in its PROMPT, the one thing that it runs at every prompt.

Invariants: the user's own prompt stays within the marks; no nonce, since PROMPT is in the environment of every child.
cmd tells neither the command line nor its status; the Enter key stands in for the former.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptyproxy.integration.base import Plan
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

_DEFAULT_PROMPT = b"$P$G"
# $e is ESC; PROMPT cannot hold BEL, so ESC \ ends the marks. $P is the directory (ConEmu's and Windows Terminal's 9;9)
_BEFORE = b"$e]9;9;$P$e\\$e]7781;neocode;A$e\\"
_AFTER = b"$e]7781;neocode;B$e\\"


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why cmd started like this is left alone, empty when it can be integrated."""
    for word in arguments:
        if word[:2].lower() in ("/c", "/r"):
            return "cmd was given a command to run and end"
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
    """The plan for cmd."""
    env = dict(environ)
    theirs = env.get(b"PROMPT", _DEFAULT_PROMPT)
    if b"neocode" not in theirs:
        env[b"PROMPT"] = _BEFORE + theirs + _AFTER
    return Plan(ShellCommand(path, (path, *arguments), env), "cmd", True)
