"""How long a text is for a model, without its tokeniser, and how to shorten it.

Invariants: the estimate of a concatenation is never above the sum of the estimates of its parts; a shortened text is
never above its limit and says what was left out.
"""

from __future__ import annotations

import string

# Twentieths of a token per character, by class. Fitted to real counts of five tokenisers (cl100k, o200k, Qwen,
# DeepSeek, Gemma 3) over prose, answers, logs, dumps and seven languages: between 0.7 and 1.15 of the hungriest of the
# five, between 0.85 and 1.5 of their mean. `tests/neocode/ask/test_ask_tokens.py` holds the counts.
_UNIT = 20
_ASCII_WEIGHTS: tuple[tuple[int, bytes], ...] = (
    (5, string.ascii_lowercase.encode()),
    (1, b" \t"),  # mostly joined to the word that follows
    (10, string.punctuation.encode()),
    (20, string.digits.encode()),  # several tokenisers give each digit its own token
    (15, string.ascii_uppercase.encode()),  # constants, error names, base64
    (10, b"\r\n"),
    (20, bytes(set(range(0x20)) - set(b"\t\r\n")) + b"\x7f"),
)
_LEAD_WEIGHTS: tuple[tuple[int, bytes], ...] = (
    (10, bytes(range(0xC2, 0xE0))),  # 2 bytes: Latin with marks, Cyrillic, Greek, Arabic
    (18, bytes(range(0xE0, 0xF0))),  # 3 bytes: CJK, kana, hangul, box drawing
    (40, bytes(range(0xF0, 0xF5))),  # 4 bytes: emoji, rare CJK
)

_SHORT_MARK = "[...]"
_HEAD_SHARE = 0.4  # an error usually stands near the end
LOOKED_AT = 8  # times the wanted length: so much of a text is folded into a line, the rest is not even looked at
_SNAP_CHARS = 200  # a cut moves to a line's end when one is this near


def estimate_tokens(text: str) -> int:
    """Tokens that `text` costs, rounded up; 0 for "". Each pass deletes a class of characters, so the rest shrinks."""
    rest = text.encode("utf-8", "surrogatepass")
    twentieths = 0
    for weight, chars in _ASCII_WEIGHTS + _LEAD_WEIGHTS:
        if not rest:
            break
        before = len(rest)
        rest = rest.translate(None, chars)
        twentieths += weight * (before - len(rest))
    return -(-twentieths // _UNIT)


def cut_chars(text: str, limit: int) -> str:
    """`text`, or its head and tail around a line that says how much is missing; at most `limit` characters."""
    if len(text) <= limit:
        return text
    mark = f"\n[... {len(text)} characters cut to fit: the middle is left out ...]\n"
    room = limit - len(mark)
    if room < 2:
        return _SHORT_MARK if limit >= len(_SHORT_MARK) else ""
    head_end = int(room * _HEAD_SHARE)
    tail_start = len(text) - (room - head_end)
    return text[: _snap_back(text, head_end)] + mark + text[_snap_forward(text, tail_start) :]


def cut_line(text: str, limit: int) -> str:
    """`text` on one line, blanks folded, its end cut off (`…`) beyond `limit` characters."""
    folded = " ".join(text[: limit * LOOKED_AT].split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def cut_tokens(text: str, limit: int) -> str:
    """`text`, or its head and tail as `cut_chars` gives them; at most `limit` estimated tokens."""
    cost, chars = estimate_tokens(text), len(text)
    shortened = text
    while cost > limit:
        # The density differs from place to place, so the guess is repeated; each round is shorter by a tenth at least.
        chars = min(chars * limit // max(1, cost), chars * 9 // 10)
        shortened = cut_chars(text, chars)
        cost = estimate_tokens(shortened)
    return shortened


def _snap_back(text: str, position: int) -> int:
    newline = text.rfind("\n", max(0, position - _SNAP_CHARS), position)
    return newline if newline > 0 else position


def _snap_forward(text: str, position: int) -> int:
    newline = text.find("\n", position, position + _SNAP_CHARS)
    return newline + 1 if 0 <= newline < len(text) - 1 else position
