"""Reads the marks of others: OSC 133 (FinalTerm, kitty, iTerm2), 633 (VS Code), 7, 9;9 and 1337 (directory).

They carry no proof of who wrote them. Sources: the OSC 133 proposal (freedesktop "Semantic prompts"), kitty's and
VS Code's shell-integration documents, ConEmu's and iTerm2's escape-code pages.
"""

from __future__ import annotations

import re
from typing import Literal

from ptyproxy.stream.osc import decode_value

ForeignKind = Literal["A", "B", "C", "D", "command", "cwd"]
Found = tuple[ForeignKind, dict[str, str]]

# P begins a prompt without a fresh line, N one after an implicit end of the command
_KINDS: dict[str, ForeignKind] = {"A": "A", "P": "A", "N": "A", "B": "B", "C": "C", "D": "D"}
# k= of a prompt that is no new one: secondary, continuation, right
_NOT_PRIMARY = {"s", "c", "r"}
_VSCODE_ESCAPE = re.compile(rb"\\(?:\\|x([0-9A-Fa-f]{2}))")
# what bash's printf %q writes: backslash pairs, '...' and $'...' with C escapes
_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'|'([^']*)'|\\(.)|([^\\'$]+|\$)", re.DOTALL)
_C_ESCAPE = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_C_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def read(body: bytes) -> Found | None:
    """The kind and decoded fields of an OSC body such as `133;D;1`, or None."""
    number, _, rest = body.partition(b";")
    if number == b"133":
        return _prompt_mark(rest)
    if number == b"633":
        return _vscode_mark(rest)
    if number == b"7":
        return _file_url(rest.decode("latin-1"))
    if number == b"9" and rest.startswith(b"9;"):
        return _directory(_text(rest[2:]).strip('"'))
    if number == b"1337" and rest.startswith(b"CurrentDir="):
        return _directory(_text(rest[11:]))
    return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _directory(path: str) -> Found | None:
    return ("cwd", {"cwd": path}) if path else None


def _file_url(url: str) -> Found | None:
    """`file://host/path`, percent-encoded, or kitty's `kitty-shell-cwd://host/path`, which is not."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    if scheme not in ("file", "kitty-shell-cwd") or not slash:
        return None
    raw = slash + path
    text = decode_value(raw)[0] if scheme == "file" else _text(raw.encode("latin-1"))
    if re.match(r"/[A-Za-z]:", text):
        text = text[1:]
    return "cwd", {"cwd": text, "host": host}


def _prompt_mark(rest: bytes) -> Found | None:
    letter, _, options = _text(rest).partition(";")
    kind = _KINDS.get(letter)
    if kind is None:
        return None
    fields: dict[str, str] = {}
    # cmdline= runs to the end: its text may hold a raw `;`
    options, has_cmdline, cmdline = f";{options}".partition(";cmdline=")
    if has_cmdline:
        fields["cmd"] = _unquoted(cmdline)
    for option in options.split(";"):
        key, equals, value = option.partition("=")
        if not equals and kind == "D" and value == "" and key:
            fields.setdefault("exit", key)
        elif key == "cmdline_url":
            fields["cmd"] = decode_value(value.encode("utf-8").decode("latin-1"))[0]
        elif key in ("aid", "k"):
            fields[key] = value
    if kind == "A" and fields.get("k") in _NOT_PRIMARY:
        return None
    return kind, fields


def _vscode_mark(rest: bytes) -> Found | None:
    letter, _, value = rest.partition(b";")
    if letter in (b"A", b"B", b"C"):
        return _KINDS[letter.decode()], {}
    if letter == b"D":
        code = value.partition(b";")[0]
        return "D", {"exit": _text(code)} if code else {}
    if letter == b"E":
        return "command", {"cmd": _vscode_text(value.partition(b";")[0])}
    if letter == b"P" and value.startswith(b"Cwd="):
        return _directory(_vscode_text(value[4:]))
    return None


def _vscode_text(data: bytes) -> str:
    return _text(_VSCODE_ESCAPE.sub(lambda match: bytes((int(match[1], 16),)) if match[1] else b"\\", data))


def _unquoted(text: str) -> str:
    """The command line that `printf %q` quoted."""
    return "".join(_piece(match) for match in _QUOTED.finditer(text))


def _piece(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[2] or match[3] or match[4] or ""
    return _C_ESCAPE.sub(lambda escape: _c_character(escape[1]), match[1])


def _c_character(escape: str) -> str:
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _C_LETTERS.get(escape, escape)
