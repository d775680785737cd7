"""Fixes that must be computed: a name near the one typed, a package by a table of real ones.

Invariant: a function returns drafts, never finished text; what comes from the log goes through types and quoting like
any capture. A package that no table knows is never proposed as a fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from neocode.near import nearest
from neocode.providers.base import AskContext
from neocode.providers.offline.load import table
from neocode.providers.offline.packages import install
from neocode.providers.offline.rule import Confidence
from neocode.providers.offline.select import shell_kind, system
from neocode.providers.offline.template import Draft, Typed


class Situation(NamedTuple):
    """What a function may look at: the captures, the ask's context, the clean log."""

    groups: Mapping[str, str]
    context: AskContext
    log: str


class Computed(NamedTuple):
    """What a function adds. `fix` comes before the rule's own; `confidence` replaces the rule's when set."""

    explain: str = ""
    fix: tuple[Draft, ...] = ()
    check: tuple[Draft, ...] = ()
    confidence: Confidence | None = None


NOTHING = Computed()
_PLAIN_ARGUMENTS = re.compile(r"(?: [A-Za-z0-9_./:@=+,-]{1,200}){0,20}", re.ASCII)


def nearest_command(situation: Situation) -> Computed:
    """The program meant by a typo: from the names on the user's PATH, else from the programs that the table knows.

    A name that the table knows is no typo, however near another one is: `tsc` is not `tac`.
    """
    name = situation.groups.get("name", "")
    on_path = situation.context.near_commands
    if name in table("commands"):
        return NOTHING
    found = nearest(name, on_path) or nearest(name, [*table("commands"), *table("git")["builtin"]["programs"].split()])
    if not found:
        return NOTHING
    where = "on the PATH is" if found[0] in on_path else "a known program is"
    return Computed(
        explain=f"`{name}` may be a typo: {where} `{found[0]}`.",
        fix=tuple(_retyped(name, candidate, situation.context.command) for candidate in found[:2]),
        confidence="high" if found[0] in on_path else "medium",
    )


def _retyped(wrong: str, right: str, command: str) -> Draft:
    """The user's own line with the name put right, when its other words are plain; else the name alone."""
    before, _, after = command.strip().partition(wrong)
    if before in ("", "sudo ") and _PLAIN_ARGUMENTS.fullmatch(after) and "redacted" not in after:
        return Draft(f"{before}{{right}}{after}", {"right": Typed("command", right)})
    return Draft("{right}", {"right": Typed("command", right)})


def command_package(situation: Situation) -> Computed:
    """How to install a program that the table knows."""
    name = situation.groups.get("name", "")
    entry = table("commands").get(name)
    if entry is None:
        return NOTHING
    drafts = install(entry, situation.context)
    return Computed(explain=entry.get("note", ""), fix=drafts, confidence="high" if drafts else None)


def nearest_git(situation: Situation) -> Computed:
    """The git subcommand meant by a typo."""
    name = situation.groups.get("name", "")
    found = nearest(name, table("git")["builtin"]["subcommands"].split())
    if not found:
        return NOTHING
    command = situation.context.command.strip()
    after = command.partition(f"git {name}")[2] if command.startswith(f"git {name}") else ""
    after = after if _PLAIN_ARGUMENTS.fullmatch(after) and "redacted" not in after else ""
    right = {"right": Typed("command", found[0])}
    return Computed(
        explain=f"The nearest one is `{found[0]}`.", fix=(Draft(f"git {{right}}{after}", right),), confidence="high"
    )


def python_package(situation: Situation) -> Computed:
    """The package on PyPI that provides an import name, when the table knows it."""
    name = situation.groups.get("module", "").partition(".")[0]
    known = table("imports")
    if name in known:
        package = Typed("py-package", known[name]["any"])
        return Computed(
            explain="" if name == package.value else f"The module `{name}` comes in the package `{package.value}`.",
            fix=(Draft(f"{_python(situation.context)} -m pip install {{package}}", {"package": package}),),
            confidence="high",
        )
    found = nearest(name, known, 1)
    typo = f" If it is a typo: a known module is `{found[0]}`." if found else ""
    return Computed(
        explain=(
            f"`{name}` is not in the table of known packages, so it may be a module of the project itself: then it is "
            f"missing from `sys.path`. Do not install a package only because its name fits.{typo}"
        ),
        confidence="low",
    )


def _python(context: AskContext) -> str:
    """The interpreter to call: the one in the failed command, else the system's usual name."""
    program = context.command.split(" ")[0].rpartition("/")[2]
    if re.fullmatch(r"python(?:3(?:\.\d{1,2})?)?", program):
        return program
    return "python" if system(context.os, shell_kind(context.shell, context.os)) == "windows" else "python3"


def header_package(situation: Situation) -> Computed:
    """The development package that holds a C header."""
    header = situation.groups.get("header", "")
    known = table("headers")
    entry = known.get(header) or known.get(f"{header.partition('/')[0]}/")
    return _development(entry, situation.context)


def library_package(situation: Situation) -> Computed:
    """The development package that holds a library to link with."""
    return _development(table("libraries").get(situation.groups.get("library", "")), situation.context)


def _development(entry: Mapping[str, str] | None, context: AskContext) -> Computed:
    if entry is None:
        return NOTHING
    drafts = install(entry, context)
    return Computed(explain=entry.get("note", ""), fix=drafts, confidence="high" if drafts else None)


def nearest_script(situation: Situation) -> Computed:
    """The script or target meant by a typo, from the names that the log lists (`  build`, `- build`, `"build":`)."""
    name = situation.groups.get("name", "")
    listed = re.findall(r"^[ \t]{1,8}(?:[-*] )?\"?([A-Za-z][\w:.-]{0,60})\"?(?=[:\s]|$)", situation.log, re.MULTILINE)
    found = nearest(name, listed, 1)
    return Computed(explain=f"The nearest name in the list is `{found[0]}`.") if found else NOTHING


COMPUTE: dict[str, Callable[[Situation], Computed]] = {
    "nearest_command": nearest_command,
    "command_package": command_package,
    "nearest_git": nearest_git,
    "python_package": python_package,
    "header_package": header_package,
    "library_package": library_package,
    "nearest_script": nearest_script,
}
