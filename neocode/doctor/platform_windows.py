"""What only Windows can have wrong: a console without pseudo consoles, code pages, a process with an administrator's
rights beside ordinary ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from neocode.doctor.check import Check, Situation

assert sys.platform == "win32"


def system(situation: Situation) -> Iterator[Check]:
    """Is Windows new enough, what do pipes carry, whose gateway is ours."""
    yield _build()
    yield _code_page()
    yield from _rights()


def _build() -> Check:
    from conpty.version import unsupported, windows_build

    build = windows_build()
    problem = unsupported(build)
    if problem:
        return Check("console", "broken", problem, "")
    return Check("console", "ok", f"Windows build {build}")


def _code_page() -> Check:
    from neocode.cli.windows_console import code_page, encoding_of

    page = code_page()
    what = f"code page {page} ({encoding_of(page)}); other characters become ? in pipes and files"
    return Check("code page", "ok", "UTF-8" if encoding_of(page) == "utf-8" else what)


def _rights() -> Iterator[Check]:
    from conpty import security

    if security.is_elevated():
        yield Check("rights", "ok", "an administrator's; ordinary windows have a gateway and shells of their own")
