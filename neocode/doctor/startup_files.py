"""The user's start-up files, and the lines in them that keep the integration from working. Nothing is run.

Invariant: only lines of a known cause are named, each as `file:line`; a file that cannot be read is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MAX_FILE_BYTES = 1 << 20  # a history or a dump by mistake
MAX_FILES = 64


class Cause(NamedTuple):
    """A line that matters: what it does, and what to write instead."""

    pattern: re.Pattern[str]
    what: str
    do: str


class Found(NamedTuple):
    """Where a cause is."""

    place: str
    text: str
    cause: Cause


def _cause(pattern: str, what: str, do: str) -> Cause:
    return Cause(re.compile(pattern), what, do)


_SHELLS = r"(?:\S*/)?(?:bash|zsh|fish|ksh|dash|sh|nu|xonsh|elvish|tmux|screen|zellij|pwsh)\b"
_BEGIN = r"^[^#\n]*?(?:^|[;&|{(]|\bthen\b|\bdo\b)\s*"
_EXEC = _cause(
    _BEGIN + rf"exec\s+(?:-\w+\s+)*{_SHELLS}",
    "another program takes the shell's place",
    "start it only when NEOCODE_SHELL_SESSION is not set",
)
_UNSET = _cause(
    r"^[^#]*\b(?:unset|set\s+-e|Remove-Item)\b[^#]*NEOCODE_",
    "a variable of ours is removed",
    "remove the line",
)
_CLEARED = _cause(
    r"^[^#]*\bexec\s+env\s+-i\b|^[^#]*\benv\s+-i\s+" + _SHELLS, "the environment is emptied", "keep NEOCODE_*"
)
_BASH = (
    _cause(
        r"^[^#]*\b(?:unset\s+PROMPT_COMMAND|PROMPT_COMMAND=(?![^#]*PROMPT_COMMAND)(?!\())",
        "PROMPT_COMMAND is replaced",
        'add to it: PROMPT_COMMAND="${PROMPT_COMMAND:+$PROMPT_COMMAND;}..."',
    ),
    _cause(r"^[^#]*\b(?:readonly|declare\s+-\w*r\w*)\s+(?:PROMPT_COMMAND|PS0|PS1)\b", "it is made read-only", "do not"),
    _cause(r"^[^#]*\bPS0=(?![^#]*\$\{?PS0)", "PS0 is replaced", 'add to it: PS0="${PS0-}..."'),
    _cause(r"^[^#]*\btrap\s+[^#]*\bDEBUG\b", "the DEBUG trap is taken", "use bash-preexec"),
)
_ZSH = (
    _cause(
        r"^[^#]*\b(?:precmd_functions|preexec_functions)=\((?![^)]*_functions)",
        "the list of hooks is replaced",
        "use add-zsh-hook",
    ),
    _cause(r"^[^#]*\bsetopt\b[^#]*\b(?:no_?rcs)\b", "the files after it are not read (NO_RCS)", "remove the line"),
)
_ZDOTDIR = _cause(
    r"^\s*(?:export\s+)?ZDOTDIR=(?!\S*ZDOTDIR)",
    "ZDOTDIR is set whatever it was before",
    "write it as: ZDOTDIR=${ZDOTDIR:-...}",
)
_FISH = (
    _cause(r"^[^#]*\bfunctions\s+(?:-e|--erase)\b[^#]*neocode", "our functions are erased", "remove the line"),
    _cause(r"^[^#]*\bbind\s+--erase\s+--all|^[^#]*\bbind\s+-e\s+-a", "all key bindings are erased", "do it earlier"),
)


def files_of(kind: str, environ: Mapping[str, str]) -> list[Path]:
    """The files that a shell of this kind reads when it starts, those that exist."""
    home = Path(environ.get("HOME", "/nonexistent"))
    if kind in ("bash", "sh"):
        names = (home / name for name in (".bashrc", ".bash_profile", ".bash_login", ".profile"))
        candidates = [*map(Path, ("/etc/profile", "/etc/bash.bashrc", "/etc/bashrc")), *names]
        candidates += [Path(environ[name]) for name in ("ENV", "BASH_ENV") if environ.get(name)]
    elif kind == "zsh":
        directory = Path(environ.get("ZDOTDIR") or home)
        files = ("zshenv", "zprofile", "zshrc", "zlogin")
        candidates = [Path(base, name) for name in files for base in ("/etc", "/etc/zsh")]
        candidates += [directory / f".{name}" for name in files] + [home / ".zshenv"]
    elif kind == "fish":
        base = Path(environ.get("XDG_CONFIG_HOME") or home / ".config", "fish")
        candidates = [base / "config.fish", *sorted(base.glob("conf.d/*.fish")), Path("/etc/fish/config.fish")]
    elif kind in ("pwsh", "powershell"):
        bases = [home / ".config/powershell", home / "Documents/PowerShell", home / "Documents/WindowsPowerShell"]
        candidates = [base / name for base in bases for name in ("profile.ps1", "Microsoft.PowerShell_profile.ps1")]
    else:
        candidates = [home / ".profile"]
    return list(dict.fromkeys(path for path in candidates if path.is_file()))[:MAX_FILES]


def obstacles(kind: str, environ: Mapping[str, str]) -> Iterator[Found]:
    """The lines in the start-up files of a shell of this kind that may keep the integration from working."""
    causes = [_EXEC, _UNSET, _CLEARED, *{"bash": _BASH, "sh": _BASH, "zsh": _ZSH, "fish": _FISH}.get(kind, ())]
    for path in files_of(kind, environ):
        yield from _search(path, [*causes, _ZDOTDIR] if path.name.endswith("zshenv") else causes)


def bindings(kind: str, environ: Mapping[str, str], letter: str) -> Iterator[Found]:
    """The lines that bind Ctrl and `letter`, or a sequence that begins with it."""
    key = _cause(
        rf"^[^#]*(?:\\C-{letter}|\\c{letter}|\^{letter.upper()}|(?i:Control-{letter}|Ctrl\+{letter}|ctrl-{letter}))",
        "the hotkey is bound there",
        "remove it, or choose another: neocode config set shell.hotkey ctrl-t",
    )
    inputrc = [
        Path(environ.get("INPUTRC") or Path(environ.get("HOME", "/nonexistent"), ".inputrc")),
        Path("/etc/inputrc"),
    ]
    extra = inputrc if kind == "bash" else []
    for path in [*(path for path in extra if path.is_file()), *files_of(kind, environ)]:
        yield from _search(path, [key])


def _search(path: Path, causes: list[Cause]) -> Iterator[Found]:
    try:
        with open(path, "rb") as file:
            lines = file.read(MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, 1):
        for cause in causes:
            if cause.pattern.search(line):
                yield Found(f"{path}:{number}", line.strip(), cause)
