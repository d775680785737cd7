"""An answer's blocks, its flags and its insertable commands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.render.answer import parse_answer
from neocode.shell.view import AnswerView, insertable_fixes

ANSWER = """## Cause
The build directory is stale.

## Fix
```sh
# rm -rf is not needed for this
make clean
rm -rf build
git push --force
```

Or `run`: run `mkfs.ext4 /dev/sda1`.

## Check
```sh
ls build
```

## Confidence
high - it says so
"""


def shown(answer: str, cut: int = 7, color: bool = False, cols: int = 80) -> list[str]:
    blocks: list[str] = []
    view = AnswerView(cols, color, blocks.append)
    for at in range(0, len(answer), cut):
        view.feed(answer[at : at + cut])
    view.finish()
    view.flag_others(parse_answer(answer))
    return blocks


def test_destructive_commands_are_flagged_right_below_their_line() -> None:
    lines = "".join(shown(ANSWER)).split("\n")
    assert lines[lines.index("  rm -rf build") + 1] == "  ^ destructive: shown only"
    assert lines[lines.index("  git push --force") + 1] == "  ^ destructive: shown only"
    assert lines[lines.index("  # rm -rf is not needed for this") + 1] == "  make clean"
    assert sum("destructive" in line for line in lines) == 2 + ("mkfs" in str(parse_answer(ANSWER).fix_commands))


def test_a_destructive_command_without_a_line_of_its_own_is_named_at_the_end() -> None:
    answer = "## Cause\nx\n\n## Fix\n- `rm -rf /tmp/x`\n- `ls`\n\n## Confidence\nlow\n"
    assert "".join(shown(answer)).endswith("\ndestructive: shown only: rm -rf /tmp/x\n")


def test_only_what_is_safe_to_run_may_be_inserted() -> None:
    assert insertable_fixes(parse_answer(ANSWER)) == ("make clean",)
    long = f"## Fix\n```sh\necho {'x' * 600}\necho ok\n```\n"
    assert insertable_fixes(parse_answer(long)) == ("echo ok",)


def test_blocks_come_as_soon_as_they_are_complete() -> None:
    blocks: list[str] = []
    view = AnswerView(80, False, blocks.append)
    view.feed("## Cause\nOne para")
    assert blocks == ["Cause\n"]
    view.feed("graph.\n\n## Fix\n```sh\nmake cl")
    assert "".join(blocks) == "Cause\nOne paragraph.\n\nFix\n"
    view.feed("ean\n")
    assert blocks[-1] == "  make clean\n"


@given(st.integers(1, 400), st.booleans(), st.integers(1, 120))
@settings(max_examples=40, deadline=None)
def test_the_cut_of_the_stream_does_not_matter(cut: int, color: bool, cols: int) -> None:
    assert "".join(shown(ANSWER, cut, color, cols)) == "".join(shown(ANSWER, 10_000, color, cols))


@given(st.text(max_size=200), st.integers(1, 50))
@settings(deadline=None)
def test_whatever_comes_only_whole_lines_with_plain_attributes_are_shown(text: str, cut: int) -> None:
    for block in shown(text, cut, color=True):
        assert block.endswith("\n")
        left = re.sub(r"\x1b\[[0-9;]*m", "", block)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", left)


@pytest.mark.parametrize("cols", [20, 60, 500])
def test_prose_is_wrapped_at_the_terminals_width(cols: int) -> None:
    lines = "".join(shown("word " * 100, cols=cols)).split("\n")
    assert max(map(len, lines)) <= min(cols - 1, 100)
    assert len(lines) > 3
