"""Successful runs, documentation and listings of errors, of the tools in the second half of the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LOGS = sorted((Path(__file__).parent / "clean_b").glob("*.log"))


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_no_rule_is_confident_on_a_log_without_a_failure(path: Path, rules: Any) -> None:
    found = rules.log(path.read_text("utf-8"))
    assert [fault.rule_id for fault in found if fault.confidence != "low"] == []


@pytest.mark.parametrize("shell", ["bash", "powershell", "cmd"])
def test_no_rule_is_confident_on_all_of_them_together(shell: str, rules: Any) -> None:
    together = "\n".join(path.read_text("utf-8") for path in LOGS)
    step = 40_000  # characters; below the limit of one log, so that every line is seen
    for start in range(0, len(together), step):
        found = rules.log(together[start : start + step], shell=shell)
        assert [fault.rule_id for fault in found if fault.confidence != "low"] == []


def test_there_are_at_least_a_hundred() -> None:
    assert len(LOGS) >= 100
