"""What a value taken from a log must look like before it may stand in a command.

Invariants: every validator is a full match with a length bound; no accepted value starts with "-" (but `flag`), holds
a control, bidi or invisible character, or a redaction or cut mark. A value of type `text` is never accepted.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable

CUT_MARK = "[cut]"  # what match.py writes where it shortened a line; a value holding it is not the real one
_MARKS = (CUT_MARK, "[redacted:")
MAX_VALUE = 512  # characters; longer names are not names

TEXT = "text"
Validator = Callable[[str], bool]


def visible(value: str) -> bool:
    """True when every character is printable, and every space is U+0020."""
    return all(c == " " or unicodedata.category(c)[0] in "LMNPS" for c in value)


def _full(pattern: str, most: int = 128) -> Validator:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: len(value) <= most and compiled.fullmatch(value) is not None


def _number(low: int, high: int) -> Validator:
    return lambda value: re.fullmatch(r"[0-9]{1,12}", value) is not None and low <= int(value) <= high


def _path(value: str) -> bool:
    if value[0] in "-~" or value.startswith(("\\\\", "//")) or value != value.strip():
        return False  # options, home expansion and UNC shares (which would send a login to the host named)
    return visible(value)


# below these nothing is a person's own but what OWN names; a log must not make anybody chmod or remove what is there
_SYSTEM = re.compile(
    r"/+(?:bin|boot|dev|etc|lib\w*|proc|run|sbin|sys|System|Library|usr|var|(?:home|Users|root|opt|srv|mnt|media|tmp)/*$|$)"
    r"(?:/|$)|[A-Za-z]:[\\/]*(?:$|(?:Windows|Program Files(?: \(x86\))?|ProgramData|Users[\\/]*$)(?:[\\/]|$))",
    re.IGNORECASE,
)
_OWN = re.compile(r"/(?:usr/(?:local|src)|var/(?:www|opt|folders))/[^/]")


def _own_path(value: str) -> bool:
    """A path that a command may change: no wildcard, no way far up or up from inside, nothing of the system's."""
    slashed = value.replace("\\", "/")
    inside = re.sub(r"^(?:\.\.?/){0,2}", "", slashed)
    if not _path(value) or re.search(r"[*?\[\]]", value) or inside in ("", ".") or ".." in inside.split("/"):
        return False
    return _OWN.match(value) is not None or _SYSTEM.match(value) is None


_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)


def _host(value: str) -> bool:
    if ":" in value:
        try:
            ipaddress.IPv6Address(value.partition("%")[0])
        except ValueError:
            return False
        return "%" not in value
    return len(value) <= 253 and all(_LABEL.fullmatch(label) for label in value.removesuffix(".").split("."))


_URL = re.compile(
    r"(?:https?|git|ssh|file|ftp)://[A-Za-z0-9\[][A-Za-z0-9._~:\[\]-]*(?:/[A-Za-z0-9._~/%+=,:@#?-]*)?", re.ASCII
)


def _git_ref(value: str) -> bool:
    # git-check-ref-format(1), ASCII only, plus a trailing ~N or ^N and HEAD@{N} left out: they need no fixing
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./@#+=,-]*(?:~[0-9]{1,4})?", value, re.ASCII) is None or len(value) > 200:
        return False
    return not re.search(r"\.\.|//|@\{|/\.|\.lock(?:/|$)|[./]$", value)


def _image(value: str) -> bool:
    name = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
    registry = r"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/)?"
    tag = r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
    return len(value) <= 255 and re.fullmatch(rf"{registry}{name}(?:/{name}){{0,6}}{tag}", value) is not None


_WORD = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"

TYPES: dict[str, Validator] = {
    TEXT: lambda value: False,
    "command": _full(_WORD, 64),
    "package": _full(_WORD, 128),
    "npm-package": _full(r"(?:@[a-z0-9_][a-z0-9._~-]*/)?[A-Za-z0-9_][A-Za-z0-9._~-]*", 214),
    "py-package": _full(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", 100),
    "apt-package": _full(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9]+)?", 100),
    "brew-formula": _full(r"(?:[a-z0-9_-]+/[a-z0-9_-]+/)?[a-z0-9][a-z0-9._+@-]*", 100),
    "crate": _full(r"[A-Za-z][A-Za-z0-9_-]*", 64),
    "go-module": _full(r"[a-z0-9][a-z0-9.-]*\.[a-z]{2,}(?:/[A-Za-z0-9._~-]+){1,10}", 200),
    "maven-artifact": _full(
        r"[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*){0,3}", 250
    ),
    "version": _full(r"v?[0-9]{1,8}(?:\.[0-9]{1,8}){0,4}(?:[.-]?[A-Za-z][A-Za-z0-9.-]*)?(?:\+[A-Za-z0-9.-]+)?", 64),
    "path": _path,
    "own-path": _own_path,
    "port": _number(1, 65535),
    "host": _host,
    "url": lambda value: _URL.fullmatch(value) is not None,
    "branch": _git_ref,
    "git-ref": _git_ref,
    "remote": _full(r"[A-Za-z0-9_][A-Za-z0-9._-]*", 64),
    "commit": _full(r"[0-9a-f]{4,64}", 64),
    "env-var": _full(r"[A-Za-z_][A-Za-z0-9_]*"),
    "identifier": _full(r"[A-Za-z_][A-Za-z0-9_]*"),
    "flag": _full(r"-[A-Za-z0-9]|--?[A-Za-z][A-Za-z0-9-]*", 64),
    "number": _full(r"[0-9]{1,12}"),
    "pid": _number(1, 4194304),
    "module": _full(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"),
    "script": _full(r"[A-Za-z0-9_.][A-Za-z0-9_./:-]*", 100),
    "user": _full(r"[A-Za-z_][A-Za-z0-9._-]*\$?", 64),
    "group": _full(r"[A-Za-z_][A-Za-z0-9._-]*", 64),
    "service": _full(r"[A-Za-z0-9_][A-Za-z0-9_.@:\\-]*", 200),
    "image": _image,
    "container": _full(r"[A-Za-z0-9][A-Za-z0-9_.-]*"),
    "k8s-name": _full(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", 253),
    "k8s-kind": _full(r"[A-Za-z][A-Za-z0-9]*(?:\.[a-z0-9.-]+)?", 128),
    "signal": _full(r"(?:SIG)?[A-Z][A-Z0-9]*|[0-9]{1,2}", 16),
    "errno": _full(r"E[A-Z0-9]+|[0-9]{1,5}", 24),
    "database": _full(r"[A-Za-z_][A-Za-z0-9_$-]*", 64),
    "drive": _full(r"[A-Za-z]:", 2),
    "header": _full(r"[A-Za-z0-9_][A-Za-z0-9_+.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_+.-]*){0,8}"),
    "library": _full(_WORD, 64),
}


def valid(type_name: str, value: str) -> bool:
    """May `value` stand in a command as a `type_name`? KeyError for an unknown type."""
    check = TYPES[type_name]
    if not value or len(value) > MAX_VALUE or any(mark in value for mark in _MARKS):
        return False
    return visible(value) and check(value)
