"""From a byte stream to requests, without I/O: lines first, then one JSON object per line.

Invariants: however the bytes are cut, the same lines and the same first fault come out; never more than one
frame's limit is kept of a line that has not ended; nothing after a fault is read.
"""

from __future__ import annotations

import re
from itertools import accumulate

import msgspec

from neocode.gateway.protocol import (
    INVALID_REQUEST,
    JSONRPC,
    PARSE_ERROR,
    RpcError,
)

MAX_FRAME_BYTES = 1 << 20  # 1 MiB with its newline, both ways: what the deployed gateway takes
MAX_DEPTH = 64  # no message of ours is deeper than 8; deeper ones cost decoders stack and time
MAX_ID_BYTES = 256  # an id is sent back, twice; a long one would make the answer too long to send

_BLANK_LINES = re.compile(rb"[ \t\r\n]*\n")
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_DEPTH_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class BadFrame(RpcError):
    """A frame that ends the connection after one error with `id: null`."""

    def __init__(self, message: str, code: int = PARSE_ERROR) -> None:
        super().__init__("invalid_frame", message, code=code)


class LineParser:
    """Cuts fed bytes into lines: `feed`, then `next_line` until it returns None; `feed_eof` ends the last one."""

    def __init__(self, limit: int = MAX_FRAME_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0  # no newline before this offset
        self._open = 0  # bytes after the last newline
        self._oversize = False
        self._dead = False
        self._eof = False

    def feed(self, data: bytes | bytearray) -> None:
        """Add received bytes. Those of a line that is already too long are dropped."""
        if self._oversize or self._dead:
            return
        first = data.find(b"\n")
        if first < 0:
            self._open += len(data)
        elif self._open + first + 1 > self._limit:
            self._open += first + 1
        else:
            self._open = len(data) - data.rfind(b"\n") - 1
            if self._open > self._limit:
                data = data[: len(data) - self._open]
                self._oversize = True
            self._buffer += data
            return
        if self._open > self._limit:
            self._oversize = True
            del self._buffer[self._buffer.rfind(b"\n") + 1 :]
            return
        self._buffer += data

    def feed_eof(self) -> None:
        """No more bytes will come: what is left is the last line."""
        self._eof = True

    @property
    def buffered(self) -> int:
        """Bytes waiting."""
        return len(self._buffer)

    def next_line(self) -> bytes | None:
        """The next line that is not blank, without its line end; None when more bytes are needed.

        Raises:
            BadFrame: the line is over the limit. No line follows.
        """
        if self._buffer[:1].isspace() and (blank := _BLANK_LINES.match(self._buffer)):
            del self._buffer[: blank.end()]
            self._scanned = 0
        end = self._buffer.find(b"\n", self._scanned)
        if end >= 0:
            if end + 1 > self._limit:
                self._fail()
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._scanned = 0
            return line.rstrip(b"\r")
        if self._oversize:
            self._fail()
        self._scanned = len(self._buffer)
        if self._eof and self._buffer:
            rest = bytes(self._buffer)
            self._buffer.clear()
            self._scanned = 0
            return rest.rstrip(b"\r") if rest.strip(b" \t\r\n") else None
        return None

    def _fail(self) -> None:
        self._buffer.clear()
        self._oversize = False
        self._dead = True
        raise BadFrame(f"frame exceeds {MAX_FRAME_BYTES} bytes", INVALID_REQUEST)


class Request(msgspec.Struct, frozen=True):
    """A well-formed call. `id` is the raw id, `request_id` the same as text, `params` still encoded."""

    id: msgspec.Raw
    request_id: str
    method: str
    params: bytes


class RequestFault(Exception):
    """A call that is refused without closing the connection; `request_id` None is sent as null."""

    def __init__(self, request_id: msgspec.Raw | None, error: RpcError) -> None:
        super().__init__(error.message)
        self.request_id = request_id
        self.error = error


class _Envelope(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw = msgspec.Raw(b"")
    method: msgspec.Raw = msgspec.Raw(b"null")
    params: msgspec.Raw = msgspec.Raw(b"")


_envelope = msgspec.json.Decoder(_Envelope)
_text = msgspec.json.Decoder(str)


def too_deep(line: bytes, limit: int = MAX_DEPTH) -> bool:
    """True when valid JSON `line` nests arrays and objects deeper than `limit`."""
    if line.count(b"[") + line.count(b"{") <= limit:
        return False
    unescaped = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    steps = map(_DEPTH_STEP.__getitem__, outside.translate(None, _NOT_BRACKETS))
    return max(accumulate(steps), default=0) > limit


def check_json_object(line: bytes) -> None:
    """Refuse what is UTF-8 JSON but no frame, or too deep. Call it after a decoder has accepted the line.

    Raises:
        BadFrame: see above.
    """
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        raise BadFrame("invalid frame: not UTF-8") from None
    if too_deep(line):
        raise BadFrame(f"invalid frame: nested deeper than {MAX_DEPTH}")


def parse_request(line: bytes) -> Request:
    """Read one line from a client.

    Raises:
        BadFrame: not JSON, not an object, two values, too deep: the connection ends.
        RequestFault: wrong version, no id, an unusable id or no method: the connection goes on.
    """
    try:
        envelope = _envelope.decode(line)
    except msgspec.ValidationError:
        raise BadFrame("invalid frame: expected one JSON object") from None
    except (msgspec.DecodeError, RecursionError):
        raise BadFrame("invalid frame: expected one JSON object per line") from None
    check_json_object(line)
    request_id, text = _read_id(envelope.id)
    if _read_text(envelope.jsonrpc) != JSONRPC:
        raise RequestFault(request_id, RpcError("invalid_frame", "invalid jsonrpc version", code=INVALID_REQUEST))
    method = _read_text(envelope.method)
    if not method:
        raise RequestFault(
            request_id,
            RpcError("missing_required_field", "missing required field: method", code=INVALID_REQUEST),
        )
    return Request(request_id, text, method, bytes(envelope.params))


def decode_params(request: Request, decoder: msgspec.json.Decoder[msgspec.Struct]) -> msgspec.Struct:
    """The params of `request` as the decoder's struct; left out and null are the empty object.

    Raises:
        RpcError: unknown members or wrong types.
        BadFrame: the JSON itself is broken.
    """
    raw = request.params
    try:
        return decoder.decode(b"{}" if raw in (b"", b"null") else raw)
    except msgspec.ValidationError:
        raise RpcError("invalid_frame", f"invalid params for {request.method}") from None
    except (msgspec.DecodeError, RecursionError):
        raise BadFrame("invalid frame: expected one JSON object per line") from None


def _read_text(raw: msgspec.Raw) -> str:
    """The string in `raw`, or "" when it holds something else."""
    try:
        return _text.decode(raw)
    except msgspec.DecodeError:
        return ""


def _read_id(raw: msgspec.Raw) -> tuple[msgspec.Raw, str]:
    encoded = bytes(raw)
    if encoded in (b"", b"null"):
        error = RpcError("missing_required_field", "missing required field: id", code=INVALID_REQUEST)
        raise RequestFault(None, error)
    text = _read_text(raw) if encoded[:1] == b'"' else encoded.decode("ascii", "replace")
    is_number = encoded[:1] in b"-0123456789"
    if not text or len(encoded) > MAX_ID_BYTES or not (is_number or encoded[:1] == b'"'):
        raise RequestFault(None, RpcError("invalid_frame", "invalid id", code=INVALID_REQUEST))
    return raw, text
