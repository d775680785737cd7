"""Which way into the pseudo console: the direct one, or pywinpty's class where that does not work.

Invariant: a child whose console failed is ended before another is started, and what was wrong is told to the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

from conpty.backend import Launch, PtyBackend
from conpty.direct import DirectBackend
from conpty.winpty_pty import WinptyBackend

FORCE_VARIABLE = "NEOCODE_CONPTY"  # `direct` or `winpty`
# conhost draws its first bytes at once; 3 s is what one that waits for an answer to its first query waits at most
FIRST_OUTPUT_SEC = 3.0


class Ways(NamedTuple):
    """How each backend is opened; tests hand in their own."""

    direct: Callable[[Launch], DirectBackend]
    winpty: Callable[[Launch], PtyBackend]


if sys.platform == "win32":

    def open_direct(launch: Launch) -> DirectBackend:
        """The direct backend over the real API. Raises OSError."""
        from conpty.pseudo_console_api import WindowsPseudoConsoles

        return DirectBackend(WindowsPseudoConsoles(), launch)

    def open_winpty(launch: Launch) -> PtyBackend:
        """The backend over the real `winpty.PTY`. Raises OSError."""
        from conpty.process_api import WindowsProcesses

        try:
            import winpty
        except ImportError as error:
            raise OSError(f"pywinpty cannot be loaded: {error}") from error
        return WinptyBackend(winpty, WindowsProcesses(), launch)

else:

    def open_direct(launch: Launch) -> DirectBackend:
        """There is nothing to open. Raises OSError."""
        raise OSError("this system has no pseudo console")

    open_winpty = open_direct

REAL_WAYS = Ways(open_direct, open_winpty)


def open_backend(launch: Launch, forced: str = "", ways: Ways = REAL_WAYS) -> tuple[PtyBackend, str]:
    """Start the child. Returns the backend and, unless it is the one that was wanted, why in one line (else "").

    `forced`: the value of NEOCODE_CONPTY. Waits for the console's first output, so up to FIRST_OUTPUT_SEC.
    Raises:
        FileNotFoundError, PermissionError: the program cannot be run, whichever way.
        OSError: no way works; the text says why of each.
    """
    if forced == "winpty":
        return ways.winpty(launch), ""
    note = f"{FORCE_VARIABLE}={forced} is neither direct nor winpty; " if forced not in ("", "direct") else ""
    try:
        backend = ways.direct(launch)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        if forced == "direct":
            raise
        reason = str(error)
    else:
        if forced == "direct" or backend.first_output(FIRST_OUTPUT_SEC):
            return backend, note.rstrip("; ")
        backend.close()
        reason = f"it showed nothing for {FIRST_OUTPUT_SEC:.0f} s"
    try:
        return ways.winpty(launch), f"{note}the direct console failed ({reason}), so pywinpty's class is used"
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        raise OSError(f"no pseudo console: the direct way failed ({reason}), pywinpty's too ({error})") from error
