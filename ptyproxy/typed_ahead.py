"""Takes what was typed ahead while a command ran out of its output: the terminal's echo of it, which the next prompt
shows again, stands in front of whatever the command printed then.

Invariant: only bytes that stand exactly where that echo must be are taken, and only of a line without its Enter:
what was typed and entered is a part of what the person saw (a nested shell, an interpreter).
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from ptyproxy.records import Output

KEYS_KEPT = 512  # some lines of fast typing
MAX_KEY_BYTES = 256  # of one piece; a longer one is a paste

# a terminal's ordinary echo (termios(3): ECHOCTL, ECHOE): ^X for a control character, an erased one is wiped out
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")


class _Key(NamedTuple):
    offset: int  # where the stream stood
    echo: bytes  # empty for Enter


class TypedAhead:
    """Tell it every key, and where the stream stood when it came."""

    def __init__(self) -> None:
        self._keys: deque[_Key] = deque(maxlen=KEYS_KEPT)

    def typed(self, kind: str, data: bytes, offset: int) -> None:
        """One piece of input (`stream.keys.Input`) that the child gets, with the stream's end at that time."""
        if kind == "enter":
            self._keys.append(_Key(offset, b""))
        elif kind in ("text", "key", "paste") and len(data) <= MAX_KEY_BYTES:
            self._keys.append(_Key(offset, _CONTROL.sub(_echoed, data)))

    def without_echo(self, output: Output, start: int) -> Output:
        """The output that began at `start` in the stream, without it."""
        tail_start = start + len(output.head) + output.skipped
        end = tail_start + len(output.tail)
        keys: list[_Key] = []
        for key in self._keys:
            if start <= key.offset < end:
                keys = [*keys, key] if key.echo else []
        if not keys:
            return output
        return output._replace(head=_without(output.head, start, keys), tail=_without(output.tail, tail_start, keys))


def _without(data: bytes, start: int, keys: list[_Key]) -> bytes:
    kept, at = [], 0
    for key in keys:
        # the echo of the key before may have come only after this one was typed
        found = max(at, key.offset - start)
        if data.startswith(key.echo, found):
            kept.append(data[at:found])
            at = found + len(key.echo)
    return b"".join([*kept, data[at:]])


def _echoed(found: re.Match[bytes]) -> bytes:
    return b"\b \b" if found[0] in (b"\x7f", b"\x08") else bytes((0x5E, found[0][0] ^ 0x40))
