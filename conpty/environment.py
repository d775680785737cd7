"""The environment block that CreateProcessW takes, and the names in the one that we were given.

Invariants: names differ in more than case, as Windows has it; no value can add or end an entry; sorted, as
CreateProcessW asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def split_entry(entry: str) -> tuple[str, str]:
    """Name and value of `NAME=value`; the name of `=C:=C:\\folder` is `=C:`."""
    name, _, value = entry[1:].partition("=")
    return entry[:1] + name, value


def respelled(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """`environ` with each name spelled as in `names`, if it is there in any case."""
    spelling = {name.upper(): name for name in names}
    return {spelling.get(name.upper(), name): value for name, value in environ.items()}


def environment_block(environ: Mapping[str, str]) -> str:
    """Entries `NAME=value`, each closed by a NUL; the NUL that closes the block is for the caller to add.

    Of names that differ only in case the last wins. A name or value with a NUL in it, or a name with `=` in it (but
    for the leading one of `=C:`, where cmd.exe keeps a drive's folder), cannot be passed on and is left out.
    """
    entries = {}
    for name, value in environ.items():
        if name and "=" not in name[1:] and "\0" not in name and "\0" not in value:
            entries[name.upper()] = f"{name}={value}\0"
    return "".join(entries[name] for name in sorted(entries))
