"""Starts PowerShell (5.1 and 7) with its marks and its widget, after the user's profiles.

Invariants: the script comes in as text, which no execution policy governs, and no policy is asked to make way; what the
user gave to run of their own leaves PowerShell as it is. Where a language mode forbids the script (AppLocker, App
Control), nothing of it runs, and the session's directory says so to `neocode doctor`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptyproxy.integration.base import Plan, control_letter
from ptyproxy.platform.base import ShellCommand
from ptyproxy.session import REFUSED_FILE, Session

# Ctrl+Alt+Shift with F12 and F11: PSReadLine knows them by name, the console and .NET 7 read them, nobody binds them
WIDGET_CHORD = b"\x1b[24;8~"
HOTKEY_CHORD = b"\x1b[23;8~"
_SCRIPT = "neocode.ps1"
_PLAIN = frozenset(
    {"-nologo", "-login", "-l", "-noprofile", "-nop", "-noexit", "-noe", "-mta", "-sta", "-noprofileloadtime"}
)
_WITH_VALUE = frozenset({"-executionpolicy", "-ex", "-ep", "-workingdirectory", "-wd", "-windowstyle", "-w"})
# PowerShell takes the typographic ones for the same (about_Quoting_Rules; CharTraits.IsSingleQuote)
_SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b"


def why_not(path: str, arguments: tuple[str, ...], environ: Mapping[bytes, bytes], *, login: bool) -> str:
    """Why PowerShell started like this is left alone, empty when it can be integrated."""
    rest = [_option(word) for word in arguments]
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            rest = rest[1:]
        elif word not in _PLAIN:
            return f"PowerShell was given {word}"
    return ""


def _option(word: str) -> str:
    """`/NoLogo` is `-NoLogo` on Windows; `--` counts as `-`."""
    return "-" + word.lstrip("-/").lower() if word[:1] in "-/" and word.count("/") <= 1 else word


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
    script = session.write(_SCRIPT, source.encode("ascii"))
    env = dict(environ)
    env[b"NEOCODE_HOTKEY"] = control_letter(hotkey).encode()
    # pwsh takes -Login only as the first of its arguments
    given = [_option(word) for word in arguments]
    first = ("-Login",) if login and not {"-login", "-l"} & set(given) else ()
    # the user's own -NoExit would be the same one
    name = path.replace("\\", "/").rpartition("/")[2]
    argv = (name, *first, *arguments, "-NoExit", "-Command", _loader(script, session))
    return Plan(ShellCommand(path, argv, env), "pwsh", True, WIDGET_CHORD, hotkey_key=HOTKEY_CHORD)


def _loader(script: str, session: Session) -> str:
    """What PowerShell is told to run. No double quotes in it: on Windows an argument is quoted with them."""
    refused = f"{session.directory.rstrip('/')}/{REFUSED_FILE}"
    nonce = f"{session.directory.rstrip('/')}/nonce"
    return (
        "if ($ExecutionContext.SessionState.LanguageMode -eq 'FullLanguage') "
        f"{{ try {{ Invoke-Expression ([IO.File]::ReadAllText({quoted(script)})) }} catch {{ }} }} "
        # what a constrained language allows: commands and variables
        f"else {{ Remove-Item -LiteralPath {quoted(nonce)} -ErrorAction Ignore; "
        f"Set-Content -LiteralPath {quoted(refused)} -ErrorAction Ignore "
        "-Value ('PowerShell runs in ' + $ExecutionContext.SessionState.LanguageMode + ' here') }"
    )


def quoted(text: str) -> str:
    """`text` as PowerShell's single-quoted string: any kind of single quote in it is written twice."""
    return "'" + "".join(char * 2 if char in _SINGLE_QUOTES else char for char in text) + "'"
