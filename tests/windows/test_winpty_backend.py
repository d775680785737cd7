"""pywinpty's class as it was measured: what would hang, spin or lie, and that the backend over it does not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conpty import winpty_pty
from conpty.backend import ChildProcess, Launch
from conpty.exit_watch import ExitWatch
from conpty.winpty_pty import WinptyBackend

if sys.platform == "win32":
    pytest.skip("the fake needs a Unix pty; the real class has its own tests", allow_module_level=True)

from windows_fakes import FakePty, FakeWinpty, WinptyError

CHILD = str(Path(__file__).resolve().parent.parent / "support" / "pty_child.py")
LIMIT_SEC = 20.0
Start = Callable[..., WinptyBackend]


@pytest.fixture
def module() -> FakeWinpty:
    return FakeWinpty(eof_lies=3)


@pytest.fixture
def start(module: FakeWinpty) -> Iterator[Start]:
    made: list[WinptyBackend] = []

    def begin(*words: str) -> WinptyBackend:
        line = subprocess.list2cmdline([sys.executable, CHILD, *words])
        made.append(WinptyBackend(module, module.processes, Launch(line, None, dict(os.environ), 24, 80)))
        return made[-1]

    yield begin
    for backend in made:
        backend.close()


def read_all(backend: WinptyBackend) -> bytes:
    data = b""
    while chunk := backend.read():
        data += chunk
    return data


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SEC
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


def test_the_fake_has_the_faults_of_the_real_one(module: FakeWinpty) -> None:
    """Else what follows would prove nothing."""
    pty = module.PTY(80, 24, backend=0)
    line = subprocess.list2cmdline([CHILD, "end", "259"])
    pty.spawn(sys.executable, line, None, "".join(f"{name}={value}\0" for name, value in os.environ.items()))
    wait_until(lambda: not pty.isalive())
    assert pty.get_exitstatus() is None
    while pty.read(True):
        pass
    assert [pty.iseof() for _ in range(4)] == [False, False, False, True]
    assert [pty.read(True) for _ in range(50)] == [""] * 50
    assert pty.write("to nobody \u4f60") == 13
    with pytest.raises(WinptyError):
        pty.cancel_io()
    with pytest.raises(WinptyError):
        pty.set_size(0, 0)


def test_an_end_of_file_that_is_told_late_does_not_make_reading_spin(start: Start, module: FakeWinpty) -> None:
    backend = start("end", "0")
    assert read_all(backend) == b""
    assert [backend.read() for _ in range(100)] == [b""] * 100
    assert module.empty_reads < 40  # 20 ms each, until it owns up or the silence has been long enough


def test_empty_answers_of_a_child_that_lives_are_no_end(
    start: Start, module: FakeWinpty, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_read, empty = FakePty.read, iter(range(5))
    monkeypatch.setattr(FakePty, "read", lambda pty, blocking=False: "" if any(empty) else real_read(pty, blocking))
    backend = start("echo")
    assert b"ready." in backend.read()


def test_a_character_cut_by_its_reads_is_damaged_but_nothing_raises(start: Start) -> None:
    """andfoy/pywinpty#545: 3.x decodes what one read gave, alone. The direct backend is there for this."""
    backend = start("flood", "9000")
    text = read_all(backend).decode("utf-8")
    assert "<8999>" in text


def test_lone_surrogates_that_it_may_give_are_passed_on(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = start("wait")
    backend.read()
    monkeypatch.setattr(FakePty, "read", lambda pty, blocking=False: "\ud83d")
    assert backend.read() == b"\xed\xa0\xbd"


def test_input_that_is_no_text_is_replaced_and_cut_characters_wait(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(FakePty, "write", lambda pty, text: written.append(text) or len(text))
    backend = start("wait")
    for data in (b"a\xe4", b"\xbd", b"\xa0", b"\xffb", b"\x1b[A"):
        backend.write(data)
    assert written == ["a", "\u4f60", "\ufffdb", "\x1b[A"]


def test_a_child_that_ends_before_its_watch_is_known_loses_no_end(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(ExitWatch):
        def __init__(self, process: ChildProcess, on_exit: Callable[[], None]) -> None:
            super().__init__(process, on_exit)
            assert self.wait(LIMIT_SEC) == 7
            wait_until(lambda: all(thread.name != "conpty-late-output" for thread in threading.enumerate()))

    monkeypatch.setattr(winpty_pty, "ExitWatch", Slow)
    monkeypatch.setattr(winpty_pty, "LATE_OUTPUT_LIMIT_SEC", 0.05)
    assert start("end", "7").read() == b""


def test_its_own_errors_come_out_as_errors_of_a_terminal_that_is_gone(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> int:
        raise WinptyError("Zugriff verweigert")

    backend = start("wait")
    for name in ("write", "set_size", "read"):
        monkeypatch.setattr(FakePty, name, fail)
    with pytest.raises(BrokenPipeError):
        backend.write(b"x")
    backend.resize(10, 10)
    assert backend.read() == b""


def test_only_the_closing_thread_lets_go_of_it(start: Start, module: FakeWinpty) -> None:
    """Its last reference closes the console, which may take long: not in whoever reads or writes."""
    backend = start("wait")
    backend.read()
    reader = threading.Thread(target=backend.read, name="a-reader")
    reader.start()
    threading.Event().wait(0.05)
    backend.close()
    reader.join(LIMIT_SEC)
    assert module.deleted_in == ["conpty-close"]


def test_a_spawn_that_fails_is_let_go_of_behind(module: FakeWinpty) -> None:
    """andfoy/pywinpty#570: letting go of a class that runs nothing hung."""
    with pytest.raises(FileNotFoundError):
        WinptyBackend(module, module.processes, Launch('"no-such-program-of-ours"', None, dict(os.environ), 24, 80))
    wait_until(lambda: bool(module.deleted_in))
    assert module.deleted_in == ["conpty-close"]


def test_a_read_that_cannot_be_cancelled_is_ended_by_ending_the_child(
    start: Start, module: FakeWinpty, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pty: FakePty) -> bool:
        raise WinptyError("Element not found.")

    monkeypatch.setattr("conpty.winpty_pty.CLOSE_WAIT_SEC", 0.3)
    monkeypatch.setattr(FakePty, "cancel_io", refuse)
    backend = start("wait")
    backend.read()
    reader = threading.Thread(target=backend.read, daemon=True)
    reader.start()
    threading.Event().wait(0.05)
    backend.close()
    assert backend.wait(LIMIT_SEC) == 0xC000013A
    reader.join(LIMIT_SEC)
    assert not reader.is_alive()


def test_the_process_handle_is_released_once(start: Start, module: FakeWinpty) -> None:
    backend = start("end", "0")
    backend.wait(LIMIT_SEC)
    backend.close()
    backend.close()
    [process] = module.processes.by_handle.values()
    assert process.released == 1
