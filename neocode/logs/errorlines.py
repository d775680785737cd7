"""Which lines of a block tell of a failure. Invariant: cost per block is a few passes of `bytes.find` plus a bounded
number of looks at lines; no per-line work on lines that say nothing.
"""

from __future__ import annotations

from neocode.logs.pattern import compiled

# Searched in the lower-cased block; each costs about half a millisecond per MiB, so one word stands for several where
# `grade` can tell: "err" for error and ERR!, "not " for cannot, could not, not found, not recognized.
KEYWORDS = (
    b"err",
    b"fail",
    b"fatal",
    b"exception",
    b"traceback",
    b"denied",
    b"panic",
    b"not ",
    b"undefined",
    b"no such",
    b"unable",
    b"abort",
    b"invalid",
    b"refused",
    b"timed out",
    b"killed",
    b"segmentation",
    b"\ne: ",
)
KEYWORDS_BEYOND_ASCII = tuple(word.encode() for word in ("错误", "失败", "异常", "エラー", "ошибк"))
# Lines kept per keyword and block, from its start and its end; lines looked at to find them.
FIRST = 3
LAST = 12
TRIES = 96

# What only mentions failure: counts of none, names of flags and modules, summaries.
_HARMLESS = (
    rb"\b(?:0|no|zero|without|any) (?:\w+ ){0,2}?(?:errors?|fail\w*|exceptions?|warnings?)"
    rb"|(?:errors?|fail\w*)\s?[:=]\s?(?:0|none|false)\b"
    rb"|-w?no-error\S*|-werror\S*|error[-_.]?(?:handl|boundar|log|page|code|repor)\w*|fail[-_]?(?:over|fast|safe)\w*|on[-_]?error\b"
    rb"|[\w/]*(?:error|exception)s?\.(?:py|js|ts|go|rs|c|h|o|java|html|css|log)\b|ignor\w+ errors?"
)
_GRAVE = (
    rb"error|fatal|exception|traceback|denied|panic|cannot|could not|undefined|not found|no such|refused|killed"
    rb"|segmentation|err!|^e: |not recognized|unable|" + b"|".join(KEYWORDS_BEYOND_ASCII)
)
_MILD = rb"fail|abort|invalid|timed out|^\s*(?:\S+\s+){0,3}warn"


def grade(line: bytes) -> int:
    """0: no failure, 1: perhaps, 2: a failure; `line` in lower case."""
    if compiled(_HARMLESS).search(line):
        line = compiled(_HARMLESS).sub(b"", line)
    if compiled(_GRAVE).search(line):
        return 1 if b"warn" in line or b"deprecat" in line else 2
    return 2 if b"fail" in line and b"warn" not in line else int(bool(compiled(_MILD).search(line)))


def shape(line: bytes) -> bytes:
    """`line` without what differs between repetitions: numbers, times, addresses."""
    return compiled(rb"0x[0-9A-Fa-f]+|\d[\d.:,TZ-]*").sub(b"#", line[:256])


def find(low: bytes) -> list[tuple[int, int]]:
    """(offset, grade) of the lines of the lower-cased block `low` that tell of a failure, in order: for each keyword
    the first `FIRST` and the last `LAST` lines of different shape."""
    grades: dict[int, int] = {}
    words = KEYWORDS if low.isascii() else KEYWORDS + KEYWORDS_BEYOND_ASCII
    for word in words:
        if low.rfind(word) >= 0:  # a third faster than find in CPython
            _last(low, word, grades)
            _first(low, word, grades)
    return sorted((at, mark) for at, mark in grades.items() if mark)


def _last(low: bytes, word: bytes, grades: dict[int, int]) -> None:
    shapes: set[bytes] = set()
    end = len(low)
    for _ in range(TRIES):
        hit = low.rfind(word, 0, end)
        if hit < 0 or len(shapes) >= LAST:
            return
        end = _look(low, hit + (word[:1] == b"\n"), grades, shapes)


def _first(low: bytes, word: bytes, grades: dict[int, int]) -> None:
    shapes: set[bytes] = set()
    at = 0
    for _ in range(TRIES):
        hit = low.find(word, at)
        if hit < 0 or len(shapes) >= FIRST:
            return
        hit += word[:1] == b"\n"
        _look(low, hit, grades, shapes)
        at = low.find(b"\n", hit)
        if at < 0:
            return


def _look(low: bytes, hit: int, grades: dict[int, int], shapes: set[bytes]) -> int:
    """Grade the line around `hit`, once; return its offset."""
    start = low.rfind(b"\n", 0, hit) + 1
    end = low.find(b"\n", hit)
    line = low[start : len(low) if end < 0 else end]
    if start not in grades:
        grades[start] = grade(line)
    if grades[start]:
        shapes.add(shape(line))
    return start
