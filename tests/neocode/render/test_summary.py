"""The closing line and the JSON object."""

from __future__ import annotations

import json

import pytest

from neocode.providers.base import Usage
from neocode.render.answer import parse_answer
from neocode.render.summary import AnswerFacts, answer_json, closing_line

FULL = AnswerFacts("offline", "rules", Usage(450, 120), 3, True, True, "length")


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (
            FULL,
            "provider offline (rules) · 450 in / 120 out tokens · 3 secrets masked · log shortened · history compacted"
            " · answer cut at the model's output limit",
        ),
        (
            AnswerFacts("work", "qwen3", Usage(10, 0), 1),
            "provider work (qwen3) · 10 in / 0 out tokens · 1 secret masked",
        ),
        (AnswerFacts("offline"), "provider offline"),
        (AnswerFacts(), ""),
        (AnswerFacts("a\x1b[2J\nb", "m\r"), "provider a\\x1b[2J b (m\\r)"),
    ],
)
def test_the_closing_line_leaves_out_what_is_not_there(facts: AnswerFacts, line: str) -> None:
    assert closing_line(facts, color=False) == line
    assert closing_line(facts, color=True) == (f"\x1b[2m{line}\x1b[0m" if line else "")


def test_the_json_object_has_exactly_the_agreed_members() -> None:
    diagnosis = parse_answer(
        "## Cause\nDie Platte ist voll – 满.\n## Fix\n```\nrm x\n```\n## Check\n```\ndf\n```\n## Confidence\nhigh"
    )
    encoded = answer_json(diagnosis, FULL)
    assert "满".encode() in encoded
    assert json.loads(encoded) == {
        "confidence": "high",
        "root_cause": "Die Platte ist voll – 满.",
        "explanation": "",
        "fix_commands": ["rm x"],
        "investigation_commands": ["df"],
        "provider": "offline",
        "model": "rules",
        "usage": {"input_tokens": 450, "output_tokens": 120},
        "masked": 3,
        "truncated": True,
    }


def test_an_answer_without_the_form_is_the_explanation() -> None:
    found = json.loads(answer_json(parse_answer("Just try again."), AnswerFacts()))
    assert (found["explanation"], found["confidence"]) == ("Just try again.", "low")
    assert (found["fix_commands"], found["investigation_commands"]) == ([], [])


def test_flagged_commands_are_told_in_the_explanation_only() -> None:
    text = "## Cause\nA.\n\nB.\n## Fix\n```\nls\x07\ncat <<E\nx\nE\n```\n"
    found = json.loads(answer_json(parse_answer(text), AnswerFacts()))
    assert found["fix_commands"] == []
    assert found["explanation"] == (
        "B.\n\nFix (control or invisible characters):\n```\nls\\x07\n```\n\n"
        "Fix (spans several lines):\n```\ncat <<E\nx\nE\n```"
    )


def test_lone_surrogates_do_not_break_the_json() -> None:
    assert json.loads(answer_json(parse_answer("\ud83d"), AnswerFacts(provider="\udcff")))


def test_what_a_command_costs_is_said_in_the_object_too() -> None:
    text = (
        "## Cause\nA.\n## Fix\n```sh\ndocker ps\n# replaces the container:\n#  its files are lost\ndocker rm web\n```"
    )
    found = json.loads(answer_json(parse_answer(text), AnswerFacts()))
    assert found["fix_commands"] == ["docker ps", "docker rm web"]
    assert found["explanation"] == "- `docker rm web`: replaces the container: its files are lost"


def test_comments_of_cmd_are_comments_too() -> None:
    text = "## Cause\nA.\n## Fix\n```cmd\nrem first\n:: then\nREM\ndir\n```"
    assert parse_answer(text).explanation == "- `dir`: first then"
