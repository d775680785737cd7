"""Input: what the person typed, apart from what the terminal says by itself."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal_streams import INPUT_PIECES

from ptyproxy.stream.keys import MAX_STRING, Input, KeyParser

STREAMS = st.lists(st.one_of(st.sampled_from(INPUT_PIECES), st.binary(max_size=8)), max_size=8).map(b"".join)
RUNS = ("text", "paste", "reply")


def joined(events: list[Input]) -> list[Input]:
    """Neighbours of one kind as one event."""
    out: list[Input] = []
    for event in events:
        if out and event.kind == out[-1].kind and event.kind in RUNS:
            out[-1] = out[-1]._replace(data=out[-1].data + event.data, end=event.end)
        else:
            out.append(event)
    return out


def parse(*reads: bytes) -> list[Input]:
    parser = KeyParser()
    return [event for read in reads for event in parser.feed(read)]


def kinds(*reads: bytes) -> list[tuple[str, bytes]]:
    return [(event.kind, event.data) for event in parse(*reads)]


@settings(deadline=None)
@given(STREAMS, st.lists(st.integers(0, 300)))
def test_any_cut_gives_the_same_input(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert joined(parse(*(stream[low:high] for low, high in itertools.pairwise(edges)))) == joined(parse(stream))


@pytest.mark.parametrize("piece", INPUT_PIECES, ids=lambda piece: repr(piece[:24]))
def test_a_cut_at_every_byte_gives_the_same_input(piece: bytes) -> None:
    stream = piece + b"a" + piece + piece + b"\r"
    whole = joined(parse(stream))
    for cut in range(0, len(stream), 1 if len(stream) < 500 else 97):
        assert joined(parse(stream[:cut], stream[cut:])) == whole
    assert joined(parse(*(stream[at : at + 1] for at in range(len(stream))))) == whole


@settings(deadline=None)
@given(STREAMS)
def test_no_byte_is_lost_or_invented(stream: bytes) -> None:
    parser = KeyParser()
    events = parser.feed(stream)
    got = b"".join(event.data for event in events)
    assert stream.startswith(got)
    assert len(stream) - len(got) <= MAX_STRING + 64
    assert [event.start for event in events] == list(itertools.accumulate((len(e.data) for e in events), initial=0))[
        :-1
    ]


@pytest.mark.parametrize(
    "reply",
    [b"\x1b[?62;1;6;22c", b"\x1b[>41;354;0c", b"\x1b[12;40R", b"\x1b[?1;1R", b"\x1b[0n", b"\x1b[?997;1n",
     b"\x1b[?2026;2$y", b"\x1b[?5u", b"\x1b[8;24;80t", b"\x1b[48;24;80;600;800t", b"\x1b]11;rgb:1/2/3\x07",
     b"\x1b]10;rgb:1/2/3\x1b\\", b"\x1b]52;c;QUJD\x07", b"\x1b]ltitle\x1b\\", b"\x1bP1+r544e=78\x1b\\",
     b"\x1bP>|XTerm(370)\x1b\\", b"\x1bP1$r0m\x1b\\", b"\x1bP!|00000000\x1b\\", b"\x1b_Gi=31;OK\x1b\\", b"\x1b[>4;2m"],
)  # fmt: skip
def test_replies_of_the_terminal_are_not_typed(reply: bytes) -> None:
    """fish-shell/fish-shell#12571: programs ask the terminal, and its answers come in between keys."""
    parser = KeyParser()
    assert [(event.kind, event.data) for event in parser.feed(reply)] == [("reply", reply)]
    assert not parser.typed
    assert parser.flush() == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x1b[I", "focus"),
        (b"\x1b[O", "focus"),
        (b"\x1b[<35;10;20M", "mouse"),
        (b"\x1b[<0;10;20m", "mouse"),
        (b"\x1b[M \xff!", "mouse"),
        (b"\x1b[35;10;20M", "mouse"),
        (b"\x1b[97;1:3u", "release"),
        (b"\x1b[1;1:3A", "release"),
        (b"\x1b[57441;2u", "release"),
        (b"\x1b[65;30;97;0;0;1_", "release"),
        (b"\x1b[16;42;0;1;16;1_", "release"),
    ],
)
def test_what_the_person_did_not_type_is_not_typed(data: bytes, kind: str) -> None:
    parser = KeyParser()
    assert [(event.kind, event.data) for event in parser.feed(data)] == [(kind, data)]
    assert not parser.typed


