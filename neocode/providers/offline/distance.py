"""How near two names are as typing errors go. Invariant: a swap of neighbours costs one, as any other single slip."""

from __future__ import annotations

from collections.abc import Iterable


def typing_distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance (optimal string alignment): insert, delete, replace, swap of neighbours."""
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def slips_allowed(name: str) -> int:
    """How many slips still make a credible typo: one in up to five letters, two above, none in one or two."""
    return 0 if len(name) < 3 else 1 if len(name) < 6 else 2


def nearest(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """The candidates within `slips_allowed` of `name`, best first, at most `most`; `name` itself is left out."""
    limit = slips_allowed(name)
    scored: list[tuple[int, int]] = []
    names = [c for c in dict.fromkeys(candidates) if c != name and abs(len(c) - len(name)) <= limit]
    for index, candidate in enumerate(names):
        distance = typing_distance(name.lower(), candidate.lower())
        if distance <= limit and (distance < 2 or candidate[:1].lower() == name[:1].lower()):
            scored.append((distance, index))
    return [names[index] for _, index in sorted(scored)[:most]]
