"""The fuzzer's real terminal: whole streams pass, and a byte that is changed on the way is found."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
OUTPUT = b"\x1b[31mred\x1b[0m\r\n\x1b]133;C\x07" * 50
TAP = "from ptyproxy.tap import ShellTap as T\n"
SCANNER = "from ptyproxy.stream.scan import Scanner as S\n"


@pytest.fixture
def pty_run(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("fuzz_lib.pty_run")


def with_proxy(pty_run: ModuleType, monkeypatch: pytest.MonkeyPatch, directory: Path, fault: str) -> None:
    """Put a proxy in the place of the fuzzer's that is like it but for `fault`."""
    for name in ("pty_proxy", "pty_child"):
        script = SCRIPTS / "fuzz_lib" / f"{name}.py"
        first = fault if name == "pty_proxy" else ""
        text = f"import runpy\n{first}\nrunpy.run_path({os.fspath(script)!r}, run_name='__main__')\n"
        (directory / f"{name}.py").write_text(text)
    monkeypatch.setattr(pty_run, "HERE", directory)


def test_some_sequences_go_through_a_terminal_each_way() -> None:
    command = [sys.executable, "-I", str(SCRIPTS / "fuzz.py"), "50", "--pty", "300", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "300 each way through a real terminal, no byte changed"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("", None),
        (TAP + "T.divide = lambda tap, data: (data.replace(b'red', b'rad'), b'', b'')", "output: at byte"),
        (TAP + "T.input = lambda tap, data: data.replace(b'q', b'Q')", "input: "),
        (TAP + "T.tick = lambda tap: 1 / 0", "the tap: 0 faults, ZeroDivisionError"),
        (SCANNER + "S.feed = lambda scanner, data: [] if len(data) < 9 else 1 / 0", "the tap: [1-9]"),
    ],
    ids=["none", "output", "input", "tick", "capture"],
)
def test_a_byte_or_a_tap_that_is_lost_is_found(
    pty_run: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, told: str | None
) -> None:
    with_proxy(pty_run, monkeypatch, tmp_path, fault)
    if told is None:
        pty_run.check(OUTPUT, b"\x1b[Atyped q")
        return
    with pytest.raises(AssertionError, match=told):
        pty_run.check(OUTPUT, b"\x1b[Atyped q")
