"""Secrets out of captured text before it leaves the process. Invariants: a secret is masked whole or not at all,
the mask says its kind (`[redacted:github-token]`), and redacting twice changes nothing.

Finders look one after the other, the specific ones first, at a copy in which everything masked so far (masks that
were in the input too) is one filler character; they go round until nobody finds more. So a text with masks reads to
them exactly like the text that they were made from.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from ptyproxy.redact import blocks, names, places
from ptyproxy.redact.finder import FILLER, Span, compiled
from ptyproxy.redact.rules import RULES, Rule
from ptyproxy.redact.user import compile_user_pattern, find_user

# Each round needs a find in the one before; more than two were never seen outside of made-up patterns.
MAX_ROUNDS = 4

_MASK = r"\[redacted:[a-z0-9-]+\]"


class Mask(NamedTuple):
    """A secret in a text: characters [start, end) and its kind."""

    start: int
    end: int
    kind: str


class Redacted(NamedTuple):
    """A text without secrets, how many were masked now, and how many of each kind."""

    text: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls here
    kinds: dict[str, int]


Spans = Iterable[Span]


class _Search:
    """The working copy of one text, and what was found in it so far in offsets of the text."""

    def __init__(self, text: str) -> None:
        self.masks: list[Mask] = []
        self.work = text
        self._text = text
        self._filled: list[Mask] = []  # in order, not overlapping
        self._at: list[int] = []  # where their fillers stand in `work`
        if "[redacted:" in text:
            self._fill([Mask(m.start(), m.end(), "") for m in compiled(_MASK).finditer(text)])

    def take(self, find: Callable[[str], Spans]) -> None:
        """Note what `find` finds and fill it; what is filler already is no find."""
        found = [
            Mask(self._start(start), self._end(end), kind)
            for start, end, kind in find(self.work)
            if self.work[start:end].strip(FILLER)
        ]
        if found:
            self.masks += found
            self._fill(self._filled + found)

    def _fill(self, masks: Sequence[Mask]) -> None:
        self._filled = merged(masks)
        self._at = []
        parts: list[str] = []
        at = length = 0
        for start, end, _ in self._filled:
            parts += self._text[at:start], FILLER
            length += start - at + 1
            self._at.append(length - 1)
            at = end
        self.work = "".join((*parts, self._text[at:]))

    def _start(self, work: int) -> int:
        """The offset in the text of a span that starts at `work`."""
        i = bisect_right(self._at, work) - 1
        if i >= 0 and self._at[i] == work:
            return self._filled[i].start
        return self._end(work)

    def _end(self, work: int) -> int:
        """The offset in the text of a span that ends before `work`."""
        i = bisect_left(self._at, work) - 1
        return work if i < 0 else self._filled[i].end + work - self._at[i] - 1


class Redactor:
    """Masks built-in kinds, `patterns` (regular expressions, kind "custom") and `literals` (kind "known-secret").

    A pattern with a group named `secret` masks only that group. Raises ValueError for a pattern that does not
    compile or that takes unbounded time; the message names it.
    """

    def __init__(self, patterns: Sequence[str] = (), literals: Sequence[str] = ()) -> None:
        self._patterns = [compile_user_pattern(pattern) for pattern in patterns]
        self._literals = sorted({text for text in literals if text}, key=len, reverse=True)

    def find(self, text: str) -> list[Mask]:
        """The secrets of `text`, in order, not overlapping; masks already in it are not counted."""
        search = _Search(text)
        for _ in range(MAX_ROUNDS):
            known = len(search.masks)
            self._round(search)
            if len(search.masks) == known:
                break
        return merged(search.masks)

    def redact(self, text: str) -> Redacted:
        """`text` with every secret replaced by `[redacted:<kind>]`."""
        masks = self.find(text)
        if not masks:
            return Redacted(text, 0, {})
        parts: list[str] = []
        kinds: dict[str, int] = {}
        at = 0
        for start, end, kind in masks:
            parts += text[at:start], mask_text(kind)
            kinds[kind] = kinds.get(kind, 0) + 1
            at = end
        return Redacted("".join((*parts, text[at:])), len(masks), kinds)

    def _round(self, search: _Search) -> None:
        for literal in self._literals:
            search.take(partial(_occurrences, literal))
        for pattern in self._patterns:
            search.take(partial(find_user, pattern))
        search.take(blocks.find)
        for rule in RULES:
            if any(literal in search.work for literal in rule.literals):
                search.take(partial(_matches, rule))
        search.take(places.find)
        search.take(names.find)


def mask_text(kind: str) -> str:
    """What stands in the text in place of a secret of `kind`."""
    return f"[redacted:{kind}]"


def _matches(rule: Rule, text: str) -> Spans:
    pattern = compiled(rule.pattern)
    group = min(1, pattern.groups)
    return ((*match.span(group), rule.kind) for match in pattern.finditer(text))


def _occurrences(literal: str, text: str) -> Spans:
    at = text.find(literal)
    while at >= 0:
        yield at, at + len(literal), "known-secret"
        at = text.find(literal, at + len(literal))


def merged(masks: Sequence[Mask]) -> list[Mask]:
    """`masks` in order, those that overlap as one: a later find may hold an earlier one and more."""
    result: list[Mask] = []
    for mask in sorted(masks, key=lambda m: (m.start, -m.end)):
        if result and mask.start < result[-1].end:
            last = result[-1]
            result[-1] = last._replace(end=max(last.end, mask.end))
        else:
            result.append(mask)
    return result
