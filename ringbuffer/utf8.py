"""Where UTF-8 text may be cut.

Invariant: only a valid sequence counts as a character, so bytes that are no UTF-8 are never left out.
"""

from __future__ import annotations

# RFC 3629: a character is at most 4 bytes, so 3 bytes either side of a cut show whether it splits one
MARGIN = 3


def _length(lead: int) -> int:
    """Bytes of the sequence that `lead` opens; 0 when it opens none (RFC 3629, section 4)."""
    if 0xC2 <= lead <= 0xDF:
        return 2
    if 0xE0 <= lead <= 0xEF:
        return 3
    return 4 if 0xF0 <= lead <= 0xF4 else 0


def _is_prefix(data: bytes) -> bool:
    """Whether `data` is a valid sequence, or would become one with more bytes."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def split_at(around: bytes, cut: int) -> tuple[int, int] | None:
    """The character that a cut before `around[cut]` would halve, as (first, past-the-end) indices, else None.

    Past-the-end may lie beyond `around` when the character is not complete yet. Needs `MARGIN` bytes either side, or
    as many as there are.
    """
    for lead in range(cut - 1, max(cut - 1 - MARGIN, -1), -1):
        byte = around[lead]
        if byte & 0xC0 == 0x80:
            continue
        length = _length(byte)
        if lead + length > cut and _is_prefix(around[lead : lead + length]):
            return lead, lead + length
        return None
    return None


def trimmed_end(data: bytes) -> int:
    """The length of `data` without a character that has begun at its end and is not complete."""
    split = split_at(data[-MARGIN - 1 :], min(len(data), MARGIN + 1))
    return len(data) if split is None else len(data) - min(len(data), MARGIN + 1) + split[0]
