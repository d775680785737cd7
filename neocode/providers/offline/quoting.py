"""One word made safe for one shell.

Invariant: `quote(word, kind)` is read back by that shell as exactly `word`, whatever it holds, or it is None (this
shell has no safe spelling). Callers pass whole words: gluing a quoted piece to a bare one is not safe in PowerShell.
"""

from __future__ import annotations

import re

POWERSHELLS = ("pwsh", "powershell")

# "=" first is a path lookup in zsh, "%" first a job, "@" first a splat in PowerShell, "," an array there.
_PLAIN_POSIX = re.compile(r"[A-Za-z0-9_./@:+,-][A-Za-z0-9_./@:+,%=-]*", re.ASCII)
# `-Da.b` is cut at the dot by PowerShell, so an option is plain only without dots and colons
_PLAIN_POWERSHELL = re.compile(r"[A-Za-z0-9_./\\][A-Za-z0-9_./\\:+=-]*|--?[A-Za-z0-9_=-]+", re.ASCII)
_PLAIN_CMD = re.compile(r"[A-Za-z0-9_./\\@:+~-]+", re.ASCII)
_UNSAFE_CMD = re.compile(r'["%^!&|<>\r\n]')  # no spelling of these survives cmd and the batch file that it calls
_SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b"  # PowerShell takes all five for a quote; doubled it is the character


def quote(word: str, kind: str, *, force: bool = False) -> str | None:
    """`word` as `kind` must spell it; None when it cannot be spelled safely. `force` quotes plain words too."""
    if not word or any(ord(c) < 0x20 or ord(c) == 0x7F for c in word):
        return None
    if kind == "cmd":
        return _cmd(word)
    if kind in POWERSHELLS:
        return _powershell(word, force)
    if not force and _PLAIN_POSIX.fullmatch(word):
        return word
    if kind == "fish":
        return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _powershell(word: str, force: bool) -> str | None:
    if '"' in word or (word.endswith("\\") and " " in word):
        return None  # 5.1 hands these broken to native programs
    if not force and _PLAIN_POWERSHELL.fullmatch(word):
        return word
    for mark in _SINGLE_QUOTES:
        word = word.replace(mark, mark * 2)
    return f"'{word}'"


def _cmd(word: str) -> str | None:
    if _UNSAFE_CMD.search(word):
        return None
    if _PLAIN_CMD.fullmatch(word):
        return word
    return None if word.endswith("\\") else f'"{word}"'
