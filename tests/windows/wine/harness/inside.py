"""What `run_suite.py` starts in the Windows Python: pytest, its words to the log, its verdict as the exit code."""

from __future__ import annotations

import hashlib
import os
import sys

import pytest

NOTHING_PASSED = 5  # pytest's own code for "no tests were collected"


class Share:
    """Takes the tests that no other run has taken, and counts those that passed."""

    def __init__(self, claims: str) -> None:
        self._claims = claims
        self.passed = 0
        self.failed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """pytest's own loop, over our share: a test is told which comes next, for what it may leave set up."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        ours = filter(self._is_ours, session.items)
        item = next(ours, None)
        while item is not None:
            following = next(ours, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                raise session.Failed(session.shouldfail or session.shouldstop)
            item = following
        return True

    def _is_ours(self, item: pytest.Item) -> bool:
        """Whether no other run has taken it: the file that cannot be made twice decides."""
        name = hashlib.sha256(item.nodeid.encode()).hexdigest()
        try:
            os.close(os.open(os.path.join(self._claims, name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's call that passed was neither skipped nor left out."""
        self.passed += report.when == "call" and report.passed
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def main() -> None:
    """Never returns: a thread that a failed test left behind must not keep the run from ending."""
    log = open(os.environ["TLOG"], "a", encoding="utf-8", newline="\n", buffering=1)
    sys.stdout = sys.stderr = log
    share = Share(os.environ["TEST_CLAIMS"])
    # capturing by descriptors would take the console away from the tests' children
    options = ["--capture=sys", "-p", "no:cacheprovider", "--durations=5"]
    code = int(pytest.main([*options, *sys.argv[1:]], plugins=[share]))
    if code == 0 and not share.passed:
        code = NOTHING_PASSED
    with open(os.environ["TEST_FAILURES"], "w", encoding="utf-8") as failures:
        failures.write("\n".join(share.failed))
    log.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
