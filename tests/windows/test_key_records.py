"""Key records become the bytes that were meant, however they come."""

from __future__ import annotations

import pytest
from fake_console import key, typed
from hypothesis import given
from hypothesis import strategies as st

from conpty.key_records import KeyDecoder, KeyRecord

VK_MENU, VK_SHIFT, VK_SPACE, VK_UP = 0x12, 0x10, 0x20, 0x26
CTRL, ALT_GR = 0x0008, 0x0009

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))  # NUL is no character of a key
SURROGATES = st.characters(categories=("Cs",))
RECORDS = st.lists(
    st.builds(
        KeyRecord,
        st.booleans(),
        st.integers(0, 3),
        st.sampled_from((0, VK_MENU, VK_SHIFT, VK_SPACE, VK_UP, 0x41)),
        st.one_of(st.integers(0, 0xFFFF), st.integers(0xD7FE, 0xE001)),
        st.sampled_from((0, CTRL, ALT_GR)),
    )
)
# what says nothing: keys that have no character, and every release but Alt's
NOISE = [
    key(0, virtual_key=VK_SHIFT),
    key(0, virtual_key=VK_MENU, down=False),
    key(ord("x"), down=False),
    key(0, virtual_key=VK_UP),
    key(0, virtual_key=VK_SPACE, control=ALT_GR),
]


@given(TEXT)
def test_text_arrives_as_it_was_typed(text: str) -> None:
    assert KeyDecoder().feed(typed(text)) == text.encode()


@given(RECORDS, st.lists(st.integers(0, 30)))
def test_any_cut_of_the_records_gives_the_same_bytes(records: list[KeyRecord], cuts: list[int]) -> None:
    whole = KeyDecoder().feed(records)
    decoder, out, at = KeyDecoder(), b"", 0
    for cut in sorted(cuts):
        out += decoder.feed(records[at:cut] if cut > at else [])
        at = max(at, cut)
    assert out + decoder.feed(records[at:]) == whole
    whole.decode("utf-8")


@given(TEXT, st.data())
def test_records_that_are_no_character_change_nothing(text: str, data: st.DataObject) -> None:
    records = typed(text)
    for noise in data.draw(st.lists(st.sampled_from(NOISE), max_size=5)):
        records.insert(data.draw(st.integers(0, len(records))), noise)
    assert KeyDecoder().feed(records) == text.encode()


@given(st.lists(SURROGATES, max_size=6))
def test_half_characters_never_make_bytes_that_are_no_utf8(halves: list[str]) -> None:
    text = "".join(halves) + "."
    assert KeyDecoder().feed(typed(text)).decode() == text.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "replace"
    )


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (key(0xE9, virtual_key=VK_MENU, down=False), "é".encode()),  # Alt held, 0233 on the number pad
        (key(ord("a"), repeat=3), b"aaa"),
        (key(ord("a"), repeat=0), b"a"),
        (key(3, virtual_key=0x43, control=CTRL), b"\x03"),
        (key(0, virtual_key=VK_SPACE, control=CTRL), b"\0"),
        (key(0, virtual_key=0x32, control=CTRL), b"\0"),
        (key(0x20AC, virtual_key=0x45, control=ALT_GR), "€".encode()),
    ],
)
def test_one_key(record: KeyRecord, expected: bytes) -> None:
    assert KeyDecoder().feed([record]) == expected
