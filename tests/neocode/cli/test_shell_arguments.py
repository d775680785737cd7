"""The command line of `neocode shell` read by hand means what it means to argparse, or is left to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.cli.parser import parse
from neocode.cli.shell_cmd import Arguments, read_arguments

WORDS = st.sampled_from(
    ["--shell", "--shell=zsh", "zsh", "--login", "--no-auto", "--no-integration", "--nested", "--gateway", "--init",
     "-h", "--", "-c", "--shell=", "--token-file=x", "--verbose", "", "-"]
)  # fmt: skip


def by_argparse(words: list[str]) -> Arguments | None:
    """What argparse makes of it; None for a usage error or help."""
    try:
        _, args = parse(["shell", *words])
    except SystemExit:
        return None
    if args.words or args.init:
        return None
    known = {name: getattr(args, name) for name in Arguments._fields if name != "rest"}
    return Arguments(**known, rest=tuple(args.rest or ()))


@given(st.lists(WORDS, max_size=6))
def test_what_is_read_by_hand_is_what_argparse_reads(words: list[str]) -> None:
    known = read_arguments(words)
    if known is not None:
        assert by_argparse(words) == known


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ([], Arguments()),
        (["--shell", "zsh", "--login"], Arguments(shell="zsh", login=True)),
        (["--", "--login", "--", "x"], Arguments(rest=("--login", "--", "x"))),
        (["--gateway=/tmp/g", "--no-auto"], Arguments(gateway="/tmp/g", no_auto=True)),
    ],
)
def test_plain_command_lines_are_read_by_hand(words: list[str], known: Arguments) -> None:
    assert read_arguments(words) == known


@pytest.mark.parametrize("words", [["--help"], ["--init", "bash"], ["zsh"], ["--shell"], ["--shell", "--login"]])
def test_everything_else_is_left_to_argparse(words: list[str]) -> None:
    assert read_arguments(words) is None
