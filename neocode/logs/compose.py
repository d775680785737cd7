"""Kept lines -> one redacted text. Invariant: the redactor sees the margins and the joined lines; the margins leave
after it, and a mask that reaches over an edge stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from neocode.logs.decode import decode_lines
from neocode.logs.fold import fold_equal
from neocode.logs.reduce import Segment
from neocode.logs.stream import SOFT
from ptyproxy.redact import Mask, Redactor, mask_text, merged
from ptyproxy.text import strip_sequences
from ptyproxy.wrap import continues, may_continue


class Composed(NamedTuple):
    """The text, what was masked in it, whether there are notes of something left out, and the lines' encoding."""

    text: str
    kinds: dict[str, int]
    left_out: bool
    encoding: str


class _Line(NamedTuple):
    data: bytes
    margin: bool
    note: bool = False


def left_out(size: int) -> str:
    """The note that stands for `size` bytes."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"[... {size / factor:.1f} {unit} left out ...]"
    return f"[... {size} bytes left out ...]"


def compose(
    segments: Sequence[Segment], total: int, redactor: Redactor | None, width: int | None, legacy: str = ""
) -> Composed:
    """Decode, strip, join, redact, and take the margins away."""
    lines = _lines(segments, total)
    decoded, encoding = decode_lines([line.data.removesuffix(SOFT) for line in lines], legacy)
    overwritten: dict[str, int] = {}
    if redactor:
        bare = [text.rstrip("\r") for text in decoded]
        decoded = [_mask_states(text, redactor, overwritten) if "\r" in text else text for text in bare]
    texts = [strip_sequences(text) for text in decoded]
    joins = _joins(lines, texts, width)
    parts: list[str] = []
    dropped: list[tuple[int, int]] = []
    apart: list[Mask] = []
    at = 0
    for i, text in enumerate(texts):
        if redactor and _is_wrapped(lines, joins, i):
            apart += [Mask(at + start, at + end, kind) for start, end, kind in redactor.find(text)]
        part = text if joins[i] or i == len(texts) - 1 else text + "\n"
        if _is_margin(lines, joins, i):
            dropped.append((at, at + len(part)))
        parts.append(part)
        at += len(part)
    joined = "".join(parts)
    masks = (
        merged([*redactor.find(joined), *apart, *_at_breaks(lines, texts, joins, redactor, width)]) if redactor else []
    )
    text, kinds = _render(joined, masks, dropped)
    for kind, number in overwritten.items():
        kinds[kind] = kinds.get(kind, 0) + number
    return Composed(text, kinds, any(line.note for line in lines), encoding)


def _mask_states(text: str, redactor: Redactor, kinds: dict[str, int]) -> str:
    """A line that overwrites itself, each state redacted by itself: an overwriting leaves the rest of a secret."""
    redacted = redactor.redact(text.replace("\r", "\n"))
    for kind, number in redacted.kinds.items():
        kinds[kind] = kinds.get(kind, 0) + number
    return redacted.text.replace("\n", "\r")


def _lines(segments: Sequence[Segment], total: int) -> list[_Line]:
    """All lines in order, with a note where bytes are left out, exact repeats folded."""
    lines: list[_Line] = []
    at = 0
    for segment in segments:
        if segment.start > at:
            lines.append(_Line(left_out(segment.start - at).encode(), False, note=True))
        at = segment.end
        last = len(segment.lines) - segment.trail
        lines += [_Line(line, True) for line in segment.lines[: segment.lead]]
        lines += [_Line(line, False) for line in fold_equal(segment.lines[segment.lead : last])]
        lines += [_Line(line, True) for line in segment.lines[last:]]
    if at < total:
        lines.append(_Line(left_out(total - at).encode(), False, note=True))
    return lines


def _joins(lines: Sequence[_Line], texts: Sequence[str], width: int | None) -> list[bool]:
    """For each line whether the next is its continuation: a piece of a long line, or wrapped by a terminal."""
    wrapped = continues(texts, width)
    result = []
    for i, line in enumerate(lines):
        follows_text = i + 1 < len(lines) and not lines[i + 1].note and not line.note
        result.append(follows_text and (line.data.endswith(SOFT) or wrapped[i]))
    return result


def _is_wrapped(lines: Sequence[_Line], joins: Sequence[bool], index: int) -> bool:
    """Whether the line was joined with a neighbour by its width. It is redacted alone too: were it no wrapped line,
    the neighbour's text would hide where a token ends."""
    return any(joins[i] and not lines[i].data.endswith(SOFT) for i in (index - 1, index) if i >= 0)


def _at_breaks(
    lines: Sequence[_Line], texts: Sequence[str], joins: Sequence[bool], redactor: Redactor, width: int | None
) -> list[Mask]:
    """Secrets that show only when two lines are read as one, which they may have been: a name, or the secret itself,
    was broken at the terminal's edge where nothing else tells so. Offsets are of the joined text.
    """
    found: list[Mask] = []
    at = 0
    for i, uncertain in enumerate(may_continue(texts, width)):
        seam = at + len(texts[i])
        if uncertain and not (joins[i] or lines[i].note or lines[i + 1].note):
            for start, end, kind in redactor.find(texts[i] + texts[i + 1]):
                if at + end > seam:  # what ends before it is found without
                    found.append(Mask(at + start + (at + start >= seam), at + end + 1, kind))
        at = seam + (not joins[i])
    return found


def _is_margin(lines: Sequence[_Line], joins: Sequence[bool], index: int) -> bool:
    """Margin, or wrapped text whose beginning lies before the margin: what it is cannot be known."""
    start = index
    while start and joins[start - 1] and not lines[start - 1].data.endswith(SOFT):
        start -= 1
    return lines[index].margin or (lines[start].margin and (start == 0 or lines[start - 1].note))


def _render(text: str, masks: Sequence[Mask], dropped: Sequence[tuple[int, int]]) -> tuple[str, dict[str, int]]:
    """`text` without the dropped spans, masks in place; a mask that is partly dropped is shown once."""
    parts: list[str] = []
    kinds: dict[str, int] = {}
    shown: Mask | None = None
    pending = iter(masks)
    mask = next(pending, None)
    at = 0
    for gap_start, gap_end in [*dropped, (len(text), len(text))]:
        while at < gap_start:
            while mask is not None and mask.end <= at:
                mask = next(pending, None)
            if mask is None or mask.start >= gap_start:
                parts.append(text[at:gap_start])
                break
            parts.append(text[at : mask.start] if mask.start > at else "")
            if shown is not mask:
                shown = mask
                parts.append(mask_text(mask.kind))
                kinds[mask.kind] = kinds.get(mask.kind, 0) + 1
            at = min(mask.end, gap_start)
        at = gap_end
        if gap_end < len(text) and parts and not parts[-1].endswith("\n"):
            parts.append("\n")
    return "".join(parts), kinds
