"""The answer shown while it arrives: rendered Markdown on a terminal, plain Markdown into a pipe.

Invariant: foreign text is sanitised first; SGR sequences are added after that and only here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TextIO

ColorChoice = Literal["auto", "always", "never"]
Out = Callable[[str], None]


class AnswerStream(Protocol):
    """A sink for the deltas of one answer. The output does not depend on how the deltas are cut."""

    def feed(self, delta: str) -> None: ...

    def finish(self) -> None: ...


def use_color(choice: ColorChoice, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """`--color` wins; `auto` means a terminal, no NO_COLOR (no-color.org) and no TERM=dumb."""
    raise NotImplementedError


def open_stream(stream: TextIO, color: ColorChoice, environ: Mapping[str, str]) -> AnswerStream:
    """Rendered Markdown for a terminal (or `--color always`), plain Markdown otherwise."""
    raise NotImplementedError
