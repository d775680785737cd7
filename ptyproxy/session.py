"""One shell's private directory: where the nonce, the integration's scripts and the widget's orders lie.

Invariants: the directory is 0700 and every file in it 0600; an order appears whole or not at all; `close` removes
everything, and a directory whose owner process is gone is swept by the next start.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import NamedTuple

NONCE_FILE = "nonce"
SHOW_ORDER = "show"
LINE_ORDER = "line"
STATUS_FILE = "status"  # for `neocode doctor`: name=value lines
REFUSED_FILE = "refused"  # likewise, written by a shell that may not run the integration: one line that says why
_NAME = re.compile(r"shell-(\d{1,10})-\d{1,6}-[0-9a-f]{8}")


class Session(NamedTuple):
    """A running proxy: its id on the gateway, its directory, the secret of its marks (32 hex digits)."""

    id: str
    directory: str
    nonce: str

    def write(self, name: str, data: bytes) -> str:
        """Make or replace a file of the session, whole; returns its path. Raises OSError."""
        target = os.path.join(self.directory, name)
        draft = os.path.join(self.directory, f".{name}.new")
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as handle:
            handle.write(data)
        os.replace(draft, target)
        return target

    def withdraw(self, name: str) -> bool:
        """Take an order back; False when the widget already has it."""
        try:
            os.unlink(os.path.join(self.directory, name))
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Remove the directory. Idempotent; what cannot be removed is left for the next sweep."""
        _remove(self.directory)


def open_session(base: str) -> Session:
    """Make a session's directory below `base`, which is ours and 0700. Raises OSError."""
    _sweep(base)
    session = Session(f"shell-{os.getpid()}-1-{os.urandom(4).hex()}", base, os.urandom(16).hex())
    session = session._replace(directory=os.path.join(base, session.id))
    _make_directory(session.directory)
    try:
        session.write(NONCE_FILE, session.nonce.encode())
    except OSError:
        session.close()
        raise
    return session


def _remove(directory: str) -> None:
    import shutil  # costs the user's first prompt 5 ms if it is imported above

    shutil.rmtree(directory, ignore_errors=True)


def live_sessions(base: str) -> list[str]:
    """The ids of the sessions below `base` whose proxy runs; none when there is no such directory."""
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return []
    return [name for name in names if (found := _NAME.fullmatch(name)) and is_alive(int(found[1]))]


def _sweep(base: str) -> None:
    """Remove the directories of proxies that were killed."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(base):
            found = _NAME.fullmatch(entry.name)
            if found and entry.is_dir(follow_symlinks=False) and not is_alive(int(found[1])):
                _remove(entry.path)


if sys.platform == "win32":

    def is_alive(pid: int) -> bool:
        """Whether a process with this id exists. (os.kill would send it Ctrl-C there.)"""
        from conpty import processes

        return processes.is_alive(pid)

    def _make_directory(path: str) -> None:
        from conpty import security

        security.make_directory(path)

else:

    def is_alive(pid: int) -> bool:
        """Whether a process with this id exists."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True  # another user's
        return True

    def _make_directory(path: str) -> None:
        os.mkdir(path, 0o700)
