"""Which known name did a person mean? Optimal string alignment distance (Damerau-Levenshtein with one swap per pair).

Invariant: a name is only "near" when most of it agrees, so that short words do not match everything.
"""

from __future__ import annotations

from collections.abc import Iterable


def distance(a: str, b: str, limit: int) -> int:
    """Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; `limit + 1` when there are more.

    Source: R. Boytsov, "Indexing methods for approximate dictionary searching", 2011 (optimal string alignment).
    """
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if min(row) > limit:
            return limit + 1
        before, previous = previous, row
    return min(previous[-1], limit + 1)


def allowed_edits(name: str) -> int:
    """How many slips still make a credible typo: one in up to five letters (`gti`), two above, none in one or two."""
    return 0 if len(name) < 3 else 1 if len(name) < 6 else 2


def nearest(wanted: str, names: Iterable[str], most: int = 3) -> list[str]:
    """Up to `most` of `names` near `wanted`, best first, ties by same first letter, then alphabetically.

    Nobody gets two letters wrong of which one is the first: then it is another word.
    """
    limit = allowed_edits(wanted)
    if not limit:
        return []
    low = wanted.lower()
    found: dict[str, int] = {}
    for name in names:
        if abs(len(name) - len(wanted)) <= limit and name not in found and name != wanted:
            edits = distance(low, name.lower(), limit)
            if edits <= limit and (edits < 2 or name[:1].lower() == low[:1]):
                found[name] = edits
    return sorted(found, key=lambda name: (found[name], name[:1] != wanted[:1], name))[:most]
