"""What the user's shell inherits through us, as if we had not been in between: environment and descriptors.

Invariant: nothing of our own reaches it, nothing of the parent's is held back.
"""

from __future__ import annotations

import os
import sys

assert sys.platform != "win32"

COERCED = (b"C.UTF-8", b"C.utf8", b"UTF-8")  # what PEP 538 sets LC_CTYPE to in the C locale, for Python's own sake


def original_environment() -> dict[bytes, bytes]:
    """Our environment as the parent gave it, names and values in bytes, with LC_CTYPE as it was (PEP 538)."""
    environ = dict(os.environb)
    if environ.get(b"LC_CTYPE") in COERCED and not environ.get(b"LC_ALL"):
        before = _initial_value(b"LC_CTYPE")
        if before is None:
            del environ[b"LC_CTYPE"]
        else:
            environ[b"LC_CTYPE"] = before
    return environ


def _initial_value(name: bytes) -> bytes | None:
    """A variable's value when this process started; its present one where the system does not tell."""
    try:
        with open("/proc/self/environ", "rb") as handle:
            block = handle.read()
    except OSError:
        return _initial_value_elsewhere(name)
    for entry in block.split(b"\0"):
        if entry.startswith(name + b"="):
            return entry[len(name) + 1 :]
    return None


def _initial_value_elsewhere(name: bytes) -> bytes | None:
    import psutil

    try:
        found = psutil.Process().environ().get(os.fsdecode(name))
    except (psutil.Error, OSError):
        return os.environb.get(name)
    return None if found is None else os.fsencode(found)


def inheritable_descriptors() -> tuple[int, ...]:
    """The descriptors above 2 that a child started now would inherit; Python makes its own ones private (PEP 446)."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue  # the descriptor of the listing itself
    return tuple(found)


def release_descriptors(fds: tuple[int, ...]) -> None:
    """Close our copies of what the shell has now: a pipe must end when the shell closes it, not when we do."""
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            continue


def fill_standard_descriptors() -> None:
    """Open the null device in the place of a closed stdin, stdout or stderr, before anything else gets the number."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != fd:
                os.dup2(opened, fd)
                os.close(opened)
            os.set_inheritable(fd, True)


def open_private(fd: int, flags: int) -> int | None:
    """A non-blocking descriptor of the terminal on `fd` with an open file description of its own, None if impossible.

    `/dev/tty` is for a terminal that belongs to another user (after su): it is the same one if it is our controlling
    terminal, and only that one has a foreground group for us.
    """
    flags |= os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(os.ttyname(fd), flags)
    except OSError:
        pass
    try:
        os.tcgetpgrp(fd)
        return os.open("/dev/tty", flags)
    except OSError:
        return None
