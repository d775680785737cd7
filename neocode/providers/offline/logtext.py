"""The log as the rules see it: bounded, clean lines without the prefixes that CI and compose put before each.

Invariant: at most MAX_LOG characters and MAX_LINE per line, so no pattern ever meets more.
"""

from __future__ import annotations

import bisect
import re
from typing import NamedTuple

from neocode.providers.offline.types import CUT_MARK

MAX_LOG = 64 * 1024  # characters; clients send 16 KiB, history can be longer
MAX_LINE = 1000  # a longer line is minified code or a compiler's argument list; its ends hold the message
_HEAD_SHARE = 4  # of a log that is too long, 1/4 is head: the rest, near the failure, weighs more

_CONTROL = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]"
)
_STAMPS = (
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\s{1,4}", re.ASCII),
    re.compile(r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?\s{1,4}", re.ASCII),
    re.compile(r"[A-Za-z][\w.-]{0,62}\s{0,40}\| ", re.ASCII),  # docker compose: "web-1  | "
    re.compile(r"#\d{1,4} (?:\d{1,6}\.\d{1,4} )?", re.ASCII),  # buildkit: "#12 3.456 "
)
_GITHUB = re.compile(r"^##\[(?:error|command|warning)\]", re.MULTILINE)


class LogText(NamedTuple):
    """Clean text and the offset of each of its lines."""

    text: str
    starts: tuple[int, ...]

    def line_of(self, offset: int) -> int:
        """0-based number of the line that holds `offset`."""
        return bisect.bisect_right(self.starts, offset) - 1

    def window(self, first: int, last: int) -> str:
        """Lines `first` to `last` inclusive, clipped to the text."""
        first, last = max(first, 0), min(last, len(self.starts) - 1)
        end = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[first] : end]


def clean(log: str) -> LogText:
    """`log` bounded and cleaned; never fails."""
    log = _bounded(log)
    log = _CONTROL.sub("", log.replace("\r\n", "\n").replace("\r", "\n"))
    log = _without_prefixes(_GITHUB.sub("", log))
    text = "\n".join(_short(line) for line in log.split("\n"))
    starts = [0]
    starts.extend(m.end() for m in re.finditer("\n", text))
    return LogText(text, tuple(starts))


def _bounded(log: str) -> str:
    if len(log) <= MAX_LOG:
        return log
    head = log[: MAX_LOG // _HEAD_SHARE].rpartition("\n")[0]
    tail = log[-(MAX_LOG - MAX_LOG // _HEAD_SHARE) :].partition("\n")[2]
    return f"{head}\n{CUT_MARK}\n{tail}" if head or tail else log[:MAX_LOG]


def _short(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    half = (MAX_LINE - len(CUT_MARK) - 2) // 2
    return f"{line[:half]} {CUT_MARK} {line[-half:]}"


def _without_prefixes(log: str) -> str:
    """Drop a stamp or a service name that stands before at least half of the lines."""
    for stamp in _STAMPS:
        lines = log.split("\n")
        filled = sum(1 for line in lines if line.strip())
        hits = sum(1 for line in lines if stamp.match(line))
        if hits and hits * 2 >= filled:
            log = "\n".join(line[m.end() :] if (m := stamp.match(line)) else line for line in lines)
    return log
