"""Answers as the rules, good models and small models write them."""

from __future__ import annotations

import pytest

from neocode.render.answer import Diagnosis, may_insert, parse_answer

GOOD = """\
## Cause
The registry at `127.0.0.1:4873` refused the connection.

Nothing listens on that port.

## Fix
```sh
# start the local registry
verdaccio
npm config set \\
    registry https://registry.npmjs.org/
```

## Check
```sh
curl -v http://127.0.0.1:4873/
```

## Confidence
high - the log names address and port
"""


def test_the_form_is_read_completely() -> None:
    assert parse_answer(GOOD) == Diagnosis(
        confidence="high",
        root_cause="The registry at `127.0.0.1:4873` refused the connection.",
        explanation="Nothing listens on that port.\n\n- `verdaccio`: start the local registry",
        fix_commands=("verdaccio", "npm config set registry https://registry.npmjs.org/"),
        investigation_commands=("curl -v http://127.0.0.1:4873/",),
        well_formed=True,
    )


@pytest.mark.parametrize(
    "headings",
    [
        ("# Cause", "# Fix", "# Check", "# Confidence"),
        ("### Root cause:", "### Fix commands", "### Investigate", "### Confidence level"),
        ("**Cause:**", "**Fixes:**", "**Checks:**", "**Confidence:**"),
        ("**Root Cause**", "**Solution**", "**Investigation commands**", "**Confidence**"),
        ("__Cause__", "__Fix__", "__Check__", "__Confidence__"),
        ("## 1. Cause", "## 2. Fix", "## 3. Check", "## 4. Confidence"),
        ("## 🔍 Root Cause", "## 🔧 Fix", "## ✅ Check", "## Confidence ##"),
        ("Cause:", "Fix:", "Check:", "Confidence:"),
        ("Cause", "Fix", "Check", "Confidence"),
        ("## 原因", "## 修复", "## 检查", "## 置信度"),
        ("**原因**：", "**解决方案**：", "**排查**：", "**置信度**："),
        ("## Ursache", "## Lösung", "## Prüfen", "## Sicherheit"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_headings_may_be_written_in_any_way(headings: tuple[str, ...], line_end: str) -> None:
    cause, fix, check, confidence = headings
    fixes = f"{fix}\n```\nrm -r build\n```\n{check}\n```bash\ndf -h\n```\n"
    text = f"{cause}\nThe disk is full.\n\n{fixes}{confidence}\nmedium\n"
    found = parse_answer(text.replace("\n", line_end))
    assert found == Diagnosis("medium", "The disk is full.", "", ("rm -r build",), ("df -h",), (), True)


@pytest.mark.parametrize(
    "text",
    [
        "**Cause:** The disk is full.\n**Fix:** `rm -r build`\n**Check:** `df -h`\n**Confidence:** medium",
        "**Cause**: The disk is full.\n\n**Fix**: Run `rm -r build`\n\n**Check**: use `df -h`\n\n"
        "**Confidence**: Medium.",
        "## Cause: The disk is full.\n## Fix: `rm -r build`\n## Check: `df -h`\n## Confidence: medium (60%)",
        "1. **Cause:** The disk is full.\n2. **Fix:** `rm -r build`\n3. **Check:** `df -h`\n4. **Confidence:** medium",
        "Cause: The disk is full.\nFix: `rm -r build`\nCheck: `df -h`\nConfidence: 60%",
        "## Cause\n- **The disk is full.**\n## Fix\n1. Free some room: `rm -r build`\n## Check\n- `df -h`\n"
        "## Confidence\nmoderate",
        "```markdown\n# Cause\nThe disk is full.\n# Fix\n```sh\nrm -r build\n```\n# Check\n```sh\ndf -h\n```\n"
        "# Confidence\nmedium\n```",
        "## Cause\nThe disk is full.\n## Fix\n```sh\nrm -r build\n## Check\n```sh\ndf -h\n## Confidence\nmedium",
        "<think>\n## Cause\nno, wait\n</think>\n## Cause\nThe disk is full.\n## Fix\n```\nrm -r build\n```\n"
        "## Check\n    df -h\n## Confidence\nmedium",
        "## Confidence\nmedium\n## Check\n~~~console\n$ df -h\nFilesystem 100%\n~~~\n"
        "## Fix\n````sh\nrm -r build\n````\n## Cause\nThe disk is full.",
    ],
)
def test_what_small_models_make_of_the_form_is_understood(text: str) -> None:
    found = parse_answer(text)
    assert (found.root_cause, found.fix_commands, found.investigation_commands, found.confidence) == (
        "The disk is full.",
        ("rm -r build",),
        ("df -h",),
        "medium",
    )
    assert found.well_formed
    assert found.explanation in ("", "1. Free some room: `rm -r build`")


def test_an_answer_without_the_form_is_all_explanation() -> None:
    text = "You should run `npm install`.\n\n```sh\nrm -rf /\n```\nThat is all."
    assert parse_answer(text) == Diagnosis(explanation=text)


@pytest.mark.parametrize("text", ["", "\n\n", "## Cause\n", "# Notes\nhello", "## Fix\nThink about it."])
def test_nothing_useful_is_not_the_form(text: str) -> None:
    found = parse_answer(text)
    assert not found.well_formed
    assert (found.fix_commands, found.confidence) == ((), "low")


def test_several_fix_sections_are_joined_and_repeated_commands_appear_once() -> None:
    text = "## Cause\nA.\n## Fix\n```\na\nb\n```\n## Fix\n```\nb\nc\n```\n## Cause\nB.\n## Fix 2\n```\nd\n```"
    found = parse_answer(text)
    assert found.fix_commands == ("a", "b", "c", "d")
    assert found.root_cause == "A."
    assert "B." in found.explanation


def test_sub_headings_stay_in_their_section() -> None:
    found = parse_answer(
        "## Cause\nA.\n## Fix\n### Option 1: npm\n```\nnpm i\n```\n### Option 2: yarn\n```\nyarn\n```\n"
    )
    assert found.fix_commands == ("npm i", "yarn")


def test_a_fix_without_a_cause_heading_takes_the_first_paragraph_as_cause() -> None:
    found = parse_answer("The port is in use.\n\nSomething holds it.\n\n## Fix\n```\nkill 4242\n```\n")
    assert (found.root_cause, found.explanation, found.fix_commands) == (
        "The port is in use.",
        "Something holds it.",
        ("kill 4242",),
    )
    assert found.well_formed


def test_other_sections_and_prose_of_the_fix_are_kept_as_explanation() -> None:
    found = parse_answer("## Cause\nA.\n## Fix\nEdit `app.conf` first.\n```\nmake\n```\n## Notes\nMind the gap.\n")
    assert found.fix_commands == ("make",)
    assert found.explanation == "Edit `app.conf` first.\n\n**Notes**\n\nMind the gap."


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ("high - the log says so", "high"),
        ("**High**", "high"),
        ("Very high.", "high"),
        ("not very high", "low"),
        ("Low, this is a guess with high risk", "low"),
        ("medium to high", "medium"),
        ("95%", "high"),
        ("about 60 %", "medium"),
        ("10%", "low"),
        ("高", "high"),
        ("hoch", "high"),
        ("", "low"),
        ("who knows", "low"),
    ],
)
def test_confidence_is_the_level_named_first_and_low_without_one(words: str, level: str) -> None:
    assert parse_answer(f"## Cause\nA.\n## Confidence\n{words}").confidence == level


def test_a_command_that_needed_cleaning_is_flagged_and_never_listed() -> None:
    """A `\\r` in an inserted command executes it; vercel/ai#20052 lists the sequences models were made to print."""
    found = parse_answer(
        "## Cause\nA.\n## Fix\n```\nls\nls \x1b]52;c;SGVsbG8=\x07\nls\rrm -rf ~\nls \u202egnp.exe\n```\n"
    )
    assert found.fix_commands == ("ls",)
    assert [item.reason for item in found.flagged] == ["control or invisible characters"] * 3
    assert "\\x1b]52" in found.flagged[0].text
    assert all(character.isprintable() for item in found.flagged for character in item.text)


def test_the_words_of_an_answer_are_sanitised() -> None:
    found = parse_answer("## Cause\nA \x1b[2J.\n\nB \x9b1m\n\n## Fix\nDo \x07 it\n```\nls\n```\n")
    assert found.root_cause == "A \\x1b[2J."
    assert found.explanation == "B \\x9b1m\n\nDo \\x07 it"


def test_a_cut_answer_does_not_offer_its_last_command() -> None:
    text = "## Cause\nA.\n## Fix\n```\nls\nrm -rf /home/me/bui"
    assert parse_answer(text).fix_commands == ("ls", "rm -rf /home/me/bui")
    cut = parse_answer(text, cut=True)
    assert cut.fix_commands == ("ls",)
    assert [(item.text, item.reason) for item in cut.flagged] == [("rm -rf /home/me/bui", "may be cut off")]
    assert parse_answer(text + "ld\n```\n", cut=True).fix_commands == ("ls", "rm -rf /home/me/build")


@pytest.mark.parametrize("tag", ["json", "yaml", "diff", "python", "dockerfile"])
def test_a_fence_with_a_files_content_holds_no_commands(tag: str) -> None:
    found = parse_answer(f"## Cause\nA.\n## Fix\n```{tag}\nname: value\n```\n```\nmake\n```\n")
    assert found.fix_commands == ("make",)
    assert [(item.text, item.reason) for item in found.flagged] == [("name: value", "not a shell command")]


def test_shell_commands_in_a_fence_tagged_as_a_program_are_still_commands() -> None:
    assert parse_answer("## Cause\nA.\n## Fix\n```python\npip install requests\n```").fix_commands == (
        "pip install requests",
    )


def test_a_list_of_ten_thousand_commands_is_cut() -> None:
    body = "\n".join(f"echo {number}" for number in range(10_000))
    assert len(parse_answer(f"## Cause\nA.\n## Fix\n```\n{body}\n```").fix_commands) == 50


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("npm install", True),
        ("echo 你好", True),
        ("", False),
        ("a\nb", False),
        ("a\tb", False),
        ("a\rb", False),
        ("a\x1b[A", False),
        ("a\u200bb", False),
        ("a" * 4097, False),
    ],
)
def test_only_one_clean_line_may_be_inserted(command: str, allowed: bool) -> None:
    assert may_insert(command) is allowed
