"""Starts PowerShell (5.1 and 7) with its marks and its widget, after the user's profiles.

Invariants: the script comes as text on the command line, so that no execution policy stands in its way; what the user
gave to run of their own leaves PowerShell as it is.
"""

from __future__ import annotations

import base64
import ntpath
from collections.abc import Mapping

from ptyproxy.integration.base import Plan, control_letter
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

WIDGET_CHORD = b"\x1b[24;8~"  # Ctrl+Alt+Shift+F12, which PSReadLine knows by name and nobody binds
# the script itself is read from the session's directory; this only runs its text, whatever the policy says of files
_LOADER = (
    "try { . ([scriptblock]::Create([IO.File]::ReadAllText("
    "(Join-Path $env:NEOCODE_SESSION_DIR 'neocode.ps1')))) } catch { }"
)
_SCRIPT = "neocode.ps1"
_PLAIN = frozenset({"-nologo", "-login", "-l", "-noprofile", "-nop", "-noexit", "-noe", "-mta", "-sta"})
_WITH_VALUE = frozenset({"-executionpolicy", "-ex", "-ep", "-workingdirectory", "-wd", "-windowstyle", "-w"})


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why PowerShell started like this is left alone, empty when it can be integrated."""
    rest = [word.lower() for word in arguments]
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            rest = rest[1:]
        elif word not in _PLAIN:
            return f"PowerShell was given {word}"
    if environ.get(b"TERM") == b"dumb":
        return "the terminal takes no control sequences (TERM is dumb)"
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
    """The plan for PowerShell; writes the script into the session's directory. Raises OSError."""
    session.write(_SCRIPT, source.encode())
    env = dict(environ)
    env[b"NEOCODE_HOTKEY"] = control_letter(hotkey).encode()
    # UTF-16LE in base64: no quoting rule of any platform touches it
    encoded = base64.b64encode(_LOADER.encode("utf-16-le")).decode()
    # pwsh takes -Login only as the first of its arguments
    first = ("-Login",) if login and "-login" not in [word.lower() for word in arguments] else ()
    argv = (ntpath.basename(path), *first, *arguments, "-NoExit", "-EncodedCommand", encoded)
    return Plan(ShellCommand(path, argv, env), "pwsh", True, WIDGET_CHORD)
