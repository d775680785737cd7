"""Security descriptors in their text form (SDDL), read and written without Windows. Invariant: what cannot be read is
taken for access of a stranger, never for none.

Source: learn.microsoft.com, "Security Descriptor String Format" and "ACE Strings".
"""

from __future__ import annotations

import re
from typing import NamedTuple

READ = 0x1 | 0x80000000 | 0x10000000  # FILE_READ_DATA, GENERIC_READ, GENERIC_ALL
# FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_DELETE_CHILD, DELETE, WRITE_DAC, WRITE_OWNER, GENERIC_WRITE, GENERIC_ALL
WRITE = 0x2 | 0x4 | 0x40 | 0x10000 | 0x40000 | 0x80000 | 0x40000000 | 0x10000000
EVERYONE = "WD"
# Whoever administers the machine reads everything anyway: SYSTEM, Administrators. CO and OW stand for the owner.
TRUSTED = frozenset({"SY", "BA", "CO", "OW", "S-1-5-18", "S-1-5-32-544", "S-1-3-0", "S-1-3-4"})

_RIGHTS = {
    "GA": 0x10000000, "GX": 0x20000000, "GW": 0x40000000, "GR": 0x80000000,
    "RC": 0x20000, "SD": 0x10000, "WD": 0x40000, "WO": 0x80000,
    "FA": 0x1F01FF, "FR": 0x120089, "FW": 0x120116, "FX": 0x1200A0,
    "CC": 0x1, "DC": 0x2, "LC": 0x4, "SW": 0x8, "RP": 0x10, "WP": 0x20, "DT": 0x40, "LO": 0x80, "CR": 0x100,
}  # fmt: skip
_ALL = 0xFFFFFFFF
_PART = re.compile(r"([OGDS]):")
_DENIALS = ("D", "OD", "XD", "ZD")


class Ace(NamedTuple):
    """One entry: `kind` (A allows, D denies), `mask` of access rights, `trustee` a SID or a two-letter alias."""

    kind: str
    flags: str
    mask: int
    trustee: str


def owner_only(sid: str, *, inherited: bool = False) -> str:
    """A protected DACL that lets in `sid` alone; `inherited`: also what is made in that directory."""
    return f"D:P(A;{'OICI' if inherited else ''};FA;;;{sid})"


def owner(sddl: str) -> str:
    """The owner's SID or alias, "" when the text does not tell."""
    return _parts(sddl).get("O", "")


def aces(sddl: str) -> tuple[Ace, ...]:
    """The entries of the DACL. None at all (a NULL DACL) lets everyone in, and so it is told."""
    dacl = _parts(sddl).get("D")
    if dacl is None or "NO_ACCESS_CONTROL" in dacl:
        return (Ace("A", "", _ALL, EVERYONE),)
    found = []
    for entry in _entries(dacl):
        fields = entry.split(";")
        if len(fields) < 6:
            found.append(Ace("?", "", _ALL, entry))
        else:
            found.append(Ace(fields[0], fields[1], _mask(fields[2]), fields[5]))
    return tuple(found)


def strangers(sddl: str, sid: str, mask: int = READ | WRITE) -> list[str]:
    """Who else than `sid` and the machine's administrators has one of the rights in `mask`; each once, in order."""
    theirs = (each for each in aces(sddl) if each.kind not in _DENIALS and "IO" not in _pairs(each.flags))
    return list(dict.fromkeys(e.trustee for e in theirs if e.mask & mask and e.trustee not in TRUSTED | {sid}))


def is_foreign(sddl: str, sid: str) -> bool:
    """Whether it belongs to someone else than `sid` and the machine's administrators."""
    return owner(sddl) not in (TRUSTED | {sid, ""})


def _parts(sddl: str) -> dict[str, str]:
    """The text behind O:, G:, D: and S:. Colons within an entry (a conditional one) are not looked at."""
    parts: dict[str, str] = {}
    name, start, depth = "", 0, 0
    for at, char in enumerate(sddl):
        depth += (char == "(") - (char == ")")
        if depth == 0 and (found := _PART.match(sddl, at)):
            if name:
                parts[name] = sddl[start:at]
            name, start = found[1], at + 2
    if name:
        parts[name] = sddl[start:]
    return parts


def _entries(dacl: str) -> list[str]:
    entries = []
    depth = start = 0
    for at, char in enumerate(dacl):
        if char == "(":
            start = at + 1 if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                entries.append(dacl[start:at])
    return entries


def _pairs(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def _mask(rights: str) -> int:
    try:
        return int(rights, 0)
    except ValueError:
        pass
    mask = 0
    for pair in _pairs(rights):
        mask |= _RIGHTS.get(pair, _ALL)
    return mask
