"""Starting a process that outlives us. Invariants: it has its own session (no console window on Windows), no stdin of
ours and `/` as its directory; it is reaped when it ends before we do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

if sys.platform == "win32":
    _ROOT = os.environ.get("SYSTEMDRIVE", "C:") + "\\"
    # A console of its own that no window shows: Ctrl-C and the closing of ours do not reach it. DETACHED_PROCESS would
    # leave it without one, and then python.exe of a virtual environment, which starts the real one, opens a window.
    # CREATE_NEW_PROCESS_GROUP would make it and all its children deaf to Ctrl-C for ever.
    _FLAGS = subprocess.CREATE_NO_WINDOW
    _BREAKAWAY = subprocess.CREATE_BREAKAWAY_FROM_JOB  # out of the terminal's job, which may end with its window

    def _popen(argv: Sequence[str], output: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        try:
            return _start(argv, output, environ, _FLAGS | _BREAKAWAY)
        except PermissionError:  # a job that nothing may leave
            return _start(argv, output, environ, _FLAGS)

    def _start(argv: Sequence[str], output: int, environ: Mapping[str, str], flags: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=_ROOT,
            env=dict(environ),
            creationflags=flags,
        )

else:

    def _popen(argv: Sequence[str], output: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env=dict(environ),
            start_new_session=True,
        )


class Detached:
    """A started process; `returncode` is None while it runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.returncode: int | None = None
        self.pid = process.pid
        # A shell lives for days; without a waiting thread a daemon that stops would stay its zombie.
        threading.Thread(target=self._wait, name="gateway-reaper", daemon=True).start()

    def _wait(self) -> None:
        self.returncode = self._process.wait()


def start_detached(argv: Sequence[str], output: int, environ: Mapping[str, str]) -> Detached:
    """Start `argv` with stdout and stderr on descriptor `output`. Raises OSError."""
    return Detached(_popen(argv, output, environ))
