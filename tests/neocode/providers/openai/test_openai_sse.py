"""The event parser and the answer built on it give the same however the bytes are cut, and hold little."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from fake_openai import chunk, sse, usage
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.providers.base import Delta, Finish
from neocode.providers.openai.errors import Caller
from neocode.providers.openai.failure import Failure
from neocode.providers.openai.sse import MAX_LINE_BYTES, Event, SseParser, decode_object
from neocode.providers.openai.stream import Answer, BodyDecoder

WHO = Caller("work", "host", "model")

LINES = st.one_of(
    st.builds(lambda text: f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}", st.text(max_size=20)),
    st.builds(
        lambda text: f"data:{json.dumps({'choices': [{'delta': {'content': text}}]}, ensure_ascii=False)}",
        st.sampled_from(["你好世界 🌍", "北", "é", "a\u2028b", ""]),
    ),
    st.sampled_from(
        [
            "",
            ": OPENROUTER PROCESSING",
            "data: : OPENROUTER PROCESSING",
            "data: ping",
            "data:",
            "data",
            "data: [DONE]",
            'data: {"choices":[{"del',
            'data: {"choices":',
            'data: [{"delta":{"content":"two lines"},"finish_reason":"stop"}]}',
            'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
            'data: {"choices":[{"delta":null,"finish_reason":"stop"}]}',
            'data: {"error":{"message":"no"}}',
            '{"error":"bare"}',
            "event: error",
            "id: 1",
            "<html>",
        ]
    ),
)
BODIES = st.builds(
    lambda lines, ends: "".join(line + end for line, end in zip(lines, ends, strict=False)).encode(),
    st.lists(LINES, max_size=12),
    st.lists(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]), min_size=12, max_size=12),
)
RAW = st.one_of(BODIES, st.binary(max_size=60), st.builds(lambda body: b"\xef\xbb\xbf" + body, BODIES))


def parse(pieces: list[bytes]) -> list[Event]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.close()


def read(pieces: list[bytes]) -> tuple[str, str, Finish | str]:
    """Text, thinking and end of the answer in `pieces`, as `Reply` reads them."""
    decoder, answer = BodyDecoder(WHO), Answer(WHO, 8)
    text = thinking = ""
    try:
        for piece in [*pieces, None]:
            events = decoder.close() if piece is None else decoder.feed(piece)
            for event in events:
                if answer.ended:
                    break
                delta = answer.take(event) or Delta("")
                text += delta.text
                thinking += delta.reasoning
        return text, thinking, answer.finish()
    except Failure as failure:
        return text, thinking, failure.error.one_line()


def cuts(body: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(body), *(place % (len(body) + 1) for place in at)})
    return [body[start:end] for start, end in pairwise(places)]


@given(RAW, st.lists(st.integers(min_value=0), max_size=8))
@settings(max_examples=100)
def test_any_cut_gives_the_same_events_and_the_same_answer(body: bytes, at: list[int]) -> None:
    pieces = cuts(body, at)
    assert parse(pieces) == parse([body])
    assert read(pieces) == read([body])


@given(RAW)
def test_byte_by_byte_gives_the_same_events(body: bytes) -> None:
    assert parse([bytes([byte]) for byte in body]) == parse([body])


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_text_survives_its_way_through_a_stream(texts: list[str], newline: str) -> None:
    body = sse(*map(chunk, texts), chunk(finish="stop"), usage(1, 2))
    if newline != "\n":
        body = body.replace(b"\n", newline.encode())
    text, _, end = read([body])
    assert text == "".join(texts)
    assert isinstance(end, Finish) == bool(text)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_line_of_the_greatest_length_passes_and_one_more_byte_does_not(newline: bytes) -> None:
    frame = b'data: {"a":"%s"}'
    fits = frame % (b"x" * (MAX_LINE_BYTES - len(frame) + 2))
    assert [event.kind for event in parse([fits + newline * 2])] == ["data"]
    for pieces in ([fits[:-2] + b'x"}' + newline * 2], cuts(fits[:-2] + b'x"}' + newline * 2, [7, 999_999])):
        assert [event.kind for event in parse(pieces)] == ["oversize"]


def test_an_endless_line_is_not_kept() -> None:
    parser = SseParser()
    events = [event for _ in range(64) for event in parser.feed(b"x" * 65536)]
    assert [event.kind for event in events] == ["oversize"]
    assert len(parser._buffer) == 0


def test_nesting_that_would_exhaust_the_stack_is_undecodable() -> None:
    assert decode_object(b'{"a":' * 100_000 + b"}" * 100_000) is None


def test_bad_utf8_inside_an_event_costs_only_the_bad_character() -> None:
    text, _, _ = read([b'data: {"choices":[{"delta":{"content":"a\xf0\x9fb"},"finish_reason":"stop"}]}\n\n'])
    assert text == "a�b"
