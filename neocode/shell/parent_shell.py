"""Windows: the shell of the kind that we were started in, found among our parents.

Invariants: nothing is found in the working directory; what cannot be told of a process is passed over, since somebody
waits for a shell.
"""

from __future__ import annotations

import ntpath
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

WINDOWS_SHELLS = frozenset({"cmd", "powershell", "pwsh"})
# what makes them run something and end: they are what a script or a launcher was started with, not what somebody sees
_RUNS = {
    "cmd": ("/c", "/r"),
    "powershell": ("-c", "-command", "-f", "-file", "-e", "-ec", "-encodedcommand"),
}
_STAYS = ("-noe", "-noexit")


class Ancestor(NamedTuple):
    """A process above us: its program's path (a bare name where that is not told) and arguments."""

    path: str
    arguments: tuple[str, ...] = ()


def nearest_shell(ancestors: Iterable[Ancestor]) -> str:
    """The program of the nearest interactive CMD or PowerShell, empty when there is none. The parent comes first."""
    for ancestor in ancestors:
        kind = ntpath.basename(ancestor.path).lower().removesuffix(".exe")
        if kind in WINDOWS_SHELLS and not _only_runs(kind, ancestor.arguments):
            return ancestor.path
    return ""


def _only_runs(kind: str, arguments: tuple[str, ...]) -> bool:
    words = [word.lower() for word in arguments]
    if kind == "cmd":
        return any(word[:2] in _RUNS["cmd"] for word in words)
    names = ["-" + word.lstrip("-/") for word in words if word[:1] in "-/"]
    return any(name in _RUNS["powershell"] for name in names) and not any(name in _STAYS for name in names)


def windows_shell(
    ancestors: Iterable[Ancestor], environ: Mapping[str, str], exists: Callable[[str], bool] = os.path.lexists
) -> str:
    """The shell to start on Windows: as `nearest_shell`, else PowerShell 7, PowerShell 5.1, `%COMSPEC%`."""
    nearest = nearest_shell(ancestors)
    if nearest and ntpath.isabs(nearest):
        return nearest
    kind = ntpath.basename(nearest).lower().removesuffix(".exe")
    for name in (kind, "pwsh", "powershell"):
        if name and (found := on_path(name, environ, exists)):
            return found
    return environ.get("COMSPEC") or "cmd.exe"


def on_path(name: str, environ: Mapping[str, str], exists: Callable[[str], bool] = os.path.lexists) -> str:
    """The program of this name in an absolute directory of PATH; empty when there is none.

    `shutil.which` looks into the working directory first, where anybody may have left one. The aliases of the Store's
    programs are links that lead nowhere, so that a name is there is all that can be asked.
    """
    program = name if ntpath.splitext(name)[1] else name + ".exe"
    for folder in environ.get("PATH", "").split(";"):
        path = ntpath.join(folder.strip('"'), program)
        if ntpath.isabs(path) and exists(path):
            return path
    return ""


if sys.platform == "win32":

    def our_ancestors() -> list[Ancestor]:
        """The processes above us, the parent first, as far as they can be told."""
        from conpty.processes import ancestors

        return [_ancestor(process.pid, process.name) for process in ancestors(os.getpid())]

    def _ancestor(pid: int, name: str) -> Ancestor:
        """Only of a shell more than its name is wanted. Of another user's, or an elevated one, nothing more is told."""
        if ntpath.splitext(name)[0].lower() not in WINDOWS_SHELLS:
            return Ancestor(name)
        path = name
        arguments: tuple[str, ...] = ()
        with suppress(Exception):  # a shell matters more than which; the path may be told and the arguments not
            import psutil

            process = psutil.Process(pid)
            path = process.exe() or name
            arguments = tuple(process.cmdline()[1:])
        return Ancestor(path, arguments)
