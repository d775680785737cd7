"""What Windows has instead of UTF-8 everywhere: a code page for what is piped, and sequences that must be switched on.

Invariants: what we print into a pipe or file is in the console's code page, as `more`, `type` and PowerShell read it,
and an unknown character becomes `?`; the console's mode is given back when we end.
"""

from __future__ import annotations

import atexit
import codecs
import io
import sys
from typing import Protocol, TextIO

UTF_8 = 65001
VT_PROCESSING = 0x4  # ENABLE_VIRTUAL_TERMINAL_PROCESSING


class ConsoleModes(Protocol):
    """What of `conpty.console_api.Kernel32Console` is used here."""

    def mode(self, handle: int) -> int | None: ...
    def set_mode(self, handle: int, mode: int) -> bool: ...


def encoding_of(code_page: int) -> str:
    """Python's name for a Windows code page; "utf-8" for one that it does not know, and for 0 (there is none)."""
    if code_page in (0, UTF_8):
        return "utf-8"
    try:
        return codecs.lookup(f"cp{code_page}").name
    except LookupError:
        return "utf-8"


def recode(stream: TextIO, encoding: str) -> None:
    """Make `stream` write `encoding`, with `?` for what it lacks."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors="replace")


def switch_on_sequences(modes: ConsoleModes, handle: int) -> None:
    """Colours for the console behind `handle` until we end; one that cannot stays as it is."""
    mode = modes.mode(handle)
    if mode is None or mode & VT_PROCESSING:
        return
    if modes.set_mode(handle, mode | VT_PROCESSING):
        atexit.register(modes.set_mode, handle, mode)


if sys.platform == "win32":
    import msvcrt

    def code_page() -> int:
        """The console's output code page; without a console, the one that consoles here begin with (OEM)."""
        import ctypes

        from conpty.console_api import Kernel32Console

        return Kernel32Console().code_pages()[1] or int(ctypes.WinDLL("kernel32").GetOEMCP())

    def legacy_encoding() -> str:
        """What programs here write that is not Unicode: the console's code page, or the system's when that is UTF-8."""
        import ctypes

        page = code_page()
        return encoding_of(page if page != UTF_8 else int(ctypes.WinDLL("kernel32").GetOEMCP()))

    def prepare_output() -> None:
        """Set up stdout and stderr. `-X utf8` is a choice of the user's and stays."""
        from conpty.console_api import Kernel32Console

        console = Kernel32Console()
        for stream in (sys.stdout, sys.stderr):
            try:
                handle = msvcrt.get_osfhandle(stream.fileno())
            except (OSError, ValueError):
                continue
            if console.mode(handle) is not None:
                switch_on_sequences(console, handle)
            elif not sys.flags.utf8_mode:
                recode(stream, encoding_of(code_page()))

else:

    def legacy_encoding() -> str:
        """Not known here: a Unix pipe says nothing of its writer."""
        return ""

    def prepare_output() -> None:
        """Nothing to do: terminals here are UTF-8 and take sequences."""
