"""What only Windows can have wrong: a console without pseudo consoles (ConPTY came with build 17763)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from neocode.doctor.check import Check, Situation

assert sys.platform == "win32"

CONPTY_BUILD = 17763


def system(situation: Situation) -> Iterator[Check]:
    """Is Windows new enough."""
    build = sys.getwindowsversion().build
    if build < CONPTY_BUILD:
        yield Check("console", "broken", f"Windows build {build} has no pseudo console", "update to 1809 or later")
    else:
        yield Check("console", "ok", f"Windows build {build}")
