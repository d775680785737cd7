"""A log as blocks of whole lines in an ASCII-compatible encoding, read once. Invariant: the blocks depend on the bytes
only, not on how `read` cut them, because raw bytes are cut at fixed offsets first; memory is a few blocks.

On the way UTF-16 becomes UTF-8, SGR colours go (they split words and tokens), private keys shrink to their borders,
and lines too long to be lines are broken into pieces that `SOFT` marks for joining.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from neocode.logs.keyblocks import KeyBlocks
from neocode.logs.pattern import compiled
from neocode.logs.powershell import MARK, unwrap_records

BLOCK = 1 << 20
# A longer line is no line to read; it is broken where a token may end, so that a piece of it can be kept.
LONG_LINE = 4096
PIECE = 512
_BREAKS = (b" ", b",", b";", b"&", b"\t", b"}")
# Ends a piece whose line goes on. Not text in any encoding; binary data that holds it loses a newline, no more.
SOFT = b"\x00\x1e\x00"
# What a key block's border may be long; never broken.
_LABEL = 80
_SGR = rb"\x1b\[[0-9;:]*m"

# Without a BOM: so much of one byte lane is NUL where text is mostly Latin.
NUL_LANE = 0.7
_BOMS = ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"))
_BOMS_16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class LineStream:
    """Iterates over the blocks; the totals are right after the last one."""

    def __init__(self, read: Callable[[int], bytes], drop_keys: bool) -> None:
        self.total_bytes = 0
        self.total_lines = 0
        self.encoding = "utf-8"
        self._read = read
        self._keys = KeyBlocks() if drop_keys else None

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        decoder: codecs.IncrementalDecoder | None = None
        last = b"\n"
        for raw in _fixed_blocks(self._read):
            if not self.total_bytes:
                self.encoding = detect_wide(raw)
                if self.encoding != "utf-8":
                    decoder = codecs.getincrementaldecoder(self.encoding)("replace")
            self.total_bytes += len(raw)
            data = decoder.decode(raw).encode("utf-8", "replace") if decoder else raw
            self.total_lines += data.count(b"\n")
            last = data[-1:] or last
            data = rest + data
            cut = _whole_lines(data)
            rest = data[cut:]
            if cut:
                yield from self._block(data[:cut], goes_on=data[cut - 1 : cut] != b"\n")
        if rest:
            yield from self._block(rest, goes_on=False)
        self.total_lines += last != b"\n"

    def _block(self, data: bytes, goes_on: bool) -> Iterator[bytes]:
        if b"\x1b" in data:
            data = compiled(_SGR).sub(b"", data)
        if b"\0" in data and data.count(0) * 4 > len(data):  # UTF-16 appended to a file that began otherwise
            data = data.replace(b"\0", b"")
        if b"\n" not in data and b"\r" in data:
            data = _old_mac_lines(data)
        if MARK in data:
            data = unwrap_records(data)
        if self._keys is not None:
            data = self._keys.shrink(data)
        if goes_on and data:
            data += SOFT + b"\n"
        if data:
            yield _break_long_lines(data)


def detect_wide(head: bytes) -> str:
    """The two- or four-byte encoding of a text that starts with `head`, else "utf-8".

    By BOM, or without one when nearly all of one of the two byte lanes is NUL and hardly any of the other.
    """
    for bom, name in (*_BOMS, *_BOMS_16):
        if head.startswith(bom):
            return name
    lanes = head[:4096]
    if len(lanes) < 8 or b"\0" not in lanes:
        return "utf-8"
    even, odd = lanes[::2].count(0) / len(lanes[::2]), lanes[1::2].count(0) / len(lanes[1::2])
    if odd >= NUL_LANE and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even >= NUL_LANE and odd == 0 else "utf-8"


def _fixed_blocks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """`BLOCK` bytes each but the last, however little a read returns."""
    held = bytearray()
    while data := read(BLOCK - len(held)):
        if not held and len(data) == BLOCK:
            yield data
            continue
        held += data
        while len(held) >= BLOCK:
            yield bytes(held[:BLOCK])
            del held[:BLOCK]
    if held:
        yield bytes(held)


def _whole_lines(data: bytes) -> int:
    """Where to cut `data`: after its last newline, or within a line that is longer than it should be."""
    cut = data.rfind(b"\n") + 1
    if len(data) - cut <= BLOCK // 2:
        return cut
    cut = _break_before(data, len(data) - PIECE, len(data))
    border = data.rfind(b"-----", max(0, cut - _LABEL), cut)
    return border if border > 0 else cut


def _break_before(data: bytes, start: int, end: int) -> int:
    """The best place in (start, end] to break a line: after the last white space or separator, at least not in a
    UTF-8 character."""
    at = max(data.rfind(mark, start, end) for mark in _BREAKS) + 1
    if at > start:
        return at
    while end > start + 1 and end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _break_long_lines(data: bytes) -> bytes:
    parts: list[bytes] = []
    done = at = 0
    while len(data) - at > LONG_LINE:
        newline = data.rfind(b"\n", at, at + LONG_LINE)
        if newline >= 0:
            at = newline + 1
            continue
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        parts += data[done:at], _pieces(data[at:end].rstrip(b"\r"))
        done = at = end
    if not parts:
        return data
    parts.append(data[done:])
    return b"".join(parts)


def _pieces(line: bytes) -> bytes:
    """A long line in pieces. A carriage return in it ends a state of a progress bar: a line of its own."""
    parts = []
    for state in line.split(b"\r"):
        at = 0
        while len(state) - at > PIECE + len(SOFT):
            cut = _break_before(state, at + PIECE // 2, at + PIECE)
            parts.append(state[at:cut] + SOFT)
            at = cut
        parts.append(state[at:])
    return b"\n".join(parts)


def _old_mac_lines(data: bytes) -> bytes:
    """A text without LF: CR ends its lines if these differ; states of one progress bar stay for overwriting."""
    lines = data.rstrip(b"\r").split(b"\r")
    shapes = {compiled(rb"[\d.%#=>\-\s]+").sub(b"", line) for line in lines}
    return data.replace(b"\r", b"\n") if len(lines) > 2 and len(shapes) * 2 > len(lines) else data
