"""What `scripts/test` runs once `.venv` is there: pytest over the checkout, in parallel, coverage on a full run.

`--wine`: the tests of tests/windows/wine in a Windows Python instead.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WINE_SUITE = ROOT / "tests" / "windows" / "wine"
WINE_DIRECTORY = ROOT / ".wine"  # the Windows Python that the harness builds once


def command(arguments: list[str]) -> list[str]:
    """What to run, after the interpreter, for what the user typed after `scripts/test`."""
    if arguments[:1] == ["--wine"]:
        if sys.platform == "win32":
            return ["-I", "-m", "pytest", str(WINE_SUITE), *arguments[1:]]  # this is what Wine stands in for
        return ["-sE", str(WINE_SUITE / "harness" / "run_suite.py"), str(WINE_DIRECTORY), *arguments[1:]]
    if not arguments:
        arguments = ["-n", str(workers()), "--dist", "loadgroup", "--cov", "--cov-report=term:skip-covered"]
    return ["-I", "-m", "pytest", *arguments]


def workers() -> int:
    """One more than there are processors: a test that drives a terminal waits for most of its time."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (usable or 1) + 1


def main() -> None:
    """Replace this process by pytest, so that signals and the exit code are its own."""
    argv = [sys.executable, *command(sys.argv[1:])]
    if sys.platform == "win32":
        import subprocess

        sys.exit(subprocess.call(argv, cwd=ROOT))
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)  # a job in the background ignores them, and so would what is tested
    os.chdir(ROOT)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
