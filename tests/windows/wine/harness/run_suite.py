"""Runs the Windows tests in the Windows Python under Wine: `run_suite.py DIR [PYTEST ARGUMENTS]`.

Several Pythons run side by side, each taking the next test that none has taken, for most of the time goes into waiting.
With `--last-failed` in front: what failed the last time, or all if that is not known. The exit code is pytest's, and
never 0 when no test passed: a suite that skips all it has proves nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

from build import HERE, ROOT, HarnessError, build, exclusive
from run_script import run_in_wine, windows_path

# the others hold the same tests for every system, and know by themselves where they run
SUITE = (
    "tests/windows/wine",
    "tests/windows/test_backend_conformance.py",
    *(f"tests/neocode/gateway/test_gateway_{name}.py" for name in ("asks", "client", "wire")),
)
SIDE_BY_SIDE = 3
TESTS_FAILED, NOTHING_PASSED = 1, 5


def verdict(codes: list[int]) -> int:
    """The worst of all; a run that found every test taken has passed none, which is no fault unless all are so."""
    failures = [code for code in codes if code not in (0, NOTHING_PASSED)]
    return failures[0] if failures else min(codes)


def run_tests(directory: Path, arguments: list[str]) -> int:
    """pytest's exit code. Call it under `exclusive`, after `build`."""
    if arguments[:1] == ["--last-failed"]:
        failed = [line for path in directory.glob("failures-*") for line in path.read_text("utf-8").splitlines()]
        arguments = [*failed, *arguments[1:]]
    if not any(argument.startswith("tests/") for argument in arguments):
        arguments = [*SUITE, *arguments]
    claims = directory / "claims"
    shutil.rmtree(claims, ignore_errors=True)
    claims.mkdir()
    color = {"FORCE_COLOR": "1"} if sys.stdout.isatty() else {}
    commands = []
    for at in range(SIDE_BY_SIDE):
        failures = directory / f"failures-{at}"
        failures.unlink(missing_ok=True)
        own = {"TEST_CLAIMS": windows_path(claims), "TEST_FAILURES": windows_path(failures)}
        argv = [windows_path(HERE / "inside.py"), *arguments, f"--basetemp=C:\\test-{at}"]
        commands.append((argv, own | color))
    codes = run_in_wine(directory, commands)
    if any(code not in (0, TESTS_FAILED, NOTHING_PASSED) for code in codes):
        for path in directory.glob("failures-*"):  # a run that broke off has not told all
            path.unlink()
    return verdict(codes)


def main() -> int:
    """pytest's exit code; 2 after one line on stderr when there is no Wine to be had."""
    directory, arguments = Path(sys.argv[1]).absolute(), sys.argv[2:]
    os.chdir(ROOT)
    try:
        with exclusive(directory):
            build(directory)
            began = time.monotonic()
            code = run_tests(directory, arguments)
    except (HarnessError, OSError) as error:
        print(f"wine: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"wine: exit code {code} after {time.monotonic() - began:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
