"""Runs of equal lines are counted exactly, at either end and over blocks."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.logs import prepare, stream
from neocode.logs.fold import leading_repeats, trailing_repeats
from ptyproxy.redact import Redactor

LINES = st.lists(st.sampled_from([b"a", b"ba", b"", b"aa"]), min_size=1, max_size=40)


@settings(deadline=None)
@given(LINES, st.sampled_from([b"a", b"ba", b"", b"aa"]))
def test_repeats_are_counted_like_lines(lines: list[bytes], line: bytes) -> None:
    block = b"\n".join(lines) + b"\n"
    leading = next((i for i, each in enumerate(lines) if each != line), len(lines))
    trailing = next((i for i, each in enumerate(reversed(lines)) if each != lines[-1]), len(lines))
    assert leading_repeats(block, 0, line + b"\n") == leading
    assert trailing_repeats(block, lines[-1] + b"\n") == trailing


@pytest.mark.parametrize("order", ["repeat first", "repeat last", "repeat only"])
@pytest.mark.parametrize("count", [3, 5000, 70_001])
def test_a_run_over_many_blocks_has_an_exact_count(order: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BLOCK", 8192)
    other = {"repeat first": ["other line"], "repeat last": [], "repeat only": []}[order]
    first = ["other line"] if order == "repeat last" else []
    text = prepare("\n".join([*first, *["Retrying"] * count, *other]), Redactor()).text
    note = f"[... the line above repeated {count - 1} more times ...]"
    assert text.split("\n") == [*first, "Retrying", note, *other]


def test_repeated_failures_cost_no_more_than_other_lines() -> None:
    data = b"error: x\n" * ((8 << 20) // 9)
    started = time.process_time()
    prepare(data, Redactor())
    assert len(data) / (1 << 20) / (time.process_time() - started) > 10  # MiB per second of CPU
