"""The direct backend over a console that withholds its end, its output, or its closing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conpty.backend import Launch, clamp_size
from conpty.direct import DirectBackend, cut_length

if sys.platform == "win32":
    pytest.skip("the fake needs a Unix pty; the real console has its own tests", allow_module_level=True)

from windows_fakes import FakeConsole, FakeConsoles

CHILD = str(Path(__file__).resolve().parent.parent / "support" / "pty_child.py")
LIMIT_SEC = 20.0
Start = Callable[..., DirectBackend]


@pytest.fixture
def start() -> Iterator[Start]:
    made: list[DirectBackend] = []

    def begin(api: FakeConsoles, *words: str) -> DirectBackend:
        line = subprocess.list2cmdline([sys.executable, CHILD, *words])
        made.append(DirectBackend(api, Launch(line, None, dict(os.environ), 24, 80)))
        return made[-1]

    yield begin
    for backend in made:
        backend.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SEC
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_everything_is_closed_once_and_in_order(start: Start) -> None:
    """The fake refuses any use of a console that is closed, and of pipes that are released."""
    api = FakeConsoles()
    backend = start(api, "echo")
    backend.read()
    for _ in range(3):
        backend.close()
    backend.resize(30, 30)
    assert backend.read() == b""
    [console] = api.opened
    wait_until(lambda: console.released == 1)
    assert console.console_closed == 1
    process = console._process
    assert process is not None
    assert process.released == 1


def test_a_spawn_that_fails_leaves_no_console(tmp_path: Path) -> None:
    api = FakeConsoles()
    with pytest.raises(FileNotFoundError):
        DirectBackend(api, Launch(f'"{tmp_path / "nothing"}"', None, {}, 24, 80))
    [console] = api.opened
    assert (console.console_closed, console.released) == (1, 1)


def test_the_first_output_is_told_of_and_still_read(start: Start) -> None:
    backend = start(FakeConsoles(prelude=b"\x1b[1t\x1b[c"), "wait")
    assert backend.first_output(LIMIT_SEC)
    assert backend.first_output(0)
    assert backend.read() == b"\x1b[1t\x1b[c"
    assert b"ready." in backend.read()


def test_a_console_that_shows_nothing_is_told_of_in_time_and_can_be_closed(start: Start) -> None:
    backend = start(FakeConsoles(mute=True), "wait")
    began = time.monotonic()
    assert not backend.first_output(0.2)
    assert 0.15 < time.monotonic() - began < 5
    backend.close()
    assert backend.wait(LIMIT_SEC) is not None


def test_a_console_that_goes_away_under_a_living_child_shows_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeConsole, "read", lambda console, timeout: b"")
    backend = start(FakeConsoles(), "wait")
    assert (backend.first_output(0.2), backend.read()) == (False, b"")


@pytest.mark.parametrize("ends_by_itself", [False, True])
def test_a_child_that_ends_without_a_word_is_no_console_that_failed(start: Start, ends_by_itself: bool) -> None:
    """It would be run a second time by the other way into the console."""
    backend = start(FakeConsoles(ends_by_itself), "end", "0")
    assert (backend.first_output(LIMIT_SEC), backend.read()) == (True, b"")


def test_closing_a_console_that_never_returns_does_not_keep_the_caller(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """microsoft/terminal#17489: ClosePseudoConsole that waits for ever. The child is ended all the same."""
    release = threading.Event()
    monkeypatch.setattr(FakeConsole, "close_console", lambda console: release.wait(LIMIT_SEC))
    for name in ("CLOSE_WAIT_SEC", "CLOSE_GRACE_SEC"):
        monkeypatch.setattr(f"conpty.direct.{name}", 0.2)
    backend = start(FakeConsoles(), "wait")
    backend.read()
    reader = threading.Thread(target=backend.read, daemon=True)
    reader.start()
    threading.Event().wait(0.05)
    began = time.monotonic()
    backend.close()
    reader.join(LIMIT_SEC)
    assert time.monotonic() - began < 5
    assert backend.wait(LIMIT_SEC) == 0xC000013A
    release.set()


def test_a_new_size_does_not_wait_for_a_console_that_is_being_closed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """microsoft/terminal#17489: the loop that moves the bytes tells the size, and closing may take for ever."""
    closing, release = threading.Event(), threading.Event()

    def close_console(console: FakeConsole) -> None:
        closing.set()
        release.wait(LIMIT_SEC)

    monkeypatch.setattr(FakeConsole, "close_console", close_console)
    monkeypatch.setattr("conpty.direct.CLOSE_WAIT_SEC", 0.2)
    backend = start(FakeConsoles(), "wait")
    backend.close()
    assert closing.wait(LIMIT_SEC)
    resizer = threading.Thread(target=backend.resize, args=(30, 30), daemon=True)
    resizer.start()
    resizer.join(LIMIT_SEC / 4)
    assert not resizer.is_alive()
    release.set()


def test_output_of_a_console_that_stays_open_ends_although_closing_never_returns(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(FakeConsole, "close_console", lambda console: release.wait(LIMIT_SEC))
    monkeypatch.setattr("conpty.direct.CLOSE_WAIT_SEC", 0.2)
    backend = start(FakeConsoles(), "end", "0")
    began = time.monotonic()
    while backend.read():
        pass
    assert time.monotonic() - began < 10
    release.set()


def test_output_that_never_pauses_after_the_exit_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def more(console: FakeConsole, timeout: float | None) -> bytes:
        threading.Event().wait(0.001)
        return b"x"

    monkeypatch.setattr(FakeConsole, "read", more)
    for name in ("LATE_OUTPUT_LIMIT_SEC", "CLOSE_WAIT_SEC", "CLOSE_GRACE_SEC"):
        monkeypatch.setattr(f"conpty.direct.{name}", 0.2)
    backend = start(FakeConsoles(), "end", "0")
    backend.wait(LIMIT_SEC)
    began = time.monotonic()
    while backend.read():
        assert time.monotonic() - began < 10


def test_a_console_that_cannot_be_resized_is_no_error(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(console: FakeConsole, rows: int, cols: int) -> None:
        raise OSError(22, "E_FAIL")

    monkeypatch.setattr(FakeConsole, "resize", fail)
    start(FakeConsoles(), "wait").resize(10, 10)


@given(st.text(), st.integers(0, 40))
def test_a_cut_is_held_back_only_while_the_character_is_not_whole(text: str, at: int) -> None:
    data = text.encode("utf-8", "replace")
    first = data[:at]
    whole = first[: len(first) - cut_length(first)]
    assert cut_length(data) == 0
    assert first.decode("utf-8", "ignore").encode() == whole


@given(st.binary())
def test_no_more_than_three_bytes_are_ever_held_back(data: bytes) -> None:
    assert 0 <= cut_length(data) <= min(3, len(data))


def test_sizes_are_what_a_console_can_be() -> None:
    assert clamp_size(0, 0) == (1, 2)
    assert clamp_size(-3, 1) == (1, 2)
    assert clamp_size(24, 80) == (24, 80)
    assert max(clamp_size(1 << 40, 1 << 40)) < 32768
