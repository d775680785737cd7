"""The pump of threads: neither side stops the other, nothing is lost, and the end is the child's.

A real child on a real pty, and a console in memory that blocks as Windows' does.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_console import COOKED, IN, OUT, PLAIN, FakeConsole, key
from hypothesis import given
from hypothesis import strategies as st

from conpty.backend import Launch
from conpty.console_events import CTRL_BREAK, CTRL_C, CTRL_CLOSE
from ptyproxy.platform import windows, windows_end_of_input, windows_pump
from ptyproxy.platform.base import Size
from ptyproxy.platform.windows import ConsoleEvents, EnterForLines, Terminal, WindowsPty
from ptyproxy.platform.windows_pump import WindowsPump
from ptyproxy.platform.windows_threads import LANE_BYTES, OUTLET_BYTES, Outlet

if sys.platform == "win32":
    pytest.skip("the child is on a Linux pty", allow_module_level=True)

from unix_backend import UnixBackend


class Child(UnixBackend):
    """A command on a Unix pty; `code` is what it is said to end with, `sizes` what it was told."""

    def __init__(self, command: tuple[str, ...], code: int | None = None) -> None:
        super().__init__(Launch(subprocess.list2cmdline(command), None, dict(os.environ), 24, 80))
        self.code = code
        self.sizes: list[tuple[int, int]] = []

    def wait(self, timeout: float | None) -> int | None:
        code = super().wait(timeout)
        return code if code is None or self.code is None else self.code

    def resize(self, rows: int, cols: int) -> None:
        super().resize(rows, cols)
        self.sizes.append((rows, cols))


PATIENCE_SEC = 20.0
# floods its terminal, and reads what was typed only when somebody has taken the flood
FLOOD_THEN_READ = """
import hashlib, os, sys, tty
tty.setraw(0)
os.write(1, b"READY")
wanted = int(sys.argv[1])
for _ in range(20):
    data = b"x" * 100_000
    while data:
        data = data[os.write(1, data):]
seen, digest = 0, hashlib.sha256()
while seen < wanted:
    data = os.read(0, 65536)
    seen += len(data)
    digest.update(data)
    os.write(1, b"y" * len(data))
os.write(1, digest.hexdigest().encode() + b"END")
"""


class Recorder:
    """A tap that notes on which thread it was called and what it was given."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.printed = b""
        self.typed = b""
        self.sizes: list[tuple[int, int]] = []
        self.ticks = 0
        self.fault = ""

    def _on(self, name: str) -> None:
        self.threads.add(threading.get_ident())
        if name == self.fault:
            raise RuntimeError(f"fault in {name}")

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        self._on("divide")
        return None

    def output(self, data: bytes) -> None:
        self._on("output")
        self.printed += data

    def input(self, data: bytes) -> bytes:
        self._on("input")
        self.typed += data
        return data

    def resized(self, rows: int, cols: int) -> None:
        self._on("resized")
        self.sizes.append((rows, cols))

    def tick(self) -> float | None:
        self._on("tick")
        self.ticks += 1
        return None


class Running:
    """A pump on a thread of its own, which is its main thread."""

    def __init__(self, command: tuple[str, ...], api: FakeConsole, **backend: Any) -> None:
        self.api = api
        self.tap = Recorder()
        self.events = ConsoleEvents(api)
        self.events.install()
        self.terminal = Terminal(api)
        self.backend = Child(command, **backend)
        pty = WindowsPty(self.backend)
        pty.has_children = lambda: bool(psutil.Process(pty.pid).children())  # type: ignore[method-assign]
        self.pump = WindowsPump(pty, self.terminal, self.tap, signals=self.events)
        self._status: int | None = None
        self._thread = threading.Thread(target=self._run)

    def start(self) -> Running:
        self._thread.start()
        return self

    def _run(self) -> None:
        self.terminal.enter()
        try:
            self._status = self.pump.run()
        finally:
            self.terminal.leave()

    def status(self, timeout: float = PATIENCE_SEC) -> int:
        self._thread.join(timeout)
        assert not self._thread.is_alive(), f"still running; {self.api.screen[-500:]!r}"
        assert self._status is not None
        return self._status

    @property
    def thread(self) -> int | None:
        return self._thread.ident

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        self.api.select(False)
        self.backend.close()
        self._thread.join(PATIENCE_SEC)
        self.events.close()
        self.terminal.close()


