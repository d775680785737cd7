"""What `scripts/test` runs once `.venv` is there: pytest over the checkout, in parallel, coverage on a full run."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WINE_SUITE = ROOT / "tests" / "windows" / "wine"


def pytest_arguments(arguments: list[str]) -> list[str]:
    """The pytest command line for what the user typed after `scripts/test`."""
    if arguments[:1] == ["--wine"]:
        if not WINE_SUITE.is_dir():
            sys.exit("scripts/test: there is no Wine suite in this version; run scripts/test without --wine")
        return [str(WINE_SUITE), *arguments[1:]]
    if arguments:
        return arguments
    return ["-n", "auto", "--dist", "loadgroup", "--cov", "--cov-report=term:skip-covered"]


def main() -> None:
    """Replace this process by pytest, so that signals and the exit code are its own."""
    argv = [sys.executable, "-I", "-m", "pytest", *pytest_arguments(sys.argv[1:])]
    if sys.platform == "win32":
        import subprocess

        sys.exit(subprocess.call(argv, cwd=ROOT))
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)  # a job in the background ignores them, and so would what is tested
    os.chdir(ROOT)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
