"""What this process knows of the user's situation and the daemon cannot: OS, shell kind, language, names on PATH.

Invariants: nothing here fails (an unknown fact is empty) and nothing is run to find out; a scan of PATH is bounded.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SHELL_KINDS = {
    "bash": "bash", "zsh": "zsh", "fish": "fish", "sh": "sh", "dash": "sh", "ksh": "sh", "ash": "sh",
    "pwsh": "pwsh", "powershell": "powershell", "cmd": "cmd",
}  # fmt: skip
MAX_ANCESTORS = 6  # terminal -> shell -> launcher script -> us; farther up is somebody else's
MAX_PATH_DIRECTORIES = 64
MAX_PATH_NAMES = 20_000  # a full Debian has about 4,000
MAX_NEAR = 5

# "command not found" as bash, dash, zsh, fish, sudo, env, CMD and PowerShell say it; the name is group 1 of one branch
_NOT_FOUND = re.compile(
    r"""command[ ]not[ ]found:[ ](?P<zsh>[^\s'"`:;|&<>()$]{1,64})\s*$
    | (?:^|:[ ]|[ ])(?P<sh>[^\s'"`:;|&<>()$]{1,64}):[ ](?:command[ ])?not[ ]found\s*$
    | [Uu]nknown[ ]command:?[ ]'?(?P<fish>[^\s'"`:;|&<>()$]{1,64})
    | '(?P<cmd>[^\s'"`:;|&<>()$]{1,64})'[ ]is[ ]not[ ]recognized
    | [Tt]he[ ]term[ ]'(?P<pwsh>[^\s'"`:;|&<>()$]{1,64})'[ ]is[ ]not[ ]recognized""",
    re.VERBOSE | re.MULTILINE,
)


def os_name() -> str:
    """`linux`, `darwin` or `windows`, then what release, e.g. `linux Debian GNU/Linux 12`."""
    if sys.platform == "win32":
        name = f"windows {platform.version()}"
    elif sys.platform == "darwin":
        name = f"darwin {platform.mac_ver()[0]}"
    else:
        name = f"linux {_linux_release()}"
    return name.strip()


def _linux_release() -> str:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return ""
    found = re.search(r'^PRETTY_NAME="?([^"\n]{1,80})', text, re.MULTILINE)
    return found[1] if found else ""


def language(environ: Mapping[str, str] = os.environ) -> str:
    """The BCP 47 tag of the user's locale (POSIX: LC_ALL, LC_MESSAGES, LANG), `en` for C and unknown ones."""
    if sys.platform == "win32":
        import locale

        name = locale.getlocale()[0] or ""
        name = locale.normalize(name).partition(".")[0] if name else ""
    else:
        name = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    match = re.match(r"([A-Za-z]{2,3})(?:[_-]([A-Za-z]{2}))?(?![A-Za-z])", name)
    if match is None:
        return "en"
    return f"{match[1].lower()}-{match[2].upper()}" if match[2] else match[1].lower()


def shell_kind(environ: Mapping[str, str] = os.environ) -> str:
    """The kind of the shell we were started from: the nearest ancestor that is one, else `$SHELL`; may be empty."""
    for name in _ancestor_names():
        kind = SHELL_KINDS.get(name.lower().removesuffix(".exe").lstrip("-"))
        if kind:
            return kind
    return SHELL_KINDS.get(Path(environ.get("SHELL", "")).name, "")


if sys.platform == "linux":

    def _ancestor_names() -> Iterator[str]:
        """Names of our parent and its parents, nearest first; /proc spares the import of psutil."""
        pid = os.getppid()
        for _ in range(MAX_ANCESTORS):
            if pid <= 1:
                return
            try:
                stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                return
            name, _, rest = stat.partition("(")[2].rpartition(")")  # the name itself may hold parentheses
            yield name
            pid = int(rest.split()[1])

elif sys.platform == "win32":

    def _ancestor_names() -> Iterator[str]:
        """Names of our parent and its parents, nearest first."""
        from conpty.processes import ancestors

        return (process.name for process in ancestors(os.getpid())[:MAX_ANCESTORS])

else:

    def _ancestor_names() -> Iterator[str]:
        """Names of our parent and its parents, nearest first."""
        import psutil

        try:
            for process in psutil.Process().parents()[:MAX_ANCESTORS]:
                yield process.name()
        except psutil.Error:
            return


def missing_command(log: str) -> str:
    """The command that the last "not found" message in `log` names, or the empty string."""
    last = ""
    for match in _NOT_FOUND.finditer(log):
        last = next(group for group in match.groups() if group is not None)
    return last


def near_commands(log: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Names on the user's PATH that are a slip away from the command that `log` says is missing, best first."""
    wanted = missing_command(log)
    if not wanted or "/" in wanted or "\\" in wanted:
        return ()
    from neocode.near import nearest

    return tuple(nearest(wanted, _names_on_path(environ), MAX_NEAR))


def _names_on_path(environ: Mapping[str, str]) -> Iterator[str]:
    """File names in the absolute directories of PATH; a relative one would make the answer depend on the cwd."""
    extensions = tuple(environ.get("PATHEXT", "").lower().split(os.pathsep)) if sys.platform == "win32" else ()
    left = MAX_PATH_NAMES
    for directory in environ.get("PATH", "").split(os.pathsep)[:MAX_PATH_DIRECTORIES]:
        if not os.path.isabs(directory):
            continue
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names[:left]:
            stem, extension = os.path.splitext(name)
            yield stem if extension and extension.lower() in extensions else name
        left -= min(left, len(names))
