"""Reads what comes from the user's terminal: what the person typed, and what the terminal itself says.

Rules: a paste counts as typed and nothing in it is a key; replies to queries, focus and mouse reports are never typed;
a control character ends an unfinished string, so that Enter is never swallowed by it. Neighbouring pieces of one kind
may arrive as one event or several, by how the bytes were cut; joined they are the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptyproxy.stream.replies import Kind, classify

HOTKEY = 0x07  # Ctrl+G
MAX_STRING = 4096  # a longer reply (clipboard) is passed on piece by piece
_PASTE_END = b"\x1b[201~"
_TYPED: frozenset[Kind] = frozenset({"text", "key", "paste-begin", "paste", "paste-end"})

_BODY = rb"[^\x00-\x1f]"
# what replies begin with: OSC colour, clipboard or title; DCS XTGETTCAP, DECRQSS, XTVERSION, DA3; APC kitty graphics
_STRING = rb"(?:\](?:[0-9]{1,5};|[lL])|P[0-9;]{0,16}[>!]?[$+]?[r|u{]|_G)"
_CSI = rb"\[[0-?]{0,64}[ -/]{0,4}"
_COMPLETE = re.compile(
    rb"\x1b(?:\[M[^\x1b]{3}|\[\[[A-E]|(?!\[M)%(csi)s[@-Z\\-~]|O[0-9;]{0,8}[@-~]"
    rb"|%(string)s%(body)s{0,%(most)d}(?:\x07|\x1b\\))"
    % {b"csi": _CSI, b"string": _STRING, b"body": _BODY, b"most": MAX_STRING}
).match
_PARTIAL = re.compile(
    rb"\x1b(?:\[M[^\x1b]{0,2}|\[\[|%(csi)s|O[0-9;]{0,8}"
    rb"|\][0-9]{0,5}|P[0-9;]{0,16}[>!]?[$+]?|_|%(string)s%(body)s{0,%(most)d}\x1b?"
    rb"|[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})?"
    % {b"csi": _CSI, b"string": _STRING, b"body": _BODY, b"most": MAX_STRING}
).fullmatch
_LONG_STRING = re.compile(rb"\x1b%s%s{%d}" % (_STRING, _BODY, MAX_STRING + 1)).match
_OPEN_STRING = re.compile(rb"\x1b%s%s*" % (_STRING, _BODY)).fullmatch
_ONLY_BODY = re.compile(_BODY + rb"+").fullmatch
_STRING_REST = re.compile(_BODY + rb"*").match
# ESC before a character is Alt with it; before a control character it is the Escape key
_ALT = re.compile(
    rb"\x1b(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[^\x00-\x1f])?"
).match


class Input(NamedTuple):
    """One piece of input at absolute offsets `start` to `end`.

    `typed`: whether the person had typed something since the prompt, or the last Enter, before this.
    """

    kind: Kind
    data: bytes
    start: int
    end: int
    typed: bool


class KeyParser:
    """`feed` it every byte that came from the terminal; `flush` it when none came for a while."""

    def __init__(self, hotkey: int = HOTKEY) -> None:
        """`hotkey`: the control character that is the hotkey (1 to 31, neither CR, LF nor ESC)."""
        self._hotkey = hotkey
        self._plain = re.compile(rb"[^\x1b\r\n%s]+" % re.escape(bytes((hotkey,)))).match
        self._offset = 0
        self._carry = b""
        self._in_string = False  # the carry is a reply that any text goes on with
        self._mode = "keys"  # or `paste`, or `string`: inside a reply too long to keep
        self.typed = False

    @property
    def pending(self) -> bool:
        """Whether bytes wait for the rest of their sequence: call `flush` after some 50 ms without input."""
        return bool(self._carry)

    @property
    def pasting(self) -> bool:
        """Whether a bracketed paste has begun and not ended."""
        return self._mode == "paste"

    def prompt(self) -> None:
        """A new prompt appeared: nothing was typed since."""
        self.typed = False

    def feed(self, data: bytes) -> list[Input]:
        """Take the next bytes; what they complete."""
        if self._in_string and len(self._carry) + len(data) <= MAX_STRING and _ONLY_BODY(data):
            self._carry += data
            return []
        data = self._carry + data
        self._carry = b""
        events: list[Input] = []
        at = 0
        while at < len(data):
            past = self._step(data, at, events)
            if past == at:
                self._carry = data[at:]
                break
            at = past
        self._in_string = bool(_OPEN_STRING(self._carry)) and self._mode == "keys"
        return events

    def flush(self) -> list[Input]:
        """The Escape key, or Alt with a character, that waited for more; the beginning of a reply goes on waiting."""
        carry = self._carry
        if not carry or self._mode != "keys" or (len(carry) > 2 and carry[1] in b"[]PO_"):
            return []
        self._carry = b""
        events: list[Input] = []
        self._emit("key", carry, events)
        return events

    def _step(self, data: bytes, at: int, events: list[Input]) -> int:
        """Read one piece at `at`; the index after it, or `at` when more bytes are needed."""
        if self._mode == "paste":
            return self._paste(data, at, events)
        if self._mode == "string":
            return self._string(data, at, events)
        byte = data[at]
        if byte in (0x0D, 0x0A):
            return self._emit("enter", data[at : at + 1], events, at)
        if byte == self._hotkey:
            return self._emit("hotkey", data[at : at + 1], events, at)
        if byte != 0x1B:
            match = self._plain(data, at)
            return self._emit("text", match[0] if match else data[at : at + 1], events, at)
        return self._sequence(data, at, events)

    def _sequence(self, data: bytes, at: int, events: list[Input]) -> int:
        match = _COMPLETE(data, at)
        if match is not None:
            kind = classify(match[0], self._hotkey)
            if kind == "paste-begin":
                self._mode = "paste"
            return self._emit(kind, match[0], events, at)
        if _PARTIAL(data, at):
            return at
        match = _LONG_STRING(data, at)
        if match is not None:
            self._mode = "string"
            return self._emit("reply", match[0], events, at)
        alt = _ALT(data, at)
        return self._emit("key", alt[0] if alt else data[at : at + 1], events, at)

    def _paste(self, data: bytes, at: int, events: list[Input]) -> int:
        found = data.find(_PASTE_END, at)
        if found == at:
            self._mode = "keys"
            return self._emit("paste-end", _PASTE_END, events, at)
        if found < 0:
            found = len(data)
            # what may be the beginning of the end mark waits
            for length in range(min(len(_PASTE_END) - 1, found - at), 0, -1):
                if data.endswith(_PASTE_END[:length]):
                    found -= length
                    break
        return self._emit("paste", data[at:found], events, at) if found > at else at

    def _string(self, data: bytes, at: int, events: list[Input]) -> int:
        match = _STRING_REST(data, at)
        if match is not None and match[0]:
            return self._emit("reply", match[0], events, at)
        if data[at] == 0x1B and at + 1 == len(data):
            return at
        self._mode = "keys"
        if data[at] == 0x07 or data[at : at + 2] == b"\x1b\\":
            return self._emit("reply", data[at : at + (1 if data[at] == 0x07 else 2)], events, at)
        return self._step(data, at, events)

    def _emit(self, kind: Kind, data: bytes, events: list[Input], at: int = 0) -> int:
        start = self._offset
        self._offset = start + len(data)
        events.append(Input(kind, data, start, self._offset, self.typed))
        if kind == "enter":
            self.typed = False
        elif kind in _TYPED:
            self.typed = True
        return at + len(data)
