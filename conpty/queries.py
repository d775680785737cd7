"""What ConPTY says to its terminal for itself, taken out of the child's output. Bytes in, bytes out.

Invariants: the answer is the same however the output is cut; `?9001h/l` and `?1004h/l` are the one thing that is not
forwarded (they would make the terminal send win32 key records and focus reports, which nobody inside asked for); the
queries are answered only where no terminal is there to answer them.
"""

from __future__ import annotations

import re

# microsoft/terminal: ConPTY from 1.22 on begins with ESC[1t ESC[c ESC[?1004h ESC[?9001h
OWN_MODES = tuple(b"\x1b[?" + mode + end for mode in (b"9001", b"1004") for end in (b"h", b"l"))
DEVICE_QUERIES = (b"\x1b[c", b"\x1b[0c")  # DA1
CURSOR_QUERY = b"\x1b[6n"  # DSR-CPR; older conhosts block until it is answered
DEVICE_ANSWER = b"\x1b[?61;22c"  # a VT500 with colour


class ConsoleQueries:
    """The filter for one child. `headless`: no terminal is attached, so the queries are answered in here."""

    def __init__(self, headless: bool) -> None:
        self._tokens = OWN_MODES + ((*DEVICE_QUERIES, CURSOR_QUERY) if headless else ())
        self._pattern = re.compile(b"|".join(map(re.escape, self._tokens)))
        self._beginnings = {token[:length] for token in self._tokens for length in range(1, len(token))}
        self._longest = max(map(len, self._beginnings))
        self._held = b""

    def feed(self, data: bytes, row: int = 1, col: int = 1) -> tuple[bytes, bytes]:
        """Returns (what to forward, what to answer the child). `row`, `col`: the cursor, from 1, for its query.

        What may be the beginning of a token, at most 7 bytes, waits for the next call or for `flush`.
        """
        data = self._held + data
        answers = bytearray()

        def take(match: re.Match[bytes]) -> bytes:
            token = match.group()
            if token in DEVICE_QUERIES:
                answers.extend(DEVICE_ANSWER)
            elif token == CURSOR_QUERY:
                answers.extend(b"\x1b[%d;%dR" % (row, col))
            return b""

        keep = next(
            (length for length in range(min(self._longest, len(data)), 0, -1) if data[-length:] in self._beginnings), 0
        )
        self._held = data[len(data) - keep :]
        return self._pattern.sub(take, data[: len(data) - keep]), bytes(answers)

    def flush(self) -> bytes:
        """What was held back, at the end of the output."""
        held, self._held = self._held, b""
        return held
