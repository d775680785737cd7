"""Runs the Windows tests in the Windows Python under Wine: `run_suite.py DIR [PYTEST ARGUMENTS]`.

Its exit code is pytest's, and never 0 when no test passed: a suite that skips all it has proves nothing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from build import HERE, ROOT, HarnessError, build, exclusive
from run_script import run_in_wine, windows_path

# the second holds the same tests for every backend, and knows by itself where it runs
SUITE = ("tests/windows/wine", "tests/windows/test_backend_conformance.py")


def main() -> int:
    """pytest's exit code; 2 after one line on stderr when there is no Wine to be had."""
    directory, arguments = Path(sys.argv[1]).absolute(), sys.argv[2:]
    if not any(argument.split("::")[0].rstrip("/").startswith("tests/") for argument in arguments):
        arguments = [*SUITE, *arguments]
    os.chdir(ROOT)
    try:
        with exclusive(directory):
            build(directory)
            began = time.monotonic()
            color = {"FORCE_COLOR": "1"} if sys.stdout.isatty() else {}
            code = run_in_wine(directory, [windows_path(HERE / "inside.py"), *arguments], color)
    except (HarnessError, OSError) as error:
        print(f"wine: {error}", file=sys.stderr)
        return 2
    print(f"wine: exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
