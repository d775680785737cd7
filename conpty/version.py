"""Whether this Windows has a pseudo console at all.

Invariant: nothing here is guessed from names; the build number decides, as Windows itself numbers its releases.
"""

from __future__ import annotations

import sys

FIRST_BUILD = 17763  # Windows 10 1809 and Server 2019: the first with CreatePseudoConsole


def windows_build() -> int:
    """The build of the running Windows; 0 elsewhere.

    From `platform_version`, which asks the system's own DLL: the plain version answers what the manifest of whoever
    embeds Python makes Windows claim.
    """
    build = 0
    if sys.platform == "win32":
        build = sys.getwindowsversion().platform_version[2]
    return build


def unsupported(build: int) -> str | None:
    """One line for the user when Windows `build` is too old, else None."""
    if build >= FIRST_BUILD:
        return None
    return (
        f"this Windows (build {build}) has no pseudo console: `neocode shell` needs Windows 10 1809"
        f" (build {FIRST_BUILD}) or later. Update Windows, or use `neocode diag --error-log FILE`, which needs none."
    )
