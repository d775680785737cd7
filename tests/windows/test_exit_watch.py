"""Whatever goes wrong with the wait for a child, nobody waits for its end for ever."""

from __future__ import annotations

import threading

import pytest

from conpty.exit_watch import UNKNOWN_EXIT_CODE, ExitWatch

PATIENCE_SEC = 10.0


class Process:
    """A child with exit code 3, or one whose handle is good for nothing."""

    pid = 1

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.released = threading.Event()

    def wait(self) -> int:
        if self._error is not None:
            raise self._error
        return 3

    def terminate(self, exit_code: int) -> None:
        """Nobody asks for it here."""

    def release(self) -> None:
        assert not self.released.is_set()
        self.released.set()


def test_a_handle_that_cannot_be_waited_on_is_an_end_with_an_unknown_code() -> None:
    process, told = Process(OSError(9, "The handle is invalid")), threading.Event()
    watch = ExitWatch(process, told.set)
    assert watch.wait(PATIENCE_SEC) == UNKNOWN_EXIT_CODE
    assert watch.ended_at is not None
    assert told.is_set()
    assert process.released.wait(PATIENCE_SEC)


def test_a_fault_of_ours_at_the_end_does_not_hide_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("a fault of ours")

    thread_over = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda fault: thread_over.set())
    process = Process()
    assert ExitWatch(process, fail).wait(PATIENCE_SEC) == 3
    assert process.released.wait(PATIENCE_SEC)
    assert thread_over.wait(PATIENCE_SEC)
