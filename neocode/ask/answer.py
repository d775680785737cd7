"""An answer while it streams: what was sent, what is kept, and how it is labelled when it was cut.

Invariants: the pieces given out, joined, are `text` byte for byte; no piece holds half a surrogate pair; a label is
never taken for a command: in an open code block it is a comment, and the block stays open, so that its last line still
shows as cut.
"""

from __future__ import annotations

from neocode.render.sections import FenceTracker

MAX_ANSWER_BYTES = 128 * 1024  # six times that, were every byte escaped, still fits a 1 MiB frame with its envelope
MAX_REASONING_CHARS = 64 * 1024

LENGTH_LABEL = "[answer cut off: the model reached its output limit]"
BROKEN_LABEL = "[answer cut off: the connection to the model broke]"
TIMEOUT_LABEL = "[answer cut off: it took too long]"


class Answer:
    """The visible text and the hidden reasoning of one answer."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._bytes = 0
        self._held = ""  # a high surrogate whose other half is in the next piece
        self._reasoning: list[str] = []
        self._reasoning_chars = 0
        self.full = False  # true when MAX_ANSWER_BYTES was reached and the rest was dropped

    @property
    def text(self) -> str:
        """What was given out so far."""
        return "".join(self._pieces)

    @property
    def reasoning(self) -> str:
        """The model's thinking, to be sent back and never shown."""
        return "".join(self._reasoning)

    @property
    def empty(self) -> bool:
        """True when nothing but blanks was given out."""
        return not any(piece.strip() for piece in self._pieces)

    def think(self, reasoning: str) -> None:
        """Keep a piece of reasoning, up to MAX_REASONING_CHARS in all."""
        room = MAX_REASONING_CHARS - self._reasoning_chars
        if reasoning and room > 0:
            self._reasoning.append(_whole(reasoning[:room]))
            self._reasoning_chars += len(reasoning[:room])

    def add(self, text: str) -> str:
        """Take a piece from the provider; what to give out now (may be "")."""
        if self.full:
            return ""
        text = self._held + text
        self._held = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        piece = _whole(text[: len(text) - len(self._held)])
        size = len(piece.encode())
        if self._bytes + size > MAX_ANSWER_BYTES:
            self.full = True
            piece = piece.encode()[: MAX_ANSWER_BYTES - self._bytes].decode("utf-8", "ignore")
            size = len(piece.encode())
        self._bytes += size
        if piece:
            self._pieces.append(piece)
        return piece

    def label(self, label: str) -> str:
        """End a cut answer with `label` on a line of its own; what to give out."""
        text = self.text
        newline = "" if not text or text.endswith("\n") else "\n"
        piece = newline + (f"# {label}" if in_code_block(text) else f"\n{label}")
        self._pieces.append(piece)
        return piece


def in_code_block(markdown: str) -> bool:
    """Whether a code block is open at the end of `markdown`, as those who read the answer see it."""
    tracker, step = FenceTracker(), "text"
    for line in markdown.replace("\r\n", "\n").split("\n"):
        step = tracker.step(line)
    return step in ("open", "code")


def _whole(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
