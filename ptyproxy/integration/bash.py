"""Starts bash with its marks and its widget, without a file of the user's being touched.

Invariants: bash reads the start-up files that it would have read, in their order; what it is started with that it
would not have been (an option, NEOCODE_* variables, ENV) is undone by the script before the first of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os.path import basename

from ptyproxy.integration.base import HOTKEY_KEY, WIDGET_KEY, Plan, control_letter
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import Session

_SCRIPT = "neocode.bash"
_HISTORY = "history"
# options without an argument that leave bash interactive and its start-up files as they are
_PLAIN_LETTERS = frozenset("abefhiklmnuvxBCEHPT")
_PLAIN_LONG = frozenset({"--login", "--noprofile", "--verbose", "--debugger"})
_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O"})


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why bash started like this is left alone, empty when it can be integrated."""
    if b"POSIXLY_CORRECT" in environ:
        return "bash runs in POSIX mode (POSIXLY_CORRECT is set)"
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            if word in ("-o", "+o") and rest[:1] == ["posix"]:
                return "bash runs in POSIX mode"
            rest = rest[1:]
        elif word not in _PLAIN_LONG and not (word[:1] in "-+" and word[1:] and _PLAIN_LETTERS.issuperset(word[1:])):
            return f"bash was given {word}"
    if is_login(arguments, login=False) and _is_apple(path):
        return "macOS's own bash, given --login, reads no file that could be ours"
    return ""


def is_login(arguments: tuple[str, ...], *, login: bool) -> bool:
    """Whether bash will be a login shell."""
    return login or any(word == "--login" or (word[:1] == "-" != word[1:2] and "l" in word) for word in arguments)


def _is_apple(path: str) -> bool:
    """macOS's bash 3.2 has the way by ENV compiled out."""
    return sys.platform == "darwin" and path == "/bin/bash"


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
    """The plan for bash; writes the script into the session's directory. Raises OSError."""
    script = session.write(_SCRIPT, source.encode())
    session.write(_HISTORY, b"")  # whatever the user's umask, the hook finds it closed to others
    env = dict(environ)
    env[b"NEOCODE_HOTKEY"] = control_letter(hotkey).encode()
    name = basename(path)
    if not is_login(arguments, login=login) or _is_apple(path):
        env[b"NEOCODE_BASH"] = b"login" if login else b"rc"
        argv = (name, "--init-file", script, *arguments)
        return Plan(ShellCommand(path, argv, env), "bash", True, WIDGET_KEY, hotkey_key=HOTKEY_KEY)
    # --init-file is not read by a login shell; ENV is, in POSIX mode, which the script leaves at once
    env[b"NEOCODE_BASH"] = b"login"
    if b"ENV" in env:
        env[b"NEOCODE_BASH_ENV"] = env[b"ENV"]
    if b"HISTFILE" in env:
        env[b"NEOCODE_BASH_HISTFILE"] = b"1"
    if "--noprofile" in arguments:
        env[b"NEOCODE_BASH_NOPROFILE"] = b"1"
    # bash expands ENV; the directory's own name must not be
    env[b"ENV"] = b"$NEOCODE_SESSION_DIR/" + _SCRIPT.encode()
    argv = (f"-{name}" if login else name, "--posix", *arguments)
    return Plan(ShellCommand(path, argv, env), "bash", True, WIDGET_KEY, hotkey_key=HOTKEY_KEY)
