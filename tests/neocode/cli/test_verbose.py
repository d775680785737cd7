"""What `--verbose` says besides the one line."""

from __future__ import annotations

import pytest
from cli import neo_home

from neocode.cli.verbose import MAX_CAUSES, details
from neocode.errors import ConfigError


@pytest.mark.parametrize("words", [["--verbose", "diag"], ["diag", "--verbose"]], ids=["in front", "behind"])
def test_the_cause_is_named_before_the_one_line(words: list[str]) -> None:
    with neo_home() as home:
        absent = str(home.path / "absent")
        brief = home.run("diag", "--file", absent)
        done = home.run(*words, "--file", absent)
    *more, last = done.stderr.splitlines(keepends=True)
    assert (done.returncode, last) == (brief.returncode, brief.stderr)
    assert any("FileNotFoundError" in line for line in more)
    assert "Traceback" not in done.stderr


def test_foreign_words_are_made_safe_and_a_long_chain_ends() -> None:
    error: Exception = ValueError("\x1b[2J")
    for number in range(MAX_CAUSES + 2):
        following = ConfigError(f"number {number}\x1b]0;x\x07")
        following.__cause__ = error
        error = following
    lines = list(details(error))
    assert len(lines) == MAX_CAUSES
    assert all(line.isprintable() for line in lines)
