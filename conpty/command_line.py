"""From an argv to the one line that CreateProcessW takes, quoted so that the program reads the same argv again.

Invariant: the program's path is quoted, for an unquoted `C:\\Program Files\\x` also means `C:\\Program`. cmd.exe reads
its line by rules of its own.
"""

from __future__ import annotations

import ntpath
import subprocess
from collections.abc import Sequence

CMD_NAMES = ("cmd", "cmd.exe")
COMMAND_SWITCHES = ("/c", "/k", "/r")  # /r is an old name of /c
CMD_SPECIAL = frozenset(' \t"&|<>()^@=;,!%')


def join(argv: Sequence[str]) -> str:
    """The command line for `argv`. Raises ValueError for what no line can carry (a NUL, a quote in the path)."""
    if not argv or not argv[0] or '"' in argv[0] or any("\0" in word for word in argv):
        raise ValueError("no program, or a character in the arguments that no command line can carry")
    program = f'"{argv[0]}"'
    if ntpath.basename(argv[0]).lower() in CMD_NAMES:
        return " ".join([program, *_cmd_words(argv[1:])])
    return " ".join([program, *([subprocess.list2cmdline(argv[1:])] if len(argv) > 1 else [])])


def _cmd_words(words: Sequence[str]) -> list[str]:
    r"""Arguments for cmd.exe, which takes the line as it stands: no `\"`, and all behind /c or /k is one command.

    With /s it removes the first and the last quote of that command and nothing else (`cmd /?`), so the command comes
    through as it is. One word is a command as it would be typed; of several, each is quoted where it has to be.
    """
    for at, word in enumerate(words):
        if word.lower() in COMMAND_SWITCHES:
            command = list(words[at + 1 :])
            text = command[0] if len(command) == 1 else " ".join(map(_cmd_quoted, command))
            switches = [word] if any(other.lower() == "/s" for other in words[:at]) else ["/s", word]
            return [*words[:at], *switches, *([f'"{text}"'] if command else [])]
    return [_cmd_quoted(word) for word in words]


def _cmd_quoted(word: str) -> str:
    """In quotes when cmd.exe would split or read it otherwise. It knows no way to write a quote within quotes."""
    special = not word or any(character in CMD_SPECIAL for character in word)
    return f'"{word}"' if special and '"' not in word else word


def split_program(command_line: str) -> tuple[str, str]:
    """The program that a command line begins with, without its quotes, and the rest, as CommandLineToArgvW reads it."""
    if command_line.startswith('"'):
        program, _, rest = command_line[1:].partition('"')
        return program, rest.lstrip(" \t")
    words = command_line.split(None, 1)
    return words[0] if words else "", words[1] if len(words) > 1 else ""
