"""Which backend is taken, when it falls back, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conpty import choose
from conpty.backend import Launch, PtyBackend
from conpty.choose import Ways, open_backend
from conpty.direct import DirectBackend
from conpty.winpty_pty import WinptyBackend

if sys.platform == "win32":
    pytest.skip("the fakes need a Unix pty", allow_module_level=True)

from windows_fakes import FakeConsoles, FakeWinpty

CHILD = str(Path(__file__).resolve().parent.parent / "support" / "pty_child.py")
LIMIT_SEC = 20.0


def launch(*words: str) -> Launch:
    return Launch(subprocess.list2cmdline([sys.executable, CHILD, *words]), None, dict(os.environ), 24, 80)


class Fakes:
    """Both ways, over fakes; `direct_error` instead of a console."""

    def __init__(self, direct_error: OSError | None = None, mute: bool = False) -> None:
        self.consoles, self.module = FakeConsoles(mute=mute), FakeWinpty()
        self.direct_error = direct_error
        self.winpty_error: OSError | None = None
        self.ways = Ways(self.direct, self.winpty)

    def direct(self, wanted: Launch) -> DirectBackend:
        if self.direct_error is not None:
            raise self.direct_error
        return DirectBackend(self.consoles, wanted)

    def winpty(self, wanted: Launch) -> PtyBackend:
        if self.winpty_error is not None:
            raise self.winpty_error
        return WinptyBackend(self.module, self.module.processes, wanted)


def first_words(backend: PtyBackend) -> bytes:
    try:
        return backend.read()
    finally:
        backend.close()


@pytest.mark.parametrize(("forced", "name"), [("", "direct"), ("direct", "direct"), ("winpty", "winpty")])
def test_direct_is_the_default_and_either_can_be_forced(forced: str, name: str) -> None:
    backend, reason = open_backend(launch("wait"), forced, Fakes().ways)
    assert (backend.name, reason) == (name, "")
    assert first_words(backend) == b"ready.\r\n"  # which choosing had read already


def test_a_word_that_means_neither_is_told_and_nothing_else_changes() -> None:
    backend, reason = open_backend(launch("wait"), "conhost", Fakes().ways)
    backend.close()
    assert backend.name == "direct"
    assert reason == "NEOCODE_CONPTY=conhost is neither direct nor winpty"


def test_a_dll_that_cannot_be_loaded_means_the_class_and_a_word_about_it() -> None:
    backend, reason = open_backend(launch("wait"), "", Fakes(OSError("conpty.dll: not a valid image")).ways)
    assert backend.name == "winpty"
    assert "conpty.dll: not a valid image" in reason
    assert "\n" not in reason
    assert first_words(backend) == b"ready.\r\n"


def test_a_console_that_shows_nothing_is_ended_and_the_class_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """microsoft/terminal#17822: a console that waits for an answer to its first query shows nothing."""
    monkeypatch.setattr(choose, "FIRST_OUTPUT_SEC", 0.2)
    fakes = Fakes(mute=True)
    backend, reason = open_backend(launch("wait"), "", fakes.ways)
    assert backend.name == "winpty"
    assert "showed nothing" in reason
    process = fakes.consoles.opened[0]._process
    assert process is not None
    assert not process.is_alive()
    assert first_words(backend) == b"ready.\r\n"


def test_a_forced_direct_console_is_not_left_for_the_other() -> None:
    with pytest.raises(OSError, match="broken"):
        open_backend(launch("wait"), "direct", Fakes(OSError("broken")).ways)
    backend, reason = open_backend(launch("wait"), "direct", Fakes(mute=True).ways)
    backend.close()
    assert (backend.name, reason) == ("direct", "")


@pytest.mark.parametrize("error", [FileNotFoundError, PermissionError])
def test_a_program_that_cannot_be_run_is_not_tried_twice(error: type[OSError]) -> None:
    fakes = Fakes(error("cmd2.exe"))
    with pytest.raises(error):
        open_backend(launch("wait"), "", fakes.ways)
    assert not fakes.module.processes.by_handle


def test_when_neither_works_both_reasons_are_told() -> None:
    fakes = Fakes(OSError("no dll"))
    fakes.winpty_error = OSError("no class")
    with pytest.raises(OSError, match=r"no dll.*no class"):
        open_backend(launch("wait"), "", fakes.ways)


def test_elsewhere_there_is_nothing_to_open() -> None:
    with pytest.raises(OSError, match="no pseudo console"):
        open_backend(launch("wait"))
