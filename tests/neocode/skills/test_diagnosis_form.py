"""The form that the bundled skill demands is the one that the answer parser reads."""

from __future__ import annotations

import re
from pathlib import Path

from neocode.render.answer import parse_answer
from neocode.skills.registry import SkillRegistry


def the_form() -> str:
    body = SkillRegistry(Path("/nonexistent")).instructions("terminal-diagnosis")
    assert body is not None
    block = re.search(r"(?:^    .*\n|^\n)+", body[body.index("    ## Cause") :], re.MULTILINE)
    assert block is not None
    return re.sub(r"^    ", "", block.group(0), flags=re.MULTILINE)


def test_an_answer_in_the_demanded_form_is_read_whole() -> None:
    diagnosis = parse_answer(the_form())
    assert diagnosis.well_formed
    assert diagnosis.root_cause == "One sentence with the root cause."
    further, comment = diagnosis.explanation.split("\n\n")
    assert further == "Optional further explanation, a few sentences at most."
    assert comment == "- `first command`: what the next command does"
    assert diagnosis.fix_commands == ("first command", "second command")
    assert diagnosis.investigation_commands == ("commands that only look and change nothing",)
    assert diagnosis.flagged == ()


def test_the_form_names_every_level_of_confidence_and_every_fence_tag() -> None:
    body = SkillRegistry(Path("/nonexistent")).instructions("terminal-diagnosis") or ""
    assert "high|medium|low - why" in body
    for tag in ("sh", "fish", "powershell", "cmd"):
        assert f"`{tag}`" in body
