"""Every rule fires on its recorded logs with the commands expected, and stays silent on near misses."""

from __future__ import annotations

from typing import Any

from neocode.providers.offline.lint import lint
from neocode.providers.offline.load import rules as all_rules


def test_every_rule_is_well_formed() -> None:
    assert lint(all_rules()) == []


def test_a_recorded_log_gives_the_rule_and_its_commands(case: dict[str, Any], rules: Any) -> None:
    faults = rules.case(case)
    assert faults, "no rule fired"
    first = faults[0]
    assert first.rule_id == case["rule"]
    assert [line for line in first.fix if not line.startswith("#")] == case["fix"]
    if "check" in case:
        assert [line for line in first.check if not line.startswith("#")] == case["check"]
    assert [other.rule_id for other in faults[1:]] == case.get("also", [])
    assert "{" not in first.cause.replace("${", "").replace("{{", "") or "`" in first.cause


def test_a_near_miss_does_not_fire(miss: dict[str, Any], rules: Any) -> None:
    assert miss["rule"] not in [found.rule_id for found in rules.case(miss)]


def test_a_near_miss_shares_a_keyword(miss: dict[str, Any]) -> None:
    rule = next(rule for rule in all_rules() if rule.id == miss["rule"])
    assert not rule.keywords or any(word in miss.get("log", "") for word in rule.keywords)


def test_every_rule_has_a_case_and_a_near_miss(recorded: dict[str, set[str]]) -> None:
    ids = {rule.id for rule in all_rules()}
    assert ids - recorded["case"] == set()
    assert ids - recorded["miss"] == set()
    assert (recorded["case"] | recorded["miss"]) - ids == set()
