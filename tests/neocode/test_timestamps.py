"""Moments as text."""

from __future__ import annotations

import pytest

from neocode.timestamps import rfc3339


@pytest.mark.parametrize(
    ("seconds", "text"), [(1714736530.9, "2024-05-03T11:42:10Z"), (0, "1970-01-01T00:00:00Z")], ids=["now", "epoch"]
)
def test_a_moment_is_utc_and_whole_seconds(seconds: float, text: str) -> None:
    assert rfc3339(seconds) == text
