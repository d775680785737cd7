"""A log of any size -> the part worth reading, safe to send. Invariants: memory is bounded, and the order is
strip sequences -> join wrapped lines -> redact -> truncate.

The stream is reduced to twice the limit with margins first, then that is stripped, joined and redacted as one text, the
margins go, and what is left is reduced to the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from neocode.errors import ConfigError
from neocode.logs.compose import Composed, compose, left_out
from neocode.logs.reduce import HEAD_SHARE, Reducer, Segment
from neocode.logs.stream import LineStream
from ptyproxy.redact import Redactor

DEFAULT_MAX_BYTES = 16 * 1024
# Beyond each edge, for the redactor: a token wrapped over a dozen lines of 80 columns is seen whole.
MARGIN = 1024
# Logs up to so much are stripped, joined and redacted whole before anything is left out.
WHOLE = 64 * 1024
# Notes about what was left out come on top of the budget of lines.
_NOTES_SHARE = 0.95

ReadBytes = Callable[[int], bytes]


class PreparedLog(NamedTuple):
    """What may be sent of a log.

    `text`: at most the asked UTF-8 bytes; `masked`: secrets masked in it, `kinds` how many of each; `truncated`:
    parts were left out; `total_bytes`, `total_lines`: of the input; `encoding`: what it was decoded as.
    """

    text: str
    masked: int
    kinds: dict[str, int]
    truncated: bool
    total_bytes: int
    total_lines: int
    encoding: str


def prepare(
    source: str | bytes | ReadBytes,
    redactor: Redactor | None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    width: int | None = None,
    legacy: str = "",
) -> PreparedLog:
    """Read a log once and return the part worth reading, at most `max_bytes` of UTF-8.

    `source`: the text, the bytes, or a function like `file.read` (n -> up to n bytes, b"" at the end; blocking).
    `redactor`: None keeps secrets (`--no-redact`). `width`: columns of the terminal it was copied from, if known.
    `legacy`: the encoding of what is not Unicode, if known. Raises only what the read function raises.
    """
    stream = LineStream(_reader(source), drop_keys=redactor is not None)
    segments, total = _reduce(stream, max_bytes)
    composed = compose(segments, total, redactor, width, legacy)
    text, cut = fit(composed.text, max_bytes)
    encoding = composed.encoding if stream.encoding == "utf-8" else stream.encoding
    kinds = _still_there(composed, text)
    return PreparedLog(
        text,
        sum(kinds.values()),
        kinds,
        cut or composed.left_out,
        stream.total_bytes,
        stream.total_lines,
        encoding,
    )


def fit(text: str, max_bytes: int) -> tuple[str, bool]:
    """`text` in at most `max_bytes` of UTF-8, and whether something had to go. Whole lines, unless one is longer."""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, False
    reducer = Reducer(int(max_bytes * _NOTES_SHARE), 0, 1 - HEAD_SHARE)
    reducer.feed(data)
    reduced = _joined(reducer.finish(), len(data))
    if len(reduced) > max_bytes:
        note = f"\n{left_out(len(reduced) - max_bytes)}\n".encode()
        room = max(0, max_bytes - len(note))
        head = reduced[: room // 3]
        reduced = (head[: head.rfind(b"\n") + 1] or head) + note + reduced[len(reduced) - (room - room // 3) :]
    return reduced[:max_bytes].decode("utf-8", "ignore"), True


def make_redactor(patterns: Sequence[str]) -> Redactor:
    """The redactor with the config's `redact.patterns`. Raises ConfigError that names the bad pattern."""
    try:
        return Redactor(patterns)
    except ValueError as error:
        raise ConfigError(str(error), "correct redact.patterns in config.yaml") from None


def _reader(source: str | bytes | ReadBytes) -> ReadBytes:
    if callable(source):
        return source
    if isinstance(source, str):
        try:
            data = source.encode("utf-8", "surrogateescape")  # argv keeps undecodable bytes so
        except UnicodeEncodeError:
            data = source.encode("utf-8", "replace")
    else:
        data = source
    parts = iter([data])
    return lambda n: next(parts, b"")


def _reduce(stream: LineStream, max_bytes: int) -> tuple[list[Segment], int]:
    """The segments to look at, and the bytes that they are of."""
    reducer: Reducer | None = None
    small = b""
    total = 0
    for block in stream:
        total += len(block)
        if reducer is None and total <= WHOLE:
            small += block
            continue
        if reducer is None:
            reducer = Reducer(2 * max_bytes, MARGIN)
            if small:
                reducer.feed(small)
        reducer.feed(block)
    if reducer is not None:
        return reducer.finish(), total
    lines = small.split(b"\n")
    return [Segment(lines, 0, 0, 0, total)], total


def _joined(segments: Sequence[Segment], total: int) -> bytes:
    parts: list[bytes] = []
    at = 0
    for segment in segments:
        if segment.start > at:
            parts.append(left_out(segment.start - at).encode())
        parts += segment.lines
        at = segment.end
    if at < total:
        parts.append(left_out(total - at).encode())
    return b"\n".join(parts)


def _still_there(composed: Composed, text: str) -> dict[str, int]:
    """How many masks of each kind are in the final text."""
    counts = {kind: min(number, text.count(f"[redacted:{kind}]")) for kind, number in composed.kinds.items()}
    return {kind: number for kind, number in counts.items() if number}
