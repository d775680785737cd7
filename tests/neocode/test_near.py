"""Which name a person meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.near import distance, nearest

WORDS = st.text("abcd", max_size=7)


@pytest.mark.parametrize(
    ("typed", "meant", "edits"),
    [
        ("git", "git", 0),
        ("gti", "git", 1),
        ("sl", "ls", 1),
        ("pyhton3", "python3", 1),
        ("dcoker", "docker", 1),
        ("kubctl", "kubectl", 1),
        ("ca", "abc", 3),
        ("abc", "xyz", 3),
        ("", "ab", 2),
    ],
)
def test_a_swap_of_neighbours_is_one_slip(typed: str, meant: str, edits: int) -> None:
    assert distance(typed, meant, 5) == edits


@given(WORDS, WORDS, st.integers(0, 7))
def test_a_limit_only_cuts_what_lies_above_it(a: str, b: str, limit: int) -> None:
    edits = distance(a, b, 99)
    assert distance(a, b, limit) == min(edits, limit + 1)
    assert distance(b, a, 99) == edits <= max(len(a), len(b))


def test_the_nearest_come_first_and_short_names_are_not_near_everything() -> None:
    names = ["docker-compose", "docker", "ducker", "git", "dc", "docker"]
    assert nearest("dokcer", names, 5) == ["docker", "ducker"]
    assert nearest("dokcer", names, 1) == ["docker"]
    assert nearest("x", ["y", "z"], 5) == []
    assert nearest("ls", ["ps", "lz"]) == []


def test_two_slips_of_which_one_is_the_first_letter_make_another_word() -> None:
    assert nearest("terraform", ["perform", "git"]) == []
    assert nearest("dokcre", ["docker", "rocker"]) == ["docker"]
