"""Inline Markdown of one block -> runs of text with a style.

Invariants: what comes out is sanitised again, because a parser can make characters that were not in its input
(`&#27;`, `%1b` in an autolink); back slashes stay, because Windows paths are more common here than escapes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from ptyproxy.sanitize import sanitize

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BOLD, DIM, ITALIC, UNDERLINE, CODE = "1", "2", "3", "4", "36"

_STYLES = {"strong": BOLD, "em": ITALIC, "link": UNDERLINE}


class Run(NamedTuple):
    """A piece of text and its SGR parameters (ECMA-48 8.3.117), in the order they were opened."""

    text: str
    style: tuple[str, ...] = ()


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 15 ms to import: only for a terminal

    return MarkdownIt("commonmark", {"html": False}).disable(["entity", "escape", "html_inline"])


def parse_inline(text: str, base: tuple[str, ...] = ()) -> list[Run]:
    """The runs of `text`; each has at least the style `base`. A line end in a run is a hard break."""
    runs: list[Run] = []
    for token in _parser().parseInline(text):
        _walk(token.children or [], base, runs)
    return [Run(sanitize(run.text), run.style) for run in runs if run.text]


def _walk(tokens: list[Token], base: tuple[str, ...], runs: list[Run]) -> None:
    style = list(base)
    links: list[tuple[str, int]] = []
    for token in tokens:
        name, _, edge = token.type.rpartition("_")
        if edge == "open" and name in _STYLES:
            style.append(_STYLES[name])
            if name == "link":
                links.append(("" if token.info == "auto" else str(token.attrGet("href") or ""), len(runs)))
        elif edge == "close" and name in _STYLES:
            style.pop()
            if name == "link":
                target, start = links.pop()
                if target and target != "".join(run.text for run in runs[start:]):
                    runs.append(Run(f" ({target})", tuple(style)))
        else:
            runs.append(Run(_text_of(token), (*style, CODE) if token.type == "code_inline" else tuple(style)))


def _text_of(token: Token) -> str:
    if token.type == "softbreak":
        return " "
    if token.type == "hardbreak":
        return "\n"
    if token.type == "image":
        return f"{token.content} ({token.attrGet('src') or ''})"
    return token.content
