"""The user's shell, and whether the integration works in the running session; if not, which line is in the way."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from neocode import paths
from neocode.doctor.check import Check, Situation
from neocode.doctor.startup_files import bindings, obstacles
from neocode.errors import ConfigError, NeocodeError
from neocode.shell.default_shell import default_shell
from neocode.shell.launch import DIRECTORY_ENV, SESSION_ENV
from ptyproxy.integration.plan import shell_kind
from ptyproxy.sanitize import sanitize_line
from ptyproxy.session import REFUSED_FILE, STATUS_FILE, live_sessions

VERSION_SEC = 3.0  # a shell that takes longer to say its version hangs
MAX_STATUS_BYTES = 16 * 1024
MAX_REASON_CHARS = 200
MAX_LINES = 5  # of a kind: more tell nothing new


class Session(NamedTuple):
    """A running wrapped shell and what it says of itself. `ours`: we run inside it."""

    id: str
    facts: Mapping[str, str]
    ours: bool


def shell(situation: Situation) -> Iterator[Check]:
    """Which shell, the running sessions, the hotkey."""
    path = default_shell()
    kind = shell_kind(path)
    yield _which(path, kind)
    found = sessions(os.environ)
    if not found:
        yield Check("integration", "ok", "no neocode shell is running, so it cannot be seen", "neocode shell")
        yield from _obstacles(kind, "may keep the integration from working")
    for session in found:
        yield from _integration(session)
    yield from _hotkey(kind, found)


def _which(path: str, kind: str) -> Check:
    if not os.access(path, os.X_OK):
        return Check("shell", "broken", f"{path} cannot be run", "set SHELL to a shell that can be run")
    version = _version(path, kind)
    if not kind or kind == "sh":
        return Check(
            "shell",
            "warn",
            f"{path}{version}: basic mode, no marks and no insertion",
            "bash, zsh, fish and pwsh are integrated: neocode shell --shell PATH",
        )
    return Check("shell", "ok", f"{path}{version}")


def _version(path: str, kind: str) -> str:
    """What it says of itself, with a space in front; only of a kind that is known to know the option."""
    if kind not in ("bash", "zsh", "fish", "pwsh"):
        return ""
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_SEC, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return " (does not say its version)"
    found = re.search(rb"\d+\.\d+[\w.]*", done.stdout)
    return f" {found[0].decode()}" if found else ""


def sessions(environ: Mapping[str, str]) -> list[Session]:
    """The running session that we are inside of, or else all of this home's."""
    inside = environ.get(DIRECTORY_ENV, "")
    base, name = os.path.split(inside)
    if name and environ.get(SESSION_ENV) == name and name in live_sessions(base):
        return [Session(name, _status(inside), True)]
    try:
        base = str(paths.run_dir())
    except ConfigError:
        return []
    return [Session(name, _status(os.path.join(base, name)), False) for name in live_sessions(base)]


def _status(directory: str) -> dict[str, str]:
    """What proxy and shell say; `refused`: why the shell may not run the integration."""
    lines = _lines(os.path.join(directory, STATUS_FILE))
    facts = {name: value for name, _, value in (line.partition("=") for line in lines)}
    refused = _lines(os.path.join(directory, REFUSED_FILE))[:1]
    return {**facts, "refused": sanitize_line(refused[0], MAX_REASON_CHARS)} if refused else facts


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MAX_STATUS_BYTES).splitlines()
    except OSError:
        return []


def _integration(session: Session) -> Iterator[Check]:
    facts, where = session.facts, "here" if session.ours else f"in {session.id}"
    kind = facts.get("kind", "")
    if facts.get("console"):
        found = sanitize_line(facts["console"], MAX_REASON_CHARS)
        yield Check("pseudo console", "warn", f"{where}: {found}", "it works, but very long output may lose characters")
    if facts.get("seen") == "1":
        yield Check("integration", "ok", f"seen {where}: {facts.get('shell', kind)}")
    elif "refused" in facts:
        yield Check(
            "integration",
            "warn",
            f"none {where}: {facts['refused']}, which allows no integration",
            "whoever administers this machine decides it (AppLocker, App Control); CMD is integrated: --shell cmd",
        )
    elif facts.get("integrated") == "0":
        reason = facts.get("reason", "")
        wanted = reason == "switched off"
        yield Check("integration", "ok" if wanted else "warn", f"none {where}: {reason}", "" if wanted else "see above")
    elif not facts:
        yield Check("integration", "warn", f"nothing is known of it {where}", "leave the shell and start it anew")
    else:
        lines = list(_obstacles(kind, "keeps the integration from working"))
        yield Check(
            "integration",
            "broken",
            f"not seen {where}: {kind or facts.get('path', 'the shell')} has not run it",
            "change the line named below" if lines else "neocode shell --init KIND prints what to source by yourself",
        )
        yield from lines


def _obstacles(kind: str, effect: str) -> Iterator[Check]:
    for found in list(obstacles(kind, os.environ))[:MAX_LINES]:
        what = f"{found.place}: {found.cause.what}; that {effect} ({found.text[:80]})"
        yield Check("start-up file", "warn", what, found.cause.do)


def _hotkey(kind: str, found: list[Session]) -> Iterator[Check]:
    from neocode.config.file import load_config

    try:
        hotkey = load_config().config.shell.hotkey
    except NeocodeError:
        hotkey = "ctrl-g"  # the configuration has a finding of its own
    kinds = list(dict.fromkeys(session.facts.get("kind", kind) for session in found)) or [kind]
    taken = any(session.facts.get("hotkey") == "user" for session in found)
    lines = [line for each in kinds for line in bindings(each, os.environ, hotkey[-1])][:MAX_LINES]
    for line in lines:
        yield Check("hotkey", "warn", f"{hotkey} stays yours: {line.place} binds it ({line.text[:80]})", line.cause.do)
    if lines:
        return
    if taken:
        yield Check(
            "hotkey",
            "warn",
            f"{hotkey} stays yours: something that is not in your start-up files binds it",
            "choose another: neocode config set shell.hotkey ctrl-t",
        )
    elif any(session.facts.get("hotkey") == "none" for session in found):
        yield Check("hotkey", "warn", f"{hotkey}: this shell's line editor cannot be told of it", "use neocode diag")
    else:
        yield Check("hotkey", "ok", hotkey)
