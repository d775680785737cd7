"""The frame parser: one result however the bytes are cut, and every odd frame named."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.gateway.framing import (
    MAX_DEPTH,
    MAX_FRAME_BYTES,
    BadFrame,
    LineParser,
    RequestFault,
    parse_request,
    too_deep,
)

LIMIT = 64


def outcome(data: bytes, cuts: list[int], limit: int = LIMIT) -> list[object]:
    """All lines, then the fault's name if there is one, of `data` cut at `cuts`."""
    parser = LineParser(limit)
    found: list[object] = []
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        parser.feed(data[start:end])
        if not _drain(parser, found):
            break
    parser.feed_eof()
    _drain(parser, found)
    return found


def _drain(parser: LineParser, found: list[object]) -> bool:
    try:
        while (line := parser.next_line()) is not None:
            found.append(line)
    except BadFrame as fault:
        found.append(fault.code)
        return False
    return True


pieces = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b" ", b"\t", b"{}", b'{"a":"b"}', b"x" * 30, b"y" * (LIMIT - 1), b"z" * LIMIT, b"\xc3\xa9"]
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=12).map(b"".join), st.data())
def test_any_cut_gives_the_same_lines_and_the_same_fault(data: bytes, draw: st.DataObject) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=10))
    assert outcome(data, cuts) == outcome(data, [])
    assert outcome(data, list(range(len(data)))) == outcome(data, [])


@settings(deadline=None)
@given(st.binary(max_size=300), st.data())
def test_any_cut_of_any_bytes_gives_the_same_lines(data: bytes, draw: st.DataObject) -> None:
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=10))
    assert outcome(data, cuts) == outcome(data, [])


def test_line_ends_blank_lines_and_a_last_line_without_one() -> None:
    assert outcome(b"\n\r\n  \n{1}\r\n\n{2}\n \t\r\n{3}", []) == [b"{1}", b"{2}", b"{3}"]


def test_a_frame_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    assert outcome(b"a" * (LIMIT - 1) + b"\n", []) == [b"a" * (LIMIT - 1)]
    assert outcome(b"{}\n" + b"a" * LIMIT + b"\n{}\n", []) == [b"{}", -32600]


def test_an_endless_line_is_refused_without_being_kept() -> None:
    parser = LineParser()
    kept = 0
    for _ in range(64):
        parser.feed(b"x" * (64 * 1024))
        kept = max(kept, parser.buffered)
    assert kept <= MAX_FRAME_BYTES
    with pytest.raises(BadFrame, match="exceeds"):
        parser.next_line()
    parser.feed(b"{}\n")
    assert parser.next_line() is None
    assert parser.buffered == 0


def test_complete_frames_before_an_endless_line_are_still_read() -> None:
    parser = LineParser(LIMIT)
    parser.feed(b"{1}\n{2}\n" + b"x" * 10 * LIMIT)
    assert parser.buffered <= LIMIT
    assert [parser.next_line(), parser.next_line()] == [b"{1}", b"{2}"]
    with pytest.raises(BadFrame):
        parser.next_line()


def request(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": "1", "method": "gateway.ping", **members}).encode()


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'[{"jsonrpc":"2.0","id":1,"method":"m"}]',
        b"42",
        b'"text"',
        b"null",
        b"{} {}",
        b'{"jsonrpc":"2.0","id":1,"method":"m"} x',
        b'{"jsonrpc":"2.0","id":1,"method":"m"',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"m"}',
        b"\xef\xbb\xbf{}",
        b'{"a":' * 100_000,
        request(params={"x": json.loads("[" * 70 + "]" * 70)}),
        request(ignored=json.loads('{"a":' * 70 + "1" + "}" * 70)),
    ],
)
def test_what_is_no_frame_object_ends_the_connection(line: bytes) -> None:
    with pytest.raises(BadFrame) as fault:
        parse_request(line)
    assert (fault.value.code, fault.value.gateway_code) == (-32700, "invalid_frame")


@pytest.mark.parametrize(
    ("members", "gateway_code"),
    [
        (b'"jsonrpc":"2.0","method":"m"', "missing_required_field"),
        (b'"jsonrpc":"2.0","id":null,"method":"m"', "missing_required_field"),
        (b'"jsonrpc":"2.0","id":"","method":"m"', "invalid_frame"),
        (b'"jsonrpc":"2.0","id":true,"method":"m"', "invalid_frame"),
        (b'"jsonrpc":"2.0","id":{"a":1},"method":"m"', "invalid_frame"),
        (b'"jsonrpc":"2.0","id":[1],"method":"m"', "invalid_frame"),
        (b'"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"m"', "invalid_frame"),
        (b'"jsonrpc":"1.0","id":"1","method":"m"', "invalid_frame"),
        (b'"jsonrpc":2.0,"id":"1","method":"m"', "invalid_frame"),
        (b'"id":"1","method":"m"', "invalid_frame"),
        (b'"jsonrpc":"2.0","id":"1"', "missing_required_field"),
        (b'"jsonrpc":"2.0","id":"1","method":7', "missing_required_field"),
    ],
)
def test_a_bad_envelope_is_an_invalid_request(members: bytes, gateway_code: str) -> None:
    with pytest.raises(RequestFault) as fault:
        parse_request(b"{" + members + b"}")
    assert (fault.value.error.code, fault.value.error.gateway_code) == (-32600, gateway_code)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b'"a"', "a"),
        (b"7", "7"),
        (b"-1.50", "-1.50"),
        (b"1e400", "1e400"),
        (b"123456789012345678901234567890", "123456789012345678901234567890"),
        (b'"\\u00e9\\n"', "é\n"),
    ],
)
def test_an_id_goes_back_exactly_as_it_came(raw: bytes, text: str) -> None:
    parsed = parse_request(b'{"jsonrpc":"2.0", "id" : ' + raw + b' ,"method":"m"}')
    assert (bytes(parsed.id), parsed.request_id) == (raw, text)


def test_of_a_member_given_twice_the_last_counts_and_unknown_ones_are_ignored() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","more":[1,{}],"params":{"x":1}}'
    parsed = parse_request(line)
    assert (parsed.request_id, parsed.method, parsed.params) == ("2", "b", b'{"x":1}')


nested = st.recursive(
    st.one_of(st.integers(), st.text(alphabet='[]{}"\\x'), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(alphabet='[{"\\'), inner, max_size=3)),
    max_leaves=20,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((depth(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth(item) for item in value), default=0)
    return 0


@settings(deadline=None)
@given(nested)
def test_nesting_is_counted_outside_of_strings(value: object) -> None:
    line = json.dumps(value).encode()
    if depth(value) > 0:
        assert too_deep(line, depth(value) - 1)
    assert not too_deep(line, depth(value))


def test_nesting_of_64_is_allowed_and_65_is_not() -> None:
    inside = MAX_DEPTH - 1  # the frame object is the first level
    parse_request(request(params=json.loads("[" * inside + "]" * inside)))
    with pytest.raises(BadFrame, match="deeper"):
        parse_request(request(params=json.loads("[" * (inside + 1) + "]" * (inside + 1))))
