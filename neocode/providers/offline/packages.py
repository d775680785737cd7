"""The install command for a thing that a table knows, by package manager. Invariant: package names come from tables
only, never from a log."""

from __future__ import annotations

from collections.abc import Mapping

from neocode.providers.base import AskContext
from neocode.providers.offline.select import shell_kind, system
from neocode.providers.offline.template import Draft, Typed

_DISTRIBUTIONS = (
    ("apt", ("debian", "ubuntu", "mint", "raspbian", "kali", "pop")),
    ("dnf", ("fedora", "rhel", "red hat", "centos", "rocky", "alma", "amazon", "oracle")),
    ("pacman", ("arch", "manjaro")),
    ("apk", ("alpine",)),
)
_INSTALL = {
    "apt": "sudo apt install {package}",
    "dnf": "sudo dnf install {package}",
    "brew": "brew install {package}",
    "winget": "winget install --exact --id {package}",
}
_TITLES = {"apt": "# Debian, Ubuntu", "dnf": "# Fedora, RHEL"}


def managers(context: AskContext) -> tuple[str, ...]:
    """The package managers that fit the context's system, likeliest first; empty when no table has a column for it."""
    kind = shell_kind(context.shell, context.os)
    name = system(context.os, kind)
    if name == "darwin":
        return ("brew",)
    if name == "windows":
        return ("winget",)
    detail = context.os.lower()
    for manager, words in _DISTRIBUTIONS:
        if any(word in detail for word in words):
            return (manager,) if manager in _INSTALL else ()
    return ("apt", "dnf")


def install(entry: Mapping[str, str], context: AskContext) -> tuple[Draft, ...]:
    """Install commands for a table entry {manager: packages, "any": a whole command}; empty when it has none."""
    found = [manager for manager in managers(context) if manager in entry]
    drafts: list[Draft] = []
    for manager in found:
        if len(found) > 1:
            drafts.append(Draft(_TITLES[manager]))
        drafts.append(_draft(manager, entry[manager].split()))
    if not drafts and "any" in entry:
        drafts.append(Draft(entry["any"]))
    return tuple(drafts)


def _draft(manager: str, packages: list[str]) -> Draft:
    names = [f"p{index}" for index in range(len(packages))]
    template = _INSTALL[manager].replace("{package}", " ".join(f"{{{name}}}" for name in names))
    kind = {"apt": "apt-package", "brew": "brew-formula"}.get(manager, "package")
    return Draft(template, {name: Typed(kind, package) for name, package in zip(names, packages, strict=True)})
