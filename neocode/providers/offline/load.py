"""Reads `rules/*.toml` and `tables/*.toml`. Invariant: each is read once per process.

A rule of the package that is wrong fails `lint` in the tests, never an ask.
"""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path

import msgspec

from neocode.providers.offline.rule import Rule

# by name, because type checkers for 3.10 have no stubs of the backport
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

HERE = Path(__file__).parent


class _RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    rule: tuple[Rule, ...]


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of one file. Raises msgspec.ValidationError, tomllib.TOMLDecodeError, OSError."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), _RuleFile).rule


@functools.cache
def rules() -> tuple[Rule, ...]:
    """Every rule of the package, by file name, in the order of the files."""
    return tuple(rule for path in rule_files() for rule in read_rules(path))


def rule_files() -> list[Path]:
    """The rule files of the package, sorted."""
    return sorted((HERE / "rules").glob("*.toml"))


@functools.cache
def table(name: str) -> dict[str, dict[str, str]]:
    """Table `tables/<name>.toml`: key -> {column: value}; a bare string is the column "any"."""
    raw = tomllib.loads((HERE / "tables" / f"{name}.toml").read_text("utf-8"))
    return {key: {"any": value} if isinstance(value, str) else value for key, value in raw.items()}
