"""Which failures are worth a word, and which commands are never put into a line. Pure functions over records.

Invariant: when in doubt, silence; a person can always press the hotkey.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ptyproxy.records import CommandRecord

# an exit code that is an answer, or the user's own doing: interrupted (SIGINT), quit, terminated, stopped
NO_FAULT_CODES = frozenset(
    {0, 130, 131, 143, 148, 0xC000013A, 0xC000013A - (1 << 32)}
)  # Windows: STATUS_CONTROL_C_EXIT
# killed (OOM), aborted, segmentation fault ...: worth a word even when nothing was printed
TELLING_CODES = frozenset({126, 127, 134, 135, 136, 137, 139, 9009})
WINDOWS_FAULTS = range(0xC0000000, 0xD0000000)  # NTSTATUS of severity "error": access violation, missing DLL ...
# programs whose non-zero exit is an answer
ANSWERING_PROGRAMS = frozenset(
    """[ [[ test false grep egrep fgrep zgrep rg ag diff cmp colordiff pgrep pidof which type command hash expr
    getent timeout mountpoint is-active is-enabled fzf sk dialog whiptail zenity less more man watch tail
    exit logout return break findstr where fc comp choice robocopy""".split()
)
# programs that show what others have written; where nobody tells an exit code, their text says nothing
SHOWING_PROGRAMS = frozenset(
    """type more find sort tree echo set help ver doskey cls title prompt path rem cat bat head curl wget tasklist
    systeminfo wevtutil ssh wsl vim nvim nano notepad""".split()
)
# likewise, when they are given nothing to run: what shows then is a conversation
REPLS = frozenset("python python3 py ipython node deno irb psql mysql sqlite3 redis-cli ghci gdb".split())
# without a script or `-c` they end with the status of whatever was typed in them last, if they started at all
INHABITED_SEC = 1.0
SHELLS = frozenset("bash zsh fish sh dash ash ksh ksh93 mksh pwsh powershell cmd nu".split())
_RUNS_SOMETHING = re.compile(r"\s(?:[^-\s]|-[A-Za-z]*c\b|--?[cC]ommand\b)")
# words in front of the program that matters
_PREFIXES = frozenset("sudo doas env time nice nohup command builtin exec noglob stdbuf ionice then do else !".split())
# their options that take the next word
_PREFIX_VALUES = {
    "sudo": frozenset("-u -g -h -p -C -D -R -T -U -r -t".split()),
    "doas": frozenset("-u -C".split()),
    "env": frozenset("-u -C -S".split()),
    "nice": frozenset({"-n"}),
    "ionice": frozenset("-c -n".split()),
    "time": frozenset("-f -o".split()),
    "stdbuf": frozenset("-i -o -e".split()),
    "exec": frozenset({"-a"}),
}
_SEPARATORS = re.compile(r"\|\||&&|[|;&\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_WINDOWS_SUFFIX = re.compile(r"\.(?:exe|cmd|bat|com)\Z", re.IGNORECASE)

MAX_INSERT_CHARS = 500  # a longer line is no command that a person checks before Enter
_DESTRUCTIVE = (
    r"\brm\b(?=.*\s-\w*[rRf]|.*\s--(?:recursive|force|no-preserve-root))",
    r"\b(?:rmdir\s+/s|rd\s+/s|del\s+/[sfq]|format\s+[a-z]:|Remove-Item\b.*-(?:Recurse|Force))",
    r"\b(?:mkfs|mke2fs|wipefs|blkdiscard|shred|fdisk|parted|sgdisk)\b",
    r"\bdd\b.*\bof=",
    r"\w*\(\)\s*\{.*\|.*&",
    r"\bgit\b.*\b(?:push\b.*(?:\s-\w*f|--force|--mirror|--delete|\s\+)|clean\b.*-\w*[fx]|reset\b.*--hard"
    r"|filter-branch|filter-repo|reflog\s+expire|checkout\b.*\s(?:--\s|\.(?:\s|$))|branch\b.*\s(?-i:-D)|stash\s+(?:drop|clear))",
    r"\b(?:curl|wget|fetch|iwr|irm|Invoke-\w+)\b.*\|\s*(?:sudo\s+)?(?:\w*sh|python\d?|perl|ruby|node|iex|Invoke-Expression)\b",
    r"\b(?:iex|Invoke-Expression|eval|source)\b.*(?:\b(?:curl|wget|iwr|irm)\b|DownloadString)",
    r"(?:ba|z|)sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)",
    r">\s*/dev/(?:sd|nvme|hd|vd|mmcblk|disk)",
    r"(?<!>)>\|?\s*/(?:etc|boot|usr|s?bin|lib\w*)/",
    r"\bchmod\b.*(?:\b0?777\b|-R\b.*\s/(?:\s|$))",
    r"\bchown\b.*-R\b.*\s/(?:\s|$)",
    r"\b(?:drop|truncate)\s+(?:table|database|schema)\b|\bdelete\s+from\b(?!.*\bwhere\b)",
    r"\bdocker\b.*\b(?:prune|rm\b.*-\w*f|rmi\b.*-\w*f|volume\s+rm)|\bdocker[ -]compose\b.*\bdown\b.*-v",
    r"\bkubectl\b.*\bdelete\b|\bhelm\b.*\b(?:delete|uninstall)\b|\bterraform\b.*\bdestroy\b",
    r"\b(?:shutdown|reboot|halt|poweroff|init\s+[06])\b",
    r"\bkill(?:all)?\b.*\s-(?:9|KILL|SIGKILL)\s+-?1\b",
    r"\bfind\b.*(?:-delete|-exec\s+rm)\b",
    r"\b(?:truncate\b.*-s\s*0|crontab\s+-r|userdel|groupdel|npm\s+unpublish|gh\s+repo\s+delete)\b",
)

_ASKS_US = re.compile(r"\s*(?:\S*[/\\])?neocode(?:\.exe)?\s+diag\b")
_ESCAPED = re.compile(r"\\.")
_QUOTED = re.compile(r"\\.|'[^']*'")
_EVENT = re.compile(r"!(?![\s=(]|$)")


class Settings(NamedTuple):
    """What the user can change of all this."""

    ignore: frozenset[str] = ANSWERING_PROGRAMS
    ours: frozenset[str] = frozenset({"neocode", "@ai"})


def answering_programs(changes: Iterable[str]) -> frozenset[str]:
    """The programs whose non-zero exit is an answer: `NAME` of the user's changes adds one, `!NAME` takes one away."""
    added = {name for name in changes if not name.startswith("!")}
    removed = {name[1:] for name in changes if name.startswith("!")}
    return (ANSWERING_PROGRAMS | added) - removed


def program_of(command: str) -> str:
    """The program whose exit code a command line ends with: of its last simple command, without sudo and the like."""
    segments = [part for part in _SEPARATORS.split(command) if part.strip()]
    valued: frozenset[str] = frozenset()
    skip = False
    for word in segments[-1].split() if segments else ():
        if skip or word in _PREFIXES or word.startswith("-") or _ASSIGNMENT.match(word):
            skip = not skip and word in valued
            valued = _PREFIX_VALUES.get(word, frozenset()) if word in _PREFIXES else valued
            continue
        name = word.strip("\"'`(){}\\").replace("\\", "/").rpartition("/")[2]
        return _WINDOWS_SUFFIX.sub("", name)
    return ""


def asks_us(command: str) -> bool:
    """Whether a line begins with `neocode diag`, whatever it does with what that prints."""
    return _ASKS_US.match(command) is not None


def skip_reason(
    record: CommandRecord, *, has_text: bool, hidden: bool, settings: Settings, by_text: bool = False
) -> str | None:
    """Why this command is not diagnosed by itself, None when it is. `hidden`: typed with a leading space.

    `has_text`: it put something on the screen. `by_text`: an unknown exit code is none that one could have known, so
    its text may be looked at.
    """
    code = record.exit_code
    if code is None and not by_text:
        return "exit code unknown"
    if code in NO_FAULT_CODES:
        return f"exit code {code}"
    if hidden or (record.command or "").startswith(" "):
        return "typed with a leading space"
    if record.alternate_screen:
        return "a full-screen program"
    program = program_of(record.command or "")
    if program in settings.ours:
        return "a command of ours"
    if program in settings.ignore or (code is None and program.lower() in settings.ignore):
        return "a program whose exit code is an answer"
    talks = program in SHELLS or (code is None and program in REPLS)
    if talks and _was_lived_in(record, program):
        return "a shell inside the shell"
    if code is None and program.lower() in SHOWING_PROGRAMS:
        return "a program that shows what others wrote"
    if not has_text and not (code in TELLING_CODES or (code is not None and code % (1 << 32) in WINDOWS_FAULTS)):
        return "nothing on the screen"
    return None


def _was_lived_in(record: CommandRecord, program: str) -> bool:
    *_, arguments = re.split(rf"(?:^|[\s/]){re.escape(program)}(?=\s|$)", record.command or "")
    if _RUNS_SOMETHING.search(arguments):
        return False
    return record.ended is not None and record.ended - record.started >= INHABITED_SEC


def expands_history(command: str) -> bool:
    """Whether bash or zsh might put an earlier command in place of a `!` or `^` here: Enter would run what nobody saw.

    In doubt it is so. Inside double quotes `!` expands too, so single quotes count only where there are no others.
    """
    bare = (_ESCAPED if '"' in command else _QUOTED).sub("", command)
    return command.startswith("^") or _EVENT.search(bare) is not None


def is_destructive(command: str) -> bool:
    """Whether a command may destroy what cannot be got back, or runs code from the network: shown, never inserted."""
    return any(re.search(pattern, command, re.IGNORECASE) for pattern in _DESTRUCTIVE)


def insertable(command: str) -> bool:
    """Whether a command may be put into a shell's line: one printable line, not too long, which runs as it reads."""
    if not (0 < len(command) <= MAX_INSERT_CHARS and command.isprintable()):
        return False
    return not (is_destructive(command) or expands_history(command))
