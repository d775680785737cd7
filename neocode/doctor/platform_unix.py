"""What only Unix systems can have wrong: pseudo terminals and descriptors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from neocode.doctor.check import Check, Situation

assert sys.platform != "win32"

FEW_DESCRIPTORS = 64  # a shell, a gateway connection and a child process need about 20


def system(situation: Situation) -> Iterator[Check]:
    """Can a pseudo terminal be made, are there descriptors enough."""
    import resource

    try:
        master, slave = os.openpty()
    except OSError as error:
        yield Check(
            "pty", "broken", f"no pseudo terminal can be made: {error.strerror}", "mount /dev/pts, or end shells"
        )
    else:
        os.close(master)
        os.close(slave)
        yield Check("pty", "ok", "pseudo terminals can be made")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < FEW_DESCRIPTORS:
        yield Check("descriptors", "warn", f"only {limit} open files are allowed", "ulimit -n 1024")
