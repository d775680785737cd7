"""What `run_suite.py` starts in the Windows Python: pytest, its words to the log, its verdict as the exit code."""

from __future__ import annotations

import os
import sys

import pytest

NOTHING_PASSED = 5  # pytest's own code for "no tests were collected"


class Verdict:
    """Counts the tests that passed."""

    passed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's call that passed was neither skipped nor left out."""
        self.passed += report.when == "call" and report.passed


def main() -> None:
    """Never returns: a thread that a failed test left behind must not keep the run from ending."""
    log = open(os.environ["TLOG"], "a", encoding="utf-8", newline="\n", buffering=1)
    sys.stdout = sys.stderr = log
    verdict = Verdict()
    # capturing by descriptors would take the console away from the tests' children
    options = ["--capture=sys", "-p", "no:cacheprovider", "--durations=5"]
    code = int(pytest.main([*options, *sys.argv[1:]], plugins=[verdict]))
    if code == 0 and not verdict.passed:
        print("wine: no test passed, so nothing is proved", file=log)
        code = NOTHING_PASSED
    log.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
