"""Starts Windows' cmd with marks in its PROMPT, the one thing that it runs at every prompt.

Invariants: the user's own prompt stays as it is between the marks. PROMPT is in the environment of every child, and so
is the nonce in it: it keeps remote text from ending a command, not local programs. cmd tells neither the command line
nor its status; Enter and the screen stand in for the one (see `commands`), Clink, where it is installed, tells both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from ptyproxy.integration.base import Plan
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

PROMPT_FILE = "prompt"  # for `--init cmd`: what goes in front of a prompt that was set later
DEFAULT_PROMPT = b"$P$G"
# $e is ESC; PROMPT cannot hold BEL, so ESC \ ends the marks. $P is the directory, which cmd cannot encode: 9;9 is how
# ConEmu and Windows Terminal take it
_BEFORE = (
    b"$e]7781;neocode;D;nc=%s;shell=cmd;starts=enter;hotkey=taken;widget=none$e\\$e]9;9;$P$e\\$e]7781;neocode;A$e\\"
)
_AFTER = b"$e]7781;neocode;B$e\\"
# those of a neocode shell that this one was started in
_OURS = re.compile(rb"\$e\]7781;neocode;D[^$]*\$e\\(?:\$e\]9;9;\$P\$e\\)?|\$e\]7781;neocode;[AB]\$e\\", re.IGNORECASE)
_CLINK_FOLDER = os.path.join(os.path.dirname(__file__), "scripts", "clink")


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why cmd started like this is left alone, empty when it can be integrated."""
    for word in arguments:
        if word[:2].lower() in ("/c", "/r"):
            return "cmd was given a command to run and end"
    return ""


def prompt(theirs: bytes, nonce: str) -> bytes:
    """The user's prompt with our marks, instead of any that are in it."""
    return _BEFORE % nonce.encode() + (_OURS.sub(b"", theirs) or DEFAULT_PROMPT) + _AFTER


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
    """The plan for cmd. Raises OSError."""
    session.write(PROMPT_FILE, _BEFORE % session.nonce.encode() + b"\r\n")
    env = dict(environ)
    env[b"PROMPT"] = prompt(env.get(b"PROMPT", DEFAULT_PROMPT), session.nonce)
    folders = [_CLINK_FOLDER.encode("utf-8", "surrogateescape"), env.get(b"CLINK_PATH", b"")]
    env[b"CLINK_PATH"] = b";".join(folder for folder in folders if folder)
    return Plan(ShellCommand(path, (path, *arguments), env), "cmd", True)
