"""Successful runs, documentation and listings of errors give no rule a reason to speak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def _confident(found: list[Any]) -> list[str]:
    return [fault.rule_id for fault in found if fault.confidence != "low"]


def test_no_rule_is_confident_on_a_log_without_a_failure(clean_log: Path, rules: Any) -> None:
    assert _confident(rules.log(clean_log.read_text("utf-8"))) == []


@pytest.mark.parametrize("shell", ["bash", "powershell", "cmd"])
def test_no_rule_is_confident_on_all_of_them_together(shell: str, clean_logs: list[Path], rules: Any) -> None:
    assert len(clean_logs) >= 200
    together = "\n".join(path.read_text("utf-8") for path in clean_logs)
    step = 40_000  # characters; below the limit of one log, so that every line is seen
    for start in range(0, len(together), step):
        assert _confident(rules.log(together[start : start + step], shell=shell)) == []
