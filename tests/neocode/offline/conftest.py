"""Shared by the offline tests: the recorded cases, the clean logs, and a way to ask the rules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from neocode.providers.base import AskContext
from neocode.providers.offline.answer import Fault, fault
from neocode.providers.offline.match import find

HERE = Path(__file__).parent
CLEAN_LOGS = sorted((HERE / "clean").glob("*.log"))
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def _entries(kind: str) -> list[Any]:
    params = []
    for path in sorted((HERE / "cases").glob("*.toml")):
        for index, entry in enumerate(tomllib.loads(path.read_text("utf-8")).get(kind, [])):
            params.append(pytest.param(entry, id=f"{path.stem}-{index}-{entry['rule']}"))
    return params


def context_of(entry: dict[str, Any]) -> AskContext:
    """The context that a `[[case]]` or `[[miss]]` describes."""
    return AskContext(
        log=entry.get("log", ""),
        command=entry.get("command", ""),
        exit_code=entry.get("exit_code"),
        shell=entry.get("shell", "bash"),
        os=entry.get("os", ""),
        cwd=entry.get("cwd", ""),
        near_commands=tuple(entry.get("near_commands", ())),
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`case` and `miss` run over every recorded entry, `clean_log` over every file of `clean/`."""
    for kind in ("case", "miss"):
        if kind in metafunc.fixturenames:
            metafunc.parametrize(kind, _entries(kind))
    if "clean_log" in metafunc.fixturenames:
        metafunc.parametrize("clean_log", [pytest.param(path, id=path.stem) for path in CLEAN_LOGS])


class Rules:
    """The rules asked as the provider asks them."""

    def faults(self, context: AskContext) -> list[Fault]:
        return [fault(hit, context) for hit in find(context)]

    def case(self, entry: dict[str, Any]) -> list[Fault]:
        return self.faults(context_of(entry))

    def log(self, log: str, **facts: Any) -> list[Fault]:
        return self.faults(context_of({"log": log, **facts}))


@pytest.fixture
def rules() -> Rules:
    return Rules()


def commands(lines: tuple[str, ...]) -> list[str]:
    """`lines` without comments."""
    return [line for line in lines if not line.startswith("#")]


@pytest.fixture
def recorded() -> dict[str, set[str]]:
    """The rule ids that have a `case`, and those that have a `miss`."""
    return {kind: {param.values[0]["rule"] for param in _entries(kind)} for kind in ("case", "miss")}


@pytest.fixture
def recorded_logs() -> list[str]:
    """Every log of `cases/`, ten to a text."""
    logs = [param.values[0].get("log", "") for kind in ("case", "miss") for param in _entries(kind)]
    return ["\n".join(logs[index : index + 10]) for index in range(0, len(logs), 10)]


@pytest.fixture
def clean_logs() -> list[Path]:
    """Every file of `clean/`."""
    return CLEAN_LOGS
