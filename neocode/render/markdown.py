"""Markdown written to a terminal block by block, each as soon as it is complete, fenced code line by line.

Invariants: the text passes the sanitiser before anything looks at it; the output is the same however the deltas are
cut; memory is bounded by one block.
"""

from __future__ import annotations

from collections.abc import Callable

from neocode.render.inline import BOLD, CODE, DIM, parse_inline
from neocode.render.sections import FenceTracker, compiled
from neocode.render.wrap import styled, wrap
from ptyproxy.sanitize import Sanitizer

MAX_LINE_CHARS = 4096  # a longer line is cut here; a model writes none, and inline parsing is not linear
MAX_BLOCK_CHARS = 8192  # a longer paragraph is shown in parts
MAX_INDENT = 12  # columns; deeper nesting would leave no room for words
CODE_INDENT = "  "

_HEADING = r" {0,3}#{1,6}(?:[ \t]+|$)"
_ITEM = r"([ \t]*)([-*+•]|\d{1,9}[.)])([ \t]+|$)"
_RULE = r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$"
_UNDERLINE = r" {0,3}(?:=+|-{2,})[ \t]*$"
_QUOTE = r" {0,3}> ?"
_WIDE_FROM = "\u2e80"  # CJK radicals: from here on a line end between two characters stands for nothing


class MarkdownStream:
    """Renders one answer. `width` in columns; `out` gets whole lines with their line end."""

    def __init__(self, width: int, color: bool, out: Callable[[str], None]) -> None:
        self._width = width
        self._color = color
        self._out = out
        self._sanitizer = Sanitizer()
        self._partial = ""
        self._fence = FenceTracker()
        self._fence_indent = 0
        self._lines: list[str] = []  # of the open paragraph, item or quote
        self._size = 0
        self._first = self._later = ""  # its indentation
        self._base: tuple[str, ...] = ()  # its style
        self._in_list = False
        self._gap = False  # a blank line is due before the next block
        self._wrote = False

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        self._take(self._sanitizer.feed(delta))

    def finish(self) -> None:
        """Write what is still open. The stream is of no use afterwards."""
        self._take(self._sanitizer.flush())
        if self._partial:
            self._line(self._partial)
            self._partial = ""
        self._flush()

    def _take(self, text: str) -> None:
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._line(self._cut(line))
        self._partial = self._cut(self._partial)

    def _cut(self, line: str) -> str:
        """Hand on an over-long line in parts; what is left of it."""
        while len(line) > MAX_LINE_CHARS:
            self._line(line[:MAX_LINE_CHARS])
            line = line[MAX_LINE_CHARS:]
        return line

    def _line(self, line: str) -> None:
        step = self._fence.step(line)
        if step == "code":
            self._code(_dedented(line, self._fence_indent))
        elif step == "open":
            self._flush()
            self._fence_indent = len(line) - len(line.lstrip(" \t"))
        elif step == "text":
            self._text(line)

    def _text(self, line: str) -> None:
        if not line.strip():
            self._flush()
            self._gap = True
        elif compiled(_HEADING).match(line):
            self._flush()
            self._heading(line.strip().strip("#").strip())
        elif self._lines and not self._later and compiled(_UNDERLINE).match(line):
            title = self._joined()
            self._reset()
            self._heading(title)
        elif compiled(_RULE).match(line):
            self._flush()
            self._write([styled("---", DIM, color=self._color)])
        elif line.startswith(("|", " |")):
            self._flush()
            self._write(list(wrap(parse_inline(line), len(line) * 2, color=self._color)))
        elif not self._lines and not self._in_list and line.startswith(("    ", "\t")):
            self._code(line[1:] if line.startswith("\t") else line[4:])
        else:
            self._flowing(line)

    def _flowing(self, line: str) -> None:
        """A line of a paragraph, list item or quote: opens one or continues the open one."""
        item, quote = compiled(_ITEM).match(line), compiled(_QUOTE).match(line)
        if quote:
            if self._base != (DIM,):
                self._open("│ ", "│ ", (DIM,))
            self._add(line[quote.end() :])
        elif item:
            indent = " " * min(_columns(item[1]), MAX_INDENT)
            self._open(f"{indent}{item[2]} ", indent + " " * (len(item[2]) + 1))
            self._in_list = True
            self._add(line[item.end() :])
        else:
            if not self._lines:
                self._in_list = self._in_list and line[:1] in (" ", "\t")
                indent = " " * min(_columns(line), MAX_INDENT) if self._in_list else ""
                self._open(indent, indent)
            self._add(line.lstrip(" \t"))

    def _open(self, first: str, later: str, base: tuple[str, ...] = ()) -> None:
        self._flush()
        self._first, self._later, self._base = first, later, base

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)
        if self._size > MAX_BLOCK_CHARS:
            self._flush()

    def _joined(self) -> str:
        """The open block's lines as one text; no blank comes between two lines of Chinese or Japanese."""
        text = self._lines[0]
        for line in self._lines[1:]:
            if text[-1:] >= _WIDE_FROM and line[:1] >= _WIDE_FROM:
                text += line
            else:
                text += "\n" + line
        return text

    def _reset(self) -> None:
        self._lines, self._size = [], 0
        self._first = self._later = ""
        self._base = ()

    def _flush(self) -> None:
        if self._lines:
            runs = parse_inline(self._joined(), self._base)
            self._write(list(wrap(runs, self._width, self._first, self._later, color=self._color)))
        self._reset()

    def _heading(self, title: str) -> None:
        self._in_list = False
        self._gap = True
        self._write(list(wrap(parse_inline(title, (BOLD,)), self._width, color=self._color)))

    def _code(self, line: str) -> None:
        self._write([CODE_INDENT + styled(line, CODE, color=self._color) if line.strip() else ""])

    def _write(self, lines: list[str]) -> None:
        if self._gap and self._wrote:
            self._out("\n")
        self._gap = False
        self._wrote = True
        for line in lines:
            self._out(line + "\n")


def _columns(text: str) -> int:
    """Width of the blanks in front of `text`; a tab counts as four."""
    blanks = text[: len(text) - len(text.lstrip(" \t"))]
    return len(blanks.replace("\t", "    "))


def _dedented(line: str, indent: int) -> str:
    """`line` without up to `indent` leading blanks."""
    blanks = len(line) - len(line.lstrip(" \t"))
    return line[min(indent, blanks) :]
