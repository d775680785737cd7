"""Starts dash with marks around its prompt; any other plain shell as it is.

Invariants: nothing changes on the screen: dash prints its prompt as it is, while ksh, mksh and BusyBox count an escape
sequence as text and would draw long lines wrongly. Nothing tells a command line here, so no mark is authenticated.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ptyproxy.integration.base import Plan
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

_SCRIPT = "neocode.sh"


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why this shell is left alone, empty when it can be integrated."""
    program = os.path.basename(os.path.realpath(path))
    if program != "dash":
        return f"{program} has no hook that shows nothing; Enter and the hotkey's byte are used"
    for word in arguments:
        if not (word[:1] == "-" and word[1:] and set(word[1:]) <= set("ilmabCefnuvxI")):
            return f"dash was given {word}"
    if b"PS1" in environ:
        return "PS1 is exported: marks in it would reach every child"
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
    """The plan for dash; writes the script into the session's directory. Raises OSError."""
    session.write(_SCRIPT, source.encode())
    env = dict(environ)
    env[b"NEOCODE_SH"] = b"1"
    if b"ENV" in env:
        env[b"NEOCODE_ENV"] = env[b"ENV"]
    # dash expands ENV; the directory's own name must not be
    env[b"ENV"] = b"$NEOCODE_SESSION_DIR/" + _SCRIPT.encode()
    name = os.path.basename(path)
    return Plan(ShellCommand(path, (f"-{name}" if login else name, *arguments), env), "sh", True)
