"""Which replies of the terminal the child has asked for. Invariant: a reply whose question is not in the child's recent
output reaches nobody, because a shell would take it for typed text.

Sources: xterm ctlseqs, the kitty keyboard protocol.
"""

from __future__ import annotations

import re

from ptyproxy.capture import Capture
from ptyproxy.stream.keys import Input
from ptyproxy.stream.replies import Kind

RECENT_BYTES = 64 * 1024  # of output, in which the question to a reply is looked for
FOCUS_MODE = 1004
TERMINALS_OWN: frozenset[Kind] = frozenset({"reply", "focus", "mouse"})  # what nobody typed

_CSI, _OSC, _DCS = rb"\x1b\[", rb"\x1b\]", rb"\x1bP"

# (what the reply looks like, what asks for it); groups of the reply are put into the question
_PAIRS: tuple[tuple[re.Pattern[bytes], bytes], ...] = tuple(
    (re.compile(reply, re.DOTALL), question)
    for reply, question in (
        (_CSI + rb"\?[0-9;]*c", rb"\x1b\[0?c|\x1bZ"),
        (_CSI + rb">[0-9;]*c", rb"\x1b\[>0?c"),
        (_CSI + rb"=[0-9;]*c|" + _DCS + rb"!\|.*", rb"\x1b\[=0?c"),
        (_CSI + rb"[0-9]+;[0-9]+R", rb"\x1b\[6n"),
        (_CSI + rb"\?[0-9;]+R", rb"\x1b\[\?6n"),
        (_CSI + rb"[0-9;]*n", rb"\x1b\[5n"),
        (_CSI + rb"\?[0-9;]*n", rb"\x1b\[\?[0-9;]+n|\x1b\[\?2031h"),
        (_CSI + rb"(\??[0-9]+);[0-9]+\$y", rb"\x1b\[%s\$p"),
        (_CSI + rb"\?[0-9]*u", rb"\x1b\[\?u"),
        (_CSI + rb"[0-9;:]+t|" + _OSC + rb"[lL].*", rb"\x1b\[[12][0-9]t|\x1b\[\?2048h"),
        (_CSI + rb"\?[0-9;]*S", rb"\x1b\[\?[0-9;]+S"),
        (_CSI + rb"[?>][0-9;:]*m", rb"\x1b\[\?[0-9;]*m"),
        (_CSI + rb"[0-9;]*(?:\x2ay|x)", rb"\x1b\[[0-9;]*(?:\x2ay|x)"),
        (_OSC + rb"4;([0-9]+);.*", rb"\x1b\]4;(?:[0-9]+;\?;)*%s;\?"),
        (_OSC + rb"([0-9]+);.*", rb"\x1b\]%s;[^\x07\x1b]*\?"),
        (_DCS + rb"[0-9]?\$r.*", rb"\x1bP\$q"),
        (_DCS + rb"[0-9]?\+r.*", rb"\x1bP\+q"),
        (_DCS + rb">\|.*", rb"\x1b\[>0?q"),
        (rb"\x1b_G.*", rb"\x1b_G"),
    )
)


def was_asked(reply: bytes, output: bytes) -> bool:
    """Whether the child's `output` asks for `reply` (a complete sequence, or the beginning of a very long one)."""
    for shape, question in _PAIRS:
        found = shape.fullmatch(reply)
        if found:
            pattern = question % re.escape(found[1]) if shape.groups else question
            return re.search(pattern, output) is not None
    return False


class Reports:
    """What the terminal says while the child does not have the keyboard."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._passes = False

    def are_wanted(self, piece: Input) -> bool:
        """Whether the child wants this reply, focus or mouse report."""
        if piece.kind == "focus":
            return self._capture.modes.is_set(FOCUS_MODE)
        if piece.kind == "mouse":
            return self._capture.modes.mouse
        if piece.data[:1] == b"\x1b":  # else it goes on with one too long to be read at once
            self._passes = was_asked(piece.data, self._recent_output())
        return self._passes

    def _recent_output(self) -> bytes:
        """What the child printed since the last command ended: who asked before that does not read any more."""
        capture = self._capture
        start = max(0, capture.ring.end - RECENT_BYTES)
        if capture.records:
            start = max(start, capture.records[-1].end or 0)
        return capture.ring.snapshot(start).data
