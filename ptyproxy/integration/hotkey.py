"""Whether what was typed at a prompt leaves the line editor in its ordinary state: no search, menu, or prefix key.

Invariant: in doubt it does not; then the hotkey's own byte goes to the editor, which does with it what it always did.
"""

from __future__ import annotations

import re

# characters, and the control characters that move and delete: ^A ^B ^D ^E ^F ^H ^K ^U ^W ^Y DEL
_PLAIN_TEXT = re.compile(rb"[ -~\x80-\xff\x01\x02\x04\x05\x06\x08\x0b\x15\x17\x19\x7f]*").fullmatch
# arrows, Home, End, Delete, with or without modifiers
_PLAIN_KEY = re.compile(rb"\x1b(?:O|\[(?:1;[0-9])?)[A-DFH]|\x1b\[[1378](?:;[0-9])?~").fullmatch


class PlainTyping:
    """Tell it every `Input` of the user (kind and data) and every new prompt."""

    def __init__(self) -> None:
        self.plain = False  # before the first prompt nothing is known

    def prompt(self) -> None:
        """A new prompt began: the line is empty."""
        self.plain = True

    def typed(self, kind: str, data: bytes) -> None:
        """One piece of input."""
        if kind == "text":
            self.plain = self.plain and bool(_PLAIN_TEXT(data))
        elif kind == "key":
            self.plain = self.plain and bool(_PLAIN_KEY(data))
        elif kind == "enter":
            self.plain = False
