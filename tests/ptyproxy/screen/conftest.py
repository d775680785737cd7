"""Runs programs in a real pty of a known size and returns every byte they wrote."""

from __future__ import annotations

import os
import select
import struct
import sys
import time
from collections.abc import Callable, Sequence

import pytest

if sys.platform == "win32":
    collect_ignore = ["test_screen_programs.py"]

DEADLINE_SEC = 30.0
QUIET_SEC = 0.4  # then the next keys are typed

Record = Callable[..., bytes]


def _record(
    argv: Sequence[str], *, cols: int = 80, rows: int = 24, keys: Sequence[bytes] = (), cwd: str = "/", **env: str
) -> bytes:
    import fcntl
    import pty
    import termios

    pid, master = pty.fork()
    if pid == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.chdir(cwd)
            environ = {"PATH": os.environ["PATH"], "HOME": cwd, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
            os.execvpe(argv[0], argv, {**environ, **env})
        finally:
            os._exit(127)
    seen = b""
    waiting = list(keys)
    deadline = time.monotonic() + DEADLINE_SEC
    try:
        while True:
            assert time.monotonic() < deadline, f"{argv[0]} does not end: {seen[-500:]!r}"
            ready, _, _ = select.select([master], [], [], QUIET_SEC)
            if ready:
                try:
                    data = os.read(master, 65536)
                except OSError:  # EIO: the last one closed it
                    return seen
                if not data:
                    return seen
                seen += data
            elif waiting:
                os.write(master, waiting.pop(0))
    finally:
        os.close(master)
        os.waitpid(pid, 0)


@pytest.fixture
def record() -> Record:
    """`record(argv, cols=, rows=, keys=, cwd=, NAME=value)`: keys are typed one by one when the program is quiet."""
    return _record
