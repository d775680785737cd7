"""The answer shown while it arrives: rendered Markdown on a terminal, plain Markdown into a pipe.

Invariant: foreign text is sanitised first; SGR sequences are added after that and only by us.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TextIO

from ptyproxy.sanitize import Sanitizer

ColorChoice = Literal["auto", "always", "never"]
Out = Callable[[str], None]

MAX_WIDTH = 100  # columns; longer lines of prose are hard to read
DEFAULT_WIDTH = 80


class AnswerStream(Protocol):
    """A sink for the deltas of one answer. The output does not depend on how the deltas are cut."""

    def feed(self, delta: str) -> None: ...

    def finish(self) -> None: ...


class PlainStream:
    """Passes the answer on delta by delta, sanitised, and ends it with a line end."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._sanitizer = Sanitizer()
        self._last = "\n"

    def feed(self, delta: str) -> None:
        """Take the next piece of the answer."""
        self._write(self._sanitizer.feed(delta))

    def finish(self) -> None:
        """Write what the sanitiser still held, and a line end if the answer had none."""
        self._write(self._sanitizer.flush())
        if self._last != "\n":
            self._write("\n")

    def _write(self, text: str) -> None:
        if text:
            self._last = text[-1]
            self._out(text)


def use_color(choice: ColorChoice, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """`--color` wins; `auto` means a terminal that takes sequences, no NO_COLOR (no-color.org) and no TERM=dumb."""
    if choice != "auto":
        return choice == "always"
    return (
        stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb" and _takes_sequences(stream)
    )


if sys.platform == "win32":
    import msvcrt

    VT_PROCESSING = 0x4  # ENABLE_VIRTUAL_TERMINAL_PROCESSING

    def _takes_sequences(stream: TextIO) -> bool:
        """A console may have them switched off, or be too old; what is no console (the null device) shows nothing."""
        from conpty.console_api import Kernel32Console

        try:
            mode = Kernel32Console().mode(msvcrt.get_osfhandle(stream.fileno()))
        except (OSError, ValueError):
            return False
        return mode is not None and bool(mode & VT_PROCESSING)

else:

    def _takes_sequences(stream: TextIO) -> bool:
        return True


def open_stream(stream: TextIO, color: ColorChoice, environ: Mapping[str, str]) -> AnswerStream:
    """Rendered Markdown for a terminal (or `--color always`, for `less -R`), plain Markdown otherwise."""
    out = writer(stream)
    if not stream.isatty() and color != "always":
        return PlainStream(out)
    from neocode.render.markdown import MarkdownStream  # brings markdown-it and wcwidth: only for a terminal

    return MarkdownStream(terminal_width(stream), use_color(color, stream, environ), out)


def terminal_width(stream: TextIO) -> int:
    """Columns to wrap at. One column stays free: some terminals wrap when the last one is written."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = DEFAULT_WIDTH
    return min(columns - 1, MAX_WIDTH) if columns > 1 else DEFAULT_WIDTH


def writer(stream: TextIO) -> Out:
    """Writes and flushes; a character that the stream's encoding lacks becomes `?` instead of an exception."""
    encoding = stream.encoding or "utf-8"

    def write(text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()

    return write