Start = Callable[..., Running]


def until(what: Callable[[], object], patience: float = PATIENCE_SEC) -> None:
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(COMMAND...)`: a program through the pump; ended after the test."""
    made: list[Running] = []

    def make(*command: str, api: FakeConsole | None = None, go: bool = True, **backend: Any) -> Running:
        made.append(Running(command, api or FakeConsole(), **backend))
        return made[-1].start() if go else made[-1]

    yield make
    for running in made:
        running.close()


def python(program: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", program, *arguments)


def sh(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def test_what_is_typed_reaches_the_child_and_what_it_prints_the_screen(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 8; exit 7"))
    running.api.until_shown("READY")
    running.api.type("né😀!")
    assert running.status() == 7
    assert "READYné😀!" in running.api.screen
    assert running.tap.typed.decode() == "né😀!"
    assert running.tap.printed.decode() == "READYné😀!"


def test_the_tap_runs_on_the_pumps_thread_only(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 1"))
    running.api.until_shown("READY")
    running.api.resize(30, 90, event=True)
    until(lambda: running.tap.sizes)
    running.api.type("x")
    running.status()
    assert running.tap.threads == {running.thread}


@pytest.mark.parametrize("where", ["divide", "output", "input", "resized", "tick"])
def test_a_tap_that_raises_is_dropped_and_the_shell_goes_on(start: Start, where: str) -> None:
    running = start(*sh("stty raw -echo; printf READY; exec head -c 14"), go=False)
    running.tap.fault = where
    running.start()
    running.api.until_shown("READY")
    running.api.resize(30, 70, event=True)
    until(lambda: running.backend.sizes)
    running.api.type("all these bytes")
    running.api.until_shown("all these byte")
    assert running.status() == 0
    assert isinstance(running.pump.tap_error, RuntimeError)
    assert running.pump.tap is None


def test_both_directions_may_be_full_at_once(start: Start) -> None:
    """asciinema/asciinema#556, python/cpython#96522, pexpect/pexpect#756."""
    paste = "ab cd\n" * 50_000
    running = start(*python(FLOOD_THEN_READ, str(len(paste))))
    running.api.until_shown("READY")
    running.api.select(True)  # nobody takes the flood
    running.api.type(paste)
    until(lambda: running.pump._input.size >= LANE_BYTES and running.pump._output.size >= LANE_BYTES)
    running.api.select(False)
    assert running.status(60) == 0
    screen = running.api.screen
    assert screen.count("x") == 2_000_000
    assert screen.count("y") == len(paste)
    assert hashlib.sha256(paste.encode()).hexdigest() + "END" in screen


def test_a_selecting_console_stops_neither_keys_nor_interrupts(start: Start, tmp_path: Path) -> None:
    """microsoft/terminal#9366 and others: output waits while text is selected."""
    note = tmp_path / "note"
    running = start(*sh(f"trap 'echo interrupted > {note}; exit 4' INT; printf READY; while :; do echo flood; done"))
    running.api.until_shown("READY")
    running.api.select(True)
    until(lambda: not running.pump._screen.has_room)
    running.api.type("\x03")
    until(lambda: note.exists() and note.read_text() == "interrupted\n")
    assert running.is_running  # what it printed still waits for the screen
    running.api.select(False)
    assert running.status() == 4


def test_a_child_that_never_reads_stops_the_keys_in_bounded_memory_and_prints_on(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; i=0; while :; do echo $((i=i+1)).; sleep 0.05; done"))
    running.api.until_shown("READY")
    running.api.type("z" * 400_000)
    until(lambda: running.pump._input.size >= LANE_BYTES)
    left = running.api.unread
    assert left > 400_000  # records: the rest stays in the console
    assert len(running.pump._child._pending) <= OUTLET_BYTES + windows_pump.BATCH_BYTES + LANE_BYTES
    shown = running.api.screen.count(".")
    running.api.until_shown(f"{shown + 5}.")
    assert running.api.unread == left


def test_what_is_typed_while_the_tap_takes_none_waits(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 3"), go=False)
    running.pump.input_held = True
    running.start()
    running.api.until_shown("READY")
    running.api.type("abc")
    until(lambda: running.pump._input.size == 3)
    ticks = running.tap.ticks
    running.pump.wake()
    until(lambda: running.tap.ticks > ticks)
    assert running.tap.typed == b""
    running.pump.input_held = False
    running.pump.wake()
    running.api.until_shown("READYabc")


def test_output_behind_the_exit_is_shown_to_its_end(start: Start) -> None:
    running = start(*python("import os; os.write(1, b'x' * 60_000 + b'END'); os._exit(42)"))
    assert running.status() == 42
    assert running.api.screen.split("\x1b")[0] == "x" * 60_000 + "END"


def test_output_behind_the_exit_waits_for_a_selecting_console(start: Start) -> None:
    running = start(*sh("printf READY; read x; printf LAST; exit 3"))
    running.api.until_shown("READY")
    running.api.select(True)
    running.api.type("\r")
    until(lambda: running.pump._status == 3)
    time.sleep(0.2)
    assert running.is_running
    running.api.select(False)
    assert running.status() == 3
    assert "LAST" in running.api.screen


def test_a_background_job_that_holds_the_terminal_does_not_hold_us(start: Start) -> None:
    running = start(*sh("trap '' HUP; sleep 30 & printf READY; exit 5"))
    since = time.monotonic()
    assert running.status() == 5
    assert time.monotonic() - since < 3


@pytest.mark.parametrize(("code", "seen"), [(0xC000013A, -1073741510), (0xFFFFFFFF, -1), (259, 259)])
def test_an_exit_code_is_one_that_python_can_end_with(start: Start, code: int, seen: int) -> None:
    assert start(*sh("exit 1"), code=code).status() == seen


def test_a_new_size_is_told_with_its_event_and_found_without(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 1; stty size"))
    running.api.until_shown("READY")
    running.api.resize(30, 90, event=True)
    until(lambda: running.backend.sizes == [(30, 90)], windows_pump.SIZE_SEC / 2)
    running.api.resize(31, 91, event=False)
    until(lambda: running.backend.sizes[1:] == [(31, 91)])
    assert running.tap.sizes == [(30, 90), (31, 91)]
    running.api.type("x")
    running.status()
    assert "31 91" in running.api.screen


def test_a_held_size_is_told_when_it_is_released(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 1"))
    running.api.until_shown("READY")
    running.pump.size_held = True
    running.api.resize(40, 100, event=True)
    until(lambda: running.tap.sizes)
    assert running.backend.sizes == []
    running.pump.release_size()
    assert running.backend.sizes == [(40, 100)]


@pytest.mark.parametrize("kind", [CTRL_C, CTRL_BREAK])
def test_an_interrupt_of_windows_reaches_the_child_as_the_key(start: Start, kind: int) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 1 | od -An -tx1"))
    running.api.until_shown("READY")
    assert running.api.handler is not None
    assert running.api.handler(kind)
    assert running.status() == 0
    assert "03" in running.api.screen


def test_closing_the_window_hangs_up_and_kills_who_does_not_care(start: Start) -> None:
    running = start(*python("import signal, time; signal.signal(1, signal.SIG_IGN); print('READY'); time.sleep(60)"))
    running.events._close_sec = 4.5
    running.api.until_shown("READY")
    running.api.select(True)  # and nobody takes any output
    assert running.api.handler is not None
    closing = threading.Thread(target=running.api.handler, args=(CTRL_CLOSE,), daemon=True)
    since = time.monotonic()
    closing.start()
    assert running.status() == -1073741510
    assert time.monotonic() - since < 4.5
    assert running.backend.wait(0) is not None
    assert (running.api.modes[IN], running.api.modes[OUT]) == (COOKED, PLAIN)


def test_a_console_that_is_gone_hangs_up(start: Start) -> None:
    running = start(*sh("printf READY; exec sleep 60"))
    running.api.until_shown("READY")
    running.api.gone = True
    running.api.put(key(ord("x")))
    assert running.status() == -1073741510
    assert running.backend.wait(0) is not None


def test_conptys_own_modes_do_not_reach_the_terminal_but_queries_do(start: Start) -> None:
    running = start("/usr/bin/printf", "\\033[1t\\033[c\\033[?1004h\\033[?9001hREADY")
    assert running.status() == 0
    assert running.api.screen.startswith("\x1b[1t\x1b[cREADY")


def test_our_own_words_and_keys_go_in_behind_the_others(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 4"))
    running.api.until_shown("READY")
    running.pump.show(b" ours ")
    running.pump.send(b"keys")
    assert running.status() == 0
    assert "READY ours keys" in running.api.screen
    running.pump.show(b" after the end")
    assert running.api.screen.endswith(" after the end")


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=40)), max_size=20))
def test_what_is_ours_goes_out_in_its_place_and_never_with_the_childs(pieces: list[tuple[bool, bytes]]) -> None:
    written: list[tuple[bool, bytes]] = []

    def show(data: bytes) -> None:
        written.append((True, data))

    outlet = Outlet(lambda data: written.append((False, data)), "test", lambda: None)
    for ours, data in pieces:
        outlet.put(data, show if ours else None)
    assert outlet.close(PATIENCE_SEC)

    def joined(parts: list[tuple[bool, bytes]]) -> list[tuple[bool, int]]:
        return [(ours, byte) for ours, data in parts for byte in data]

    assert joined(written) == joined(pieces)


def test_a_wake_up_from_any_thread_makes_the_tap_tick(start: Start) -> None:
    running = start(*sh("stty raw -echo; printf READY; head -c 1"))
    running.api.until_shown("READY")
    for _ in range(3):
        ticks = running.tap.ticks
        running.pump.wake()
        until(lambda ticks=ticks: running.tap.ticks > ticks)


# -- scripts: no console on stdin and stdout


@pytest.fixture
def pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """(where to write the script, where to read the output)."""
    stdin, script = os.pipe()
    output, stdout = os.pipe()
    monkeypatch.setattr(windows, "STDIN", stdin)
    monkeypatch.setattr(windows, "STDOUT", stdout)
    yield script, output
    for fd in (stdin, output, stdout):
        os.close(fd)


def test_a_script_is_read_and_answered_without_a_console(start: Start, pipes: tuple[int, int]) -> None:
    script, output = pipes
    api = FakeConsole(consoles=())
    running = start(*sh(r"stty raw -echo; printf '\033[c'; head -c 9 | od -An -c; head -c 3; exit 6"), api=api)
    assert os.read(output, 4096).split() == b"033 [ ? 6 1 ; 2 2 c".split()
    os.write(script, "né".encode())
    assert running.status() == 6
    assert os.read(output, 4096) == "né".encode()
    assert api.screen == ""  # the console was opened for its modes, and says nothing
    assert api.modes[IN] == COOKED
    os.close(script)


@given(st.binary(), st.lists(st.integers(1, 40)))
def test_line_ends_of_a_script_are_enter_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    data = data.replace(b"\0", b"\r").replace(b"\1", b"\n")
    lines, out, at = EnterForLines(), b"", 0
    for cut in [*cuts, len(data) + 1]:
        if piece := data[at : at + cut]:
            out += lines.feed(piece)
        at += cut
    assert out == data.replace(b"\r\n", b"\n").replace(b"\n", b"\r")


def test_at_the_end_of_a_script_programs_are_told_and_the_shell_is_ended(
    start: Start, pipes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    script, output = pipes
    monkeypatch.setattr(windows_end_of_input, "SILENCE_SEC", 0.2)
    program = "stty raw -echo; head -c 2 | od -An -tx1; printf ' waits'; read x"
    running = start(*sh(program), api=FakeConsole(consoles=()))
    os.close(script)
    assert running.status() == 0
    assert os.read(output, 4096).split() == [b"1a", b"0d", b"waits"]


def test_a_terminal_without_a_console_has_the_size_that_everybody_assumes() -> None:
    api = FakeConsole(consoles=())
    api.gone = True
    terminal = Terminal(api)
    assert (terminal.size(), terminal.is_tty, terminal.has_console) == (Size(24, 80), False, False)
    terminal.enter()
    terminal.leave()
    terminal.close()


def test_a_script_whose_reader_has_gone_ends_the_shell(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    monkeypatch.setattr(windows, "STDOUT", write)
    running = start(*sh("while :; do echo flood; done"), api=FakeConsole(consoles=(0,)))
    assert running.status() == -1073741510
    os.close(write)
