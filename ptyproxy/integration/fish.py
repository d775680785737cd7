"""Starts fish with its marks and its widget, without a file of the user's being touched.

Invariants: fish finds our file as a vendor's, before the user's own; the file's first act is to take back what led to
it. fish 4 marks its prompts itself; its marks are foreign ones beside ours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ptyproxy.integration.base import WIDGET_KEY, Plan, control_letter
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

_FOLDER = "fish/vendor_conf.d"
_PLAIN = frozenset({"-i", "--interactive", "-l", "--login", "-il", "-li", "-P", "--private"})
_WITH_VALUE = frozenset({"-C", "--init-command", "-f", "--features"})


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why fish started like this is left alone, empty when it can be integrated."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            rest = rest[1:]
        elif word not in _PLAIN and not word.startswith(("--init-command=", "--features=")):
            return f"fish was given {word}"
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
    """The plan for fish; writes the script into the session's directory. Raises OSError."""
    folder = os.path.join(session.directory, _FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    fd = os.open(os.path.join(folder, "neocode.fish"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "w", encoding="utf-8") as handle:
        handle.write(source)
    env = dict(environ)
    env[b"NEOCODE_FISH"] = b"1"
    env[b"NEOCODE_HOTKEY"] = control_letter(hotkey).encode()
    theirs = env.get(b"XDG_DATA_DIRS")
    if theirs is not None:
        env[b"NEOCODE_XDG_DATA_DIRS"] = theirs
    # unset means the directory that fish was installed with; it must be spelled out beside ours
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
    env[b"XDG_DATA_DIRS"] = env[b"NEOCODE_SESSION_DIR"] + b":" + (theirs or os.fsencode(os.path.join(prefix, "share")))
    name = os.path.basename(path)
    argv = (f"-{name}" if login else name, *arguments)
    return Plan(ShellCommand(path, argv, env), "fish", True, WIDGET_KEY)
