"""Private keys in a stream of lines, shrunk to their border lines before anything is left out: so a body line can never
be kept without the line that says what it is. Invariant: a body of any length is followed to its end.
"""

from __future__ import annotations

from neocode.logs.pattern import compiled
from ptyproxy.redact.blocks import BASE64, BEGIN, BODY, END

_MARKER = b"PRIVATE KEY"
_BEGIN, _END = BEGIN.encode(), END.encode()
_INLINE = f"{BASE64}*".encode()
# What the redactor takes for a line of a key; also a checksum and nothing.
_BODY_LINE = rf"{BODY}\s*|[\s|>]*|=[A-Za-z0-9+/]{{4}}\s*".encode()


class KeyBlocks:
    """Shrinks keys in blocks of lines; what is open at the end of a block stays open in the next."""

    def __init__(self) -> None:
        self._open = False

    def shrink(self, data: bytes) -> bytes:
        """`data` without the bodies of private keys."""
        if not self._open and _MARKER not in data:
            return data
        parts: list[bytes] = []
        at = self._skip(data, 0) if self._open else 0
        while begin := compiled(_BEGIN).search(data, at):
            parts += data[at : begin.end()], b"\n"
            end = compiled(_END).search(data, begin.end())
            following = compiled(_BEGIN).search(data, begin.end())
            if end and (following is None or end.start() < following.start()):
                at = end.start()
            else:
                at = self._skip(data, begin.end())
        parts.append(data[at:])
        return b"".join(parts)

    def _skip(self, data: bytes, at: int) -> int:
        """Where the body stops that goes on at `at`; still open if that is the end of `data`."""
        inline = compiled(_INLINE).match(data, at)
        at = inline.end() if inline else at
        body = compiled(_BODY_LINE)
        while at < len(data):
            newline = data.find(b"\n", at)
            line_end = len(data) if newline < 0 else newline
            line = data[at:line_end]
            if _MARKER in line or not body.fullmatch(line):
                self._open = False
                return at
            at = min(line_end + 1, len(data))
        self._open = True
        return at
