"""Moments as text, as our files and messages have them: RFC 3339, UTC, whole seconds."""

from __future__ import annotations

import time


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch as `2024-05-03T11:42:10Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
