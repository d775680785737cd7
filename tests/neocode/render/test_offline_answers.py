"""What the offline rules write, the parser reads back: every recorded case."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from neocode.providers.base import AskContext
from neocode.providers.offline.answer import fault
from neocode.providers.offline.markdown import diagnosis
from neocode.providers.offline.match import find
from neocode.render.answer import parse_answer
from neocode.render.commands import UNSAFE
from ptyproxy.sanitize import clean_command

CASES = Path(__file__).parent.parent / "offline" / "cases"
tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


def recorded(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8")).get("case", [])
    return entries


def offered(commands: list[str]) -> tuple[str, ...]:
    """Without comments, each once, and only what may stand in a command line."""
    return tuple(dict.fromkeys(each for each in commands if not each.startswith("#") and not clean_command(each)[1]))


@pytest.mark.parametrize("path", sorted(CASES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_command_of_a_rule_is_read_back(path: Path) -> None:
    for entry in recorded(path):
        shell = entry.get("shell", "bash")
        context = AskContext(
            log=entry.get("log", ""),
            command=entry.get("command", ""),
            exit_code=entry.get("exit_code"),
            shell=shell,
            os=entry.get("os", ""),
            near_commands=tuple(entry.get("near_commands", ())),
        )
        faults = [fault(hit, context) for hit in find(context)]
        if not faults:
            continue
        found = parse_answer("".join(diagnosis(faults, shell)))
        assert found.fix_commands == offered([command for each in faults for command in each.fix]), entry["rule"]
        assert found.investigation_commands == offered([command for each in faults for command in each.check])
        assert all(item.reason == UNSAFE for item in found.flagged)
        assert found.well_formed
        assert found.confidence == faults[0].confidence
        assert found.root_cause == " ".join(faults[0].cause.split())
