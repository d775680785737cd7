"""A log of any size -> the part worth reading, safe to send. Invariants: memory is bounded, and the order is
strip sequences -> join wrapped lines -> redact -> truncate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ptyproxy.redact import Redactor

DEFAULT_MAX_BYTES = 16 * 1024

ReadBytes = Callable[[int], bytes]


class PreparedLog(NamedTuple):
    """What may be sent of a log.

    `text`: at most the asked UTF-8 bytes; `masked`: secrets masked in it, `kinds` how many of each; `truncated`:
    parts were left out; `total_bytes`, `total_lines`: of the input; `encoding`: what it was decoded as.
    """

    text: str
    masked: int
    kinds: dict[str, int]
    truncated: bool
    total_bytes: int
    total_lines: int
    encoding: str


def prepare(
    source: str | bytes | ReadBytes,
    redactor: Redactor | None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    width: int | None = None,
) -> PreparedLog:
    """Read a log once and return the part worth reading, at most `max_bytes` of UTF-8.

    `source`: the text, the bytes, or a function like `file.read` (n -> up to n bytes, b"" at the end; blocking).
    `redactor`: None keeps secrets (`--no-redact`). `width`: columns of the terminal it was copied from, if known.
    Raises only what the read function raises.
    """
    raise NotImplementedError


def make_redactor(patterns: Sequence[str]) -> Redactor:
    """The redactor with the config's `redact.patterns`. Raises ConfigError that names the bad pattern."""
    raise NotImplementedError
