"""The grammar of our own marks: `ESC ] 7781 ; neocode ; KIND [; key=value]... BEL` (`ESC \\` where BEL cannot be held).

Values are percent-encoded UTF-8, so that a mark is printable ASCII with no `;` of its own and no program's text can
end it. A mark has at most `MARK_LIMIT` bytes; a longer value is cut into parts that are joined before decoding.
"""

from __future__ import annotations

import re

PREFIX = "7781;neocode;"
MARK_LIMIT = 200  # ConPTY drops an OSC of more than 255 characters (microsoft/terminal#15551)
PARTS_LIMIT = 100  # some 12 KB of command line; what is longer is cut and says so

BEL = b"\x07"
ST = b"\x1b\\"

# printable ASCII but `%` and `;`
_SAFE = frozenset(range(0x20, 0x7F)) - {0x25, 0x3B}
_ENCODED = tuple(chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in range(256))
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


def encode_value(text: str) -> str:
    """`text` as a value: UTF-8 bytes, all but safe ones as `%XX`."""
    return "".join([_ENCODED[byte] for byte in text.encode("utf-8", "surrogateescape")])


def decode_bytes(raw: str) -> bytes:
    """The bytes of a value; a `%` that begins no escape stays as it is."""
    return _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), raw.encode("latin-1", "replace"))


def decode_value(raw: str) -> tuple[str, bool]:
    """The text of a value, and whether it was valid UTF-8 (else it has U+FFFD in it)."""
    data = decode_bytes(raw)
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def build_mark(kind: str, nonce: str | None = None, *, end: bytes = BEL, **raw: str) -> bytes:
    """One mark; `raw` values are encoded already. The nonce goes on C, D and K only."""
    fields = [f"{key}={value}" for key, value in ({"nc": nonce} if nonce else {}).items()]
    fields += [f"{key}={value}" for key, value in raw.items()]
    return b"\x1b]" + ";".join([PREFIX + kind, *fields]).encode("ascii") + end


def build_marks(kind: str, nonce: str, key: str, text: str, *, end: bytes = BEL, **raw: str) -> list[bytes]:
    """The marks for a value of any length: one, or `part=1/N` to `part=N/N`, the last with `cut=1` when text is lost.

    Each has at most `MARK_LIMIT` bytes.
    """
    value = encode_value(text)
    whole = build_mark(kind, nonce, end=end, **raw, **{key: value})
    if len(whole) <= MARK_LIMIT:
        return [whole]
    room = MARK_LIMIT - len(build_mark(kind, nonce, end=end, **raw, part=f"{PARTS_LIMIT}/{PARTS_LIMIT}", cut="1"))
    room -= len(key) + 2
    pieces = [value[at : at + room] for at in range(0, len(value), room)]
    kept = pieces[:PARTS_LIMIT]
    marks = []
    for number, piece in enumerate(kept, 1):
        cut = {"cut": "1"} if number == len(kept) < len(pieces) else {}
        marks.append(build_mark(kind, nonce, end=end, **raw, part=f"{number}/{len(kept)}", **cut, **{key: piece}))
    return marks
