"""The real wheel, and the direct backend over its conpty.dll: what no fake can show. Under Wine that dll is the
harness's stand-in over Wine's own console; the tests that need its switches run there only.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conpty import choose
from conpty.backend import Launch, PtyBackend
from conpty.choose import open_backend, open_direct, open_winpty
from conpty.command_line import join
from conpty.queries import ConsoleQueries
from conpty.version import FIRST_BUILD, windows_build

if sys.platform == "win32":
    from open_handles import handles

    from conpty import process_api, pseudo_console_api

CHILD = str(Path(__file__).resolve().parents[2] / "support" / "pty_child.py")
CMD = os.environ["COMSPEC"]
LIMIT_SEC = 20.0
only_wine = pytest.mark.skipif(
    not hasattr(ctypes.windll.ntdll, "wine_get_version"), reason="uses switches of the harness's conpty.dll"
)
Open = Callable[[Launch], PtyBackend]


def launch(*argv: str) -> Launch:
    return Launch(join(argv), None, dict(os.environ), 24, 80)


def output(backend: PtyBackend) -> bytes:
    data = b""
    while chunk := backend.read():
        data += chunk
    backend.close()
    return data


def test_structures_have_the_sizes_of_the_headers() -> None:
    for structure, size in pseudo_console_api.SIZES.items():
        assert ctypes.sizeof(structure) == size, structure


def test_this_windows_has_a_pseudo_console() -> None:
    assert windows_build() >= FIRST_BUILD


@only_wine
def test_direct_passes_cut_characters_and_nul_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIM_SPLIT", "1")
    monkeypatch.setenv("SHIM_BIG", "1")
    data = output(open_direct(launch(CMD, "/d", "/c", "exit")))
    assert data.startswith("\u4f60".encode() * 20_000 + "A\u4f60B\0C".encode())


@only_wine
def test_the_class_damages_cut_characters_and_loses_nul(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why it is the second choice. When this fails, pywinpty has become better, and the README may say so."""
    monkeypatch.setenv("SHIM_SPLIT", "1")
    backend, data = open_winpty(launch(CMD, "/d", "/k")), b""
    while b"C" not in data and (more := backend.read()):
        data += more
    backend.close()
    assert data.startswith("A\ufffd\ufffdBC".encode())


@only_wine
@pytest.mark.parametrize("way", [open_direct, open_winpty])
def test_the_start_of_a_current_conpty_is_answered_without_a_terminal(
    way: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHIM_PRELUDE", "1")
    queries = ConsoleQueries(headless=True)
    forward, answer = queries.feed(output(way(launch(CMD, "/d", "/c", "echo done"))))
    assert answer == b"\x1b[?61;22c"
    assert forward.startswith(b"\x1b[1t")
    assert not re.search(rb"\x1b\[c|\x1b\[\?(9001|1004)", forward)


@only_wine
def test_a_console_that_shows_nothing_is_left_for_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIM_MUTE", "1")
    monkeypatch.setattr(choose, "FIRST_OUTPUT_SEC", 0.5)
    backend, reason = open_backend(launch(CMD, "/d", "/k"))
    backend.close()
    assert backend.name == "winpty"
    assert "showed nothing" in reason


def test_a_dll_that_is_not_there_is_left_for_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pseudo_console_api, "DLL", "no-such-conpty.dll")
    backend, reason = open_backend(launch(CMD, "/d", "/c", "exit 6"))
    assert backend.wait(LIMIT_SEC) == 6
    backend.close()
    assert backend.name == "winpty"
    assert "no-such-conpty.dll" in reason


@pytest.mark.parametrize("way", [open_direct, open_winpty])
def test_ctrl_c_is_given_back_to_children_before_one_is_started(way: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """tty7#459, browserland#25: a parent that ignores Ctrl-C made every child ignore it."""
    calls: list[str] = []
    restore = process_api.WindowsProcesses.restore_ctrl_c
    monkeypatch.setattr(
        process_api.WindowsProcesses, "restore_ctrl_c", lambda self: (calls.append("restore"), restore(self))
    )
    with pytest.raises(OSError, match=r"."):
        way(launch("no-such-program-of-ours"))
    assert calls == ["restore"]


@pytest.mark.parametrize(
    "words", [["", "a b", 'say "hi"'], ["C:\\dir\\", "C:\\a b\\", '\\"', 'x\\\\" y'], ["%PATH%", "^&|<>", "\u4f60"]]
)
def test_a_program_gets_the_argv_that_was_meant(words: list[str]) -> None:
    line = join([sys.executable, "-X", "utf8", CHILD, "tell_arguments", *words])
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SEC, check=False)
    assert done.stdout.decode().strip() == f"argv={words!a}."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["/d", "/c", "echo", "a b"], '"a b"'),
        (["/d", "/c", 'echo "a b" & echo "c d"'], '"a b" \r\n"c d"'),
        (["/d", "/c", "echo 1^&2"], "1&2"),
    ],
)
def test_cmd_runs_its_command_as_it_stands(words: list[str], said: str) -> None:
    done = subprocess.run(
        join([CMD, *words]), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SEC, check=False
    )
    assert done.stdout.decode().strip() == said


def test_consoles_that_were_closed_leave_no_handles() -> None:
    def cycle() -> None:
        output(open_direct(launch(CMD, "/d", "/c", "exit")))

    cycle()
    before, rounds = handles(), 5
    for _ in range(rounds):
        cycle()
    deadline = time.monotonic() + LIMIT_SEC
    while handles() >= before + rounds and time.monotonic() < deadline:
        time.sleep(0.05)  # what closing leaves to its thread
    assert handles() < before + rounds
