"""A conversation that no longer fits becomes one local summary and its last turns; what still does not fit is cut.

Pure and deterministic, no provider call. Invariants: the last `retain` turns are never summarised;
compacting a compacted conversation changes nothing; the names of the first turn outlive every later compaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import TypeVar

import msgspec

from neocode.ask.names import names_of, split_trouble
from neocode.ask.tokens import cut_line, cut_tokens, estimate_tokens
from neocode.ask.turn import Turn
from neocode.render.sections import FenceTracker

SUMMARY_SHARE = 4  # a summary takes at most a quarter of the input
SUMMARY_MIN_TOKENS = 256
TURNS_MIN_TOKENS = 512  # left for the turns when a replaced system text alone exceeds the budget
MAX_ITEMS = 512  # names or gists, whatever the budget
FIRST_NAMES = 32  # never crowded out by later turns
FIRST_SCAN_CHARS = 16 * 1024
SCAN_CHARS = 16 * 1024  # over all later turns of one compaction, which bounds its time
READ_TURNS = 10  # as many of the oldest and of the newest turns are read for names and gists; a summary holds no more
SCAN_MIN_CHARS = 192
GIST_CHARS = 160
GIST_SCAN_CHARS = 512  # of a log's end, for its last line that speaks of a failure
_CURRENT_WEIGHT = 4  # the turn being asked keeps four times the room of an older one

_HEADING = re.compile(r"^ {0,3}#{1,6} ")
_T = TypeVar("_T", bound=Hashable)


class Gist(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn in two lines: what was asked, what was answered."""

    asked: str = ""
    answered: str = ""

    def line(self) -> str:
        """The gist as the summary shows it."""
        return f"- user: {self.asked}\n  answer: {self.answered}"


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is left of `turns` old turns; `names` and `gists` oldest first."""

    turns: int = 0
    names: tuple[str, ...] = ()
    gists: tuple[Gist, ...] = ()

    def text(self) -> str:
        """The summary in words; "" when nothing was summarised."""
        if not self.turns:
            return ""
        lines = [f"Summary of {self.turns} earlier turns of this conversation, oldest first."]
        if self.names:
            lines.append("Names that occurred: " + ", ".join(self.names))
        lines += [gist.line() for gist in self.gists]
        if self.turns > len(self.gists):
            lines.append(f"({self.turns - len(self.gists)} turns are not listed.)")
        return "\n".join(lines)


class Compaction(msgspec.Struct, frozen=True):
    """The conversation that goes into the prompt. `summarised`: turns that went into the summary this time."""

    summary: Summary
    turns: tuple[Turn, ...]
    summarised: int = 0


def compact(summary: Summary, turns: Sequence[Turn], *, budget: int, retain: int, summary_tokens: int) -> Compaction:
    """Summarise all but the last `retain` turns when summary and turns cost more than `budget` estimated tokens.

    The new summary costs at most `summary_tokens`.
    """
    old = max(0, len(turns) - max(0, retain))
    if not old or not _exceeds(summary, turns, budget):
        return Compaction(summary, tuple(turns))
    return Compaction(_fold(summary, turns[:old], summary_tokens), tuple(turns[old:]), summarised=old)


def _exceeds(summary: Summary, turns: Sequence[Turn], budget: int) -> bool:
    """True when all cost more than `budget`; reads no more than that much text."""
    cost = estimate_tokens(summary.text())
    for turn in reversed(turns):
        cost += turn.tokens()
        if cost > budget:
            return True
    return cost > budget


def summary_budget(max_input_tokens: int) -> int:
    """Estimated tokens that a summary may cost in a prompt of `max_input_tokens`."""
    return max(SUMMARY_MIN_TOKENS, max_input_tokens // SUMMARY_SHARE)


def fit_turns(turns: Sequence[Turn], budget: int) -> tuple[Turn, ...]:
    """`turns` with their longest texts cut head and tail until all cost `budget` estimated tokens at most.

    The last turn is the one being asked and keeps the most. No turn is dropped; frames (facts, delimiters) stay whole.
    """
    room = max(TURNS_MIN_TOKENS, budget) - sum(turn.frame_tokens() for turn in turns)
    texts = [text for turn in turns for text in turn.pieces()]
    costs = [estimate_tokens(text) for text in texts]
    if sum(costs) <= room:
        return tuple(turns)
    older = len(texts) - len(turns[-1].pieces())
    weights = [1] * older + [_CURRENT_WEIGHT] * (len(texts) - older)
    level = _water_level(costs, weights, room)
    cut = [
        text if cost <= level * weight else cut_tokens(text, int(level * weight))
        for text, cost, weight in zip(texts, costs, weights, strict=True)
    ]
    return tuple(turn.with_pieces(*cut[index * 4 : index * 4 + 4]) for index, turn in enumerate(turns))


def _water_level(costs: Sequence[int], weights: Sequence[int], room: int) -> float:
    """The largest level with `sum(min(cost, level * weight)) <= room`: short texts stay whole, long ones share."""
    left, total_weight = float(max(0, room)), float(sum(weights))
    for cost, weight in sorted(zip(costs, weights, strict=True), key=lambda pair: pair[0] / pair[1]):
        if cost / weight * total_weight > left:
            break
        left -= cost
        total_weight -= weight
    return left / total_weight if total_weight else left


def _fold(summary: Summary, old: Sequence[Turn], budget: int) -> Summary:
    """`summary` with the turns `old` in it: the first names and gist, then the newest of each that `budget` allows.

    Turns whose names and gist would not be kept are not read, so the time depends on `budget`, not on the turns.
    """
    turns = summary.turns + len(old)
    room = budget - estimate_tokens(Summary(turns=turns, names=("x",)).text())
    scan_chars = max(SCAN_MIN_CHARS, SCAN_CHARS // min(len(old), 2 * READ_TURNS))

    @cache
    def names_at(index: int) -> list[str]:
        first = index == 0 and not summary.turns
        return names_of(old[index], FIRST_SCAN_CHARS if first else scan_chars)

    order = range(len(old))
    names, spent = _ends(
        chain(summary.names, chain.from_iterable(map(names_at, order[:READ_TURNS]))),
        chain(
            chain.from_iterable(reversed(names_at(i)) for i in order[: -READ_TURNS - 1 : -1]), reversed(summary.names)
        ),
        cost=lambda name: estimate_tokens(name + ", "),
        first=FIRST_NAMES,
        room=room // 2,
    )
    gists, _ = _ends(
        chain(summary.gists, map(_gist, old[:1])),
        chain(map(_gist, old[: -READ_TURNS - 1 : -1]), reversed(summary.gists)),
        cost=lambda gist: estimate_tokens(gist.line() + "\n"),
        first=1,
        room=room - spent,
    )
    return Summary(turns=turns, names=tuple(names), gists=tuple(gists))


def _ends(
    oldest_first: Iterable[_T], newest_first: Iterable[_T], *, cost: Callable[[_T], int], first: int, room: int
) -> tuple[list[_T], int]:
    """The oldest `first` distinct items as far as `room` goes, then the newest others, oldest first; and their cost."""
    head: dict[_T, None] = {}
    tail: dict[_T, None] = {}
    spent = 0
    for kept, items, most in ((head, oldest_first, first), (tail, newest_first, MAX_ITEMS)):
        for item in items:
            if len(kept) >= most:
                break
            if item in head or item in tail:
                continue
            if spent + cost(item) > room:
                break
            kept[item] = None
            spent += cost(item)
    return [*head, *reversed(tail)], spent


def _gist(turn: Turn) -> Gist:
    asked = turn.question
    if turn.context.command:
        asked = f"`{turn.context.command}` failed. {asked}"
    elif turn.context.log:
        asked = f"{_last_line(split_trouble(turn.context.log[-GIST_SCAN_CHARS:])[0] or turn.context.log)} {asked}"
    return Gist(cut_line(asked, GIST_CHARS), cut_line(_finding(turn.answer), GIST_CHARS))


def _finding(answer: str) -> str:
    """The answer's first sentence of prose and its first command."""
    prose = command = ""
    fence = FenceTracker()
    for line in answer[: 16 * GIST_CHARS].splitlines():
        step = fence.step(line)
        if step == "code":
            command = command or (line.strip() if not line.lstrip().startswith("#") else "")
        elif step == "text" and not prose and not _HEADING.match(line):
            prose = line.strip()
        if prose and command:
            return f"{prose[: GIST_CHARS // 2]} Command: {command}"
    return prose or command


def _last_line(text: str) -> str:
    return text.rstrip().rpartition("\n")[2]
