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
    runs = code_only(text, base)
    if runs is not None:
        return runs
    runs = []
    for token in _parser().parseInline(text):
        _walk(token.children or [], base, runs)
    return [Run(sanitize(run.text), run.style) for run in runs if run.text]


def code_only(text: str, base: tuple[str, ...]) -> list[Run] | None:
    """The runs of a sanitised text whose only markup is single back quotes; None for any other, which is parsed.

    Most lines of the offline rules are such, and are shown without importing the parser.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0 or "``" in text or " \n" in text or "\n " in text or text != text.strip():
        return None
    if any(special in words for words in parts[::2] for special in "*_[<!"):
        return None
    runs = []
    for index, part in enumerate(parts):
        words, style = part.replace("\n", " "), base
        if index % 2:
            padded = words[0] == words[-1] == " " and words.strip(" ")
            words, style = words[1:-1] if padded else words, (*base, CODE)
        if words:
            runs.append(Run(sanitize(words), style))
    return runs


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
