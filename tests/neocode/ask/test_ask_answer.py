"""The streamed text: nothing lost, nothing half, and a label that can never be taken for a command."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.ask.answer import LENGTH_LABEL, MAX_ANSWER_BYTES, MAX_REASONING_CHARS, Answer
from neocode.render.answer import parse_answer

ANY_TEXT = st.text(st.characters(), max_size=80)  # lone surrogates too


@given(ANY_TEXT, st.lists(st.integers(0, 80), max_size=6))
def test_any_cut_of_the_answer_gives_the_same_bytes(text: str, cuts: list[int]) -> None:
    whole = Answer()
    whole.add(text + ".")
    pieces, bounds = Answer(), sorted({0, *(min(cut, len(text)) for cut in cuts), len(text)})
    given_out = [pieces.add(text[start:end]) for start, end in itertools.pairwise(bounds)]
    given_out.append(pieces.add("."))
    assert "".join(given_out) == pieces.text == whole.text
    pieces.text.encode()


def test_a_surrogate_pair_cut_over_two_pieces_is_one_character() -> None:
    """api7/aisix#111: an emoji cut between two chunks became two replacement characters."""
    answer = Answer()
    assert [answer.add("a\ud83c"), answer.add("\udf0d!")] == ["a", "🌍!"]


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    answer = Answer()
    assert answer.add("a\udc00b") == "a\ufffdb"


def test_an_answer_stops_at_its_limit_on_a_whole_character() -> None:
    answer = Answer()
    answer.add("x" * (MAX_ANSWER_BYTES - 2))
    assert answer.add("界") == ""
    assert answer.full
    assert answer.add("y") == ""
    assert len(answer.text.encode()) <= MAX_ANSWER_BYTES


def test_reasoning_is_bounded_and_never_part_of_the_text() -> None:
    answer = Answer()
    for _ in range(5):
        answer.think("r" * MAX_REASONING_CHARS)
    assert len(answer.reasoning) == MAX_REASONING_CHARS
    assert answer.text == ""
    assert answer.empty


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("plain", f"\n\n{LENGTH_LABEL}"),
        ("a line\n", f"\n{LENGTH_LABEL}"),
        ("```sh\nls\n```\n", f"\n{LENGTH_LABEL}"),
        ("```sh\nls\n```  \nand ```inline``` text", f"\n\n{LENGTH_LABEL}"),
        ("## Fix\n```sh\nrm -rf /tmp/x", f"\n# {LENGTH_LABEL}"),
        ("````sh\n```\ninner\n", f"# {LENGTH_LABEL}"),
        ("~~~\ncode", f"\n# {LENGTH_LABEL}"),
        ("1. do\n   ```sh\r\n   ls", f"\n# {LENGTH_LABEL}"),
    ],
)
def test_a_label_in_an_open_code_block_is_a_comment(text: str, ending: str) -> None:
    answer = Answer()
    answer.add(text)
    assert answer.label(LENGTH_LABEL) == ending
    assert answer.text == text + ending


def test_neither_a_label_nor_the_command_it_cut_is_offered() -> None:
    answer = Answer()
    answer.add("## Cause\nThe disk is full.\n\n## Fix\n```sh\ndu -sh .\nrm -rf /home/me/bui")
    answer.label(LENGTH_LABEL)
    diagnosis = parse_answer(answer.text, cut=True)
    assert diagnosis.fix_commands == ("du -sh .",)
    assert [item.text for item in diagnosis.flagged] == ["rm -rf /home/me/bui"]
