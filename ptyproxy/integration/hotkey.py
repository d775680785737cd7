"""Whether what was typed at a prompt leaves the line editor in its ordinary state: no search, menu, or prefix key.

Invariant: in doubt it does not; then the hotkey's own byte goes to the editor, which does with it what it always did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

# characters, and the control characters that move and delete: ^A ^B ^D ^E ^F ^H ^K ^U ^W ^Y DEL
_PLAIN_TEXT = re.compile(rb"[ -~\x80-\xff\x01\x02\x04\x05\x06\x08\x0b\x15\x17\x19\x7f]*").fullmatch
# arrows, Home, End, Delete, with or without modifiers
_PLAIN_KEY = re.compile(rb"\x1b(?:O|\[(?:1;[0-9])?)[A-DFH]|\x1b\[[1378](?:;[0-9])?~").fullmatch

# vi's command keys (POSIX sh, "Command Line Editing (vi-mode)"; readline's vi-command keymap)
_TO_INSERT = frozenset(b"iIaAsSC")
# Escape ends what these began: an operator or a character that wants another, and overwriting
_WAITS = frozenset(b"dcyrRfFtTm`'\"@")
# searches, the editor of $VISUAL, completions that may ask something: what ends them cannot be seen
_LEAVES = frozenset(b"/?v=*\\")

State = Literal["plain", "command", "waits", "doubt"]


def uses_vi(facts: Mapping[str, str]) -> bool | None:
    """Whether the line editor has vi's keys, by what the integration says of it (`Capture.facts`); None: unsaid."""
    keymap = facts.get("keymap")
    return None if keymap is None else "vi" in keymap.split(":")


class PlainTyping:
    """Tell it every `Input` of the user (kind and data) and every new prompt."""

    def __init__(self) -> None:
        self._state: State = "doubt"  # before the first prompt nothing is known
        self._vi = False

    @property
    def plain(self) -> bool:
        """Whether the editor takes the next key as the first of a command."""
        return self._state in ("plain", "command")

    def prompt(self, *, vi: bool | None = False) -> None:
        """A new prompt began: the line is empty. `vi`: the editor has vi's keys, and begins with inserting."""
        self._state = "plain"
        self._vi = bool(vi)

    def typed(self, kind: str, data: bytes) -> None:
        """One piece of input."""
        if self._state == "doubt":
            return
        if kind == "key" and self._vi and not _PLAIN_KEY(data) and data[1:2] not in (b"[", b"O"):
            # Escape, or Escape and a character so soon after it that it might have been Alt
            self._state = "command"
            self._text(data[1:])
        elif kind == "key":
            self._state = self._state if _PLAIN_KEY(data) else "doubt"
        elif kind == "text":
            self._text(data)
        elif kind == "enter" or (kind == "paste" and self._state != "plain"):
            self._state = "doubt"

    def _text(self, data: bytes) -> None:
        if self._state == "command":
            for at, key in enumerate(data):
                if key in _LEAVES:
                    self._state = "doubt"
                elif key in _WAITS:
                    self._state = "waits"
                elif key in _TO_INSERT:
                    self._state = "plain"
                else:
                    continue
                data = data[at + 1 :]
                break
        if not _PLAIN_TEXT(data):
            self._state = "doubt"
