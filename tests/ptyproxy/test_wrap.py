"""A token that the terminal broke is one token again; what only looks like a full line stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptyproxy.wrap import cell_width, continues

LONG = (
    "error: request to https://registry.example.com/api failed, token was ghp_"
    + "a1B2" * 9
    + " and more words follow here"
)


def join_wrapped(lines: Sequence[str], width: int | None = None) -> list[str]:
    joined = [""]
    for line, goes_on in zip(lines, continues(lines, width), strict=True):
        joined[-1] += line
        joined += [] if goes_on else [""]
    return joined[:-1]


def wrap(line: str, width: int) -> list[str]:
    return [line[i : i + width] for i in range(0, len(line), width)]


def test_a_token_broken_at_column_80_is_seen_whole() -> None:
    """The order strip, join, mask: a token soft-wrapped at the edge of the terminal survived masking line by line."""
    assert join_wrapped(["$ run", *wrap(LONG, 80), "done"]) == ["$ run", LONG, "done"]


@pytest.mark.parametrize("width", [57, 80, 93, 120])
def test_a_known_width_joins_every_full_line(width: int) -> None:
    assert join_wrapped(wrap(LONG * 3, width), width) == [LONG * 3]


def test_many_full_lines_show_an_uncommon_width() -> None:
    lines = [f"2024-05-01 12:00:0{i} {LONG} {'tail ' * i}end" for i in range(5)]
    assert join_wrapped([piece for line in lines for piece in wrap(line, 67)]) == lines


def test_wide_characters_count_two_columns() -> None:
    assert cell_width("中文abc") == 7
    assert cell_width("e\u0301") == 1
    line = "错误：无法连接到服务器" * 9 + "ghp_" + "a1B2" * 9
    pieces, piece = [], ""
    for char in line:
        if cell_width(piece + char) > 80:
            pieces.append(piece)
            piece = ""
        piece += char
    assert join_wrapped([*pieces, piece], 80)[-1].endswith("ghp_" + "a1B2" * 9)


@pytest.mark.parametrize(
    "lines",
    [
        [
            "=" * 80,
            "tests/test_a.py " + "." * 57 + " [ 50%]",
            "tests/test_b.py " + "." * 57 + " [100%]",
            "=" * 80,
            "1 failed",
        ],
        ["=" * 35 + " FAILURES " + "=" * 35, "_" * 80, "E   assert 1"],
        [f"{i:08x}: 4865 6c6c 6f20 776f 726c 6421 0a48 656c  Hello world!.Hel" for i in range(9)],
        ["+" + "-" * 78 + "+", "|" + " " * 78 + "|", "+" + "-" * 78 + "+"],
        [f"2024-05-01 12:00:0{i} INFO a line that happens to be as long as the others" for i in range(9)],
        ["-----BEGIN CERTIFICATE-----", *["MIIB" + "aB3/" * 15] * 5, "-----END CERTIFICATE-----"],
        ["a longest line of no special width that ends in a word1234567", "next line"],
        ["short", "lines", ""],
        [],
    ],
)
def test_lines_that_are_full_by_themselves_stay(lines: list[str]) -> None:
    assert join_wrapped(lines) == lines


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(blacklist_characters="\n", max_codepoint=0x4E20), max_size=90)),
    st.one_of(st.none(), st.integers(1, 90)),
)
def test_joining_removes_newlines_and_nothing_else(lines: list[str], width: int | None) -> None:
    assert "".join(join_wrapped(lines, width)) == "".join(lines)


def test_a_key_within_one_line_is_joined_like_any_line() -> None:
    line = (
        'error: bad {"private_key": "-----BEGIN '
        + "PRIVATE KEY-----\\n"
        + "aB3/" * 40
        + "\\n-----END "
        + 'PRIVATE KEY-----\\n"}'
    )
    for width in (54, 57, 60, 80):
        assert join_wrapped(wrap(line, width), width) == [line]