@pytest.mark.parametrize(
    "data",
    [b"\x1b[A", b"\x1bOP", b"\x1b[1;5C", b"\x1b[3~", b"\x1b[[A", b"\x1b[97;5u", b"\x1b[15;5~", b"\x1bb",
     "\x1bé".encode(), b"\x1b\x7f", b"\x1b[27;5;9~", b"\x1b[65;30;97;1;0;1_"],
)  # fmt: skip
def test_keys_are_typed(data: bytes) -> None:
    parser = KeyParser()
    assert [(event.kind, event.data) for event in parser.feed(data)] == [("key", data)]
    assert parser.typed


def test_text_enter_and_what_was_typed_before() -> None:
    got = [(event.kind, event.data, event.typed) for event in parse(b"ls\r\r")]
    assert got == [("text", b"ls", False), ("enter", b"\r", True), ("enter", b"\r", False)]


@pytest.mark.parametrize("data", [b"\r", b"\n", b"\x1b[13u", b"\x1b[13;129u", b"\x1b[13;28;13;1;0;1_"])
def test_enter_in_every_encoding(data: bytes) -> None:
    assert kinds(data) == [("enter", data)]


@pytest.mark.parametrize("data", [b"\x07", b"\x1b[103;5u", b"\x1b[71;34;7;1;8;1_"])
def test_the_hotkey_says_whether_something_was_typed_before_it(data: bytes) -> None:
    parser = KeyParser()
    assert [(event.kind, event.typed) for event in parser.feed(data + b"x" + data)] == [
        ("hotkey", False),
        ("text", False),
        ("hotkey", True),
    ]
    parser.prompt()
    assert parser.feed(data)[0].typed is False


def test_another_hotkey_can_be_chosen() -> None:
    parser = KeyParser(hotkey=0x18)
    assert [event.kind for event in parser.feed(b"\x07\x18\x1b[120;5u")] == ["text", "hotkey", "hotkey"]


def test_a_paste_is_typed_and_holds_no_keys() -> None:
    stream = b"\x1b[200~a\r\x07\x1b[A\x1b[20\x1b[201~\x07"
    assert kinds(stream) == [
        ("paste-begin", b"\x1b[200~"),
        ("paste", b"a\r\x07\x1b[A\x1b[20"),
        ("paste-end", b"\x1b[201~"),
        ("hotkey", b"\x07"),
    ]
    assert parse(stream)[-1].typed


def test_a_paste_of_any_size_is_passed_on_at_once() -> None:
    parser = KeyParser()
    parser.feed(b"\x1b[200~")
    assert parser.pasting
    assert sum(len(event.data) for event in parser.feed(b"x" * 300_000)) == 300_000
    assert not parser.pending


def test_a_lone_escape_is_a_key_when_nothing_follows() -> None:
    parser = KeyParser()
    assert parser.feed(b"\x1b") == []
    assert parser.pending
    assert [(event.kind, event.data) for event in parser.flush()] == [("key", b"\x1b")]
    assert parser.flush() == []


def test_the_beginning_of_a_reply_is_not_flushed_into_the_text() -> None:
    parser = KeyParser()
    assert parser.feed(b"\x1b]11;rgb:11") == []
    assert parser.flush() == []
    assert [event.kind for event in parser.feed(b"11/2/3\x07")] == ["reply"]


def test_an_unfinished_string_does_not_swallow_enter() -> None:
    assert kinds(b"\x1b]11;abc\r") == [("key", b"\x1b]"), ("text", b"11;abc"), ("enter", b"\r")]


def test_escape_before_enter_is_escape_and_enter() -> None:
    assert kinds(b"\x1b\r") == [("key", b"\x1b"), ("enter", b"\r")]


def test_a_clipboard_reply_of_any_size_is_never_text() -> None:
    reply = b"\x1b]52;c;" + b"QUJD" * 5000 + b"\x1b\\"
    assert [(event.kind, event.data) for event in joined(parse(reply))] == [("reply", reply)]
    assert joined(parse(*(reply[at : at + 999] for at in range(0, len(reply), 999)))) == joined(parse(reply))


def test_a_reply_without_end_in_small_reads_is_not_kept() -> None:
    parser = KeyParser()
    reads = [b"\x1b]52;c;", *[b"QUJD" * 10] * 500]
    got = sum(len(event.data) for read in reads for event in parser.feed(read))
    assert got >= sum(map(len, reads)) - MAX_STRING - 64
