"""Server-sent events (WHATWG HTML 9.2) as chat endpoints really send them: bytes in, decoded JSON events out.

Invariants: sans-IO; the events are the same however the bytes are cut; at most MAX_LINE_BYTES are held. Lenient where
real servers are sloppy: blank lines missing between events, the last one unterminated, comments sent as data, a bare
JSON error between events. Bytes are decoded by whole lines, so a character cut by the network stays whole.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import msgspec

MAX_LINE_BYTES = 1024 * 1024  # a line, or the lines of one event, that grows beyond this is an attack or a bug
MAX_JOINED_BYTES = 64 * 1024  # of an object spread over several data lines, which is tried again with each of them
MAX_JOINED_LINES = 128  # a pretty-printed chunk has some fifty
LINE_END = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True):
    """`data`: a decoded JSON object and its event name; `done`: [DONE]; `damaged`: JSON that cannot be decoded;
    `oversize`: a line beyond MAX_LINE_BYTES, after which nothing more is parsed.
    """

    kind: Literal["data", "done", "damaged", "oversize"]
    data: dict[str, Any] = {}
    name: str = ""


class SseParser:
    """Feed it bytes in any pieces; close it at the end of the stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._first = True
        self._pending = b""
        self._pending_lines = 0
        self._name = ""
        self._overflowed = False

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
        self._buffer += data
        events: list[Event] = []
        start = 0
        while not self._overflowed:
            match = LINE_END.search(self._buffer, max(start, self._scanned))
            if match is None or (match.group() == b"\r" and match.end() == len(self._buffer)):
                break  # a CR at the very end may be half of a CRLF
            self._line(bytes(self._buffer[start : match.start()]), events)
            start = match.end()
        del self._buffer[:start]
        self._scanned = max(0, len(self._buffer) - 1)
        if len(self._buffer) > MAX_LINE_BYTES + 1:  # one more, for a CR whose LF has not come yet
            self._overflow(events)
        if self._overflowed:
            self._buffer.clear()
        return events

    def close(self) -> list[Event]:
        """The events of an unterminated last line."""
        events: list[Event] = []
        rest = bytes(self._buffer).rstrip(b"\r")
        self._buffer.clear()
        if rest:
            self._line(rest, events)
        self._line(b"", events)
        return events

    def _overflow(self, events: list[Event]) -> None:
        if not self._overflowed:
            self._overflowed = True
            events.append(Event("oversize"))

    def _line(self, line: bytes, events: list[Event]) -> None:
        if len(line) > MAX_LINE_BYTES:
            self._overflow(events)
        if self._overflowed:
            return
        if self._first:
            self._first = False
            line = line.removeprefix(BOM)
        if not line:
            self._end_of_event(events)
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data(value.strip(), events)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif line.startswith(b"{"):
            bare = decode_object(line)
            if bare is not None and "error" in bare:
                events.append(Event("data", bare, "error"))

    def _data(self, value: bytes, events: list[Event]) -> None:
        """Emit as soon as the lines so far are a whole object, since some servers leave out the blank line."""
        if not self._pending:
            if not value or value.startswith(b":"):
                return
            if value.startswith(b"[DONE]"):
                events.append(Event("done"))
                return
        elif self._starts_afresh(value):
            self._end_of_event(events)
            self._data(value, events)
            return
        joined = self._pending + b"\n" + value if self._pending else value
        whole = decode_object(joined)
        if whole is None:
            self._pending = joined
            self._pending_lines += 1
        else:
            self._pending = b""
            self._pending_lines = 0
            events.append(Event("data", whole, self._name))

    def _starts_afresh(self, value: bytes) -> bool:
        """Whether what is pending is hopeless: too much of it, or `value` is the next event without a blank line."""
        if self._pending_lines >= MAX_JOINED_LINES or len(self._pending) + len(value) > MAX_JOINED_BYTES:
            return True
        if value.startswith(b"[DONE]"):
            return True
        alone = decode_object(value)
        return alone is not None and ("choices" in alone or "error" in alone)

    def _end_of_event(self, events: list[Event]) -> None:
        """What is still undecoded now stays so; only what began as JSON can have held text (`ping` has not)."""
        if self._pending.startswith((b"{", b"[")):
            events.append(Event("damaged"))
        self._pending = b""
        self._pending_lines = 0
        self._name = ""


def decode_object(raw: bytes) -> dict[str, Any] | None:
    """`raw` as a JSON object, None when it is none. Bad UTF-8 and NaN, which some servers send, are let pass."""
    if not raw.startswith(b"{") or not raw.endswith(b"}"):
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        try:
            value = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
