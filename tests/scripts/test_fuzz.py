"""The fuzzer finds nothing, says what it did, and would notice a parser whose events depend on the cut."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ptyproxy.stream.scan import Scanner, Token

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fuzz.py"


@pytest.fixture
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_under_test", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_short_run_finds_no_fault() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), "1000", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("1000 sequences, no fault")


def test_the_same_seed_gives_the_same_stream(fuzz: ModuleType) -> None:
    one, two, other = (fuzz.stream_of(fuzz.OUTPUT_PIECES, fuzz.random.Random(seed)) for seed in (3, 3, 4))
    assert one == two != other


def test_a_parser_that_forgets_what_a_read_ended_in_is_found(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = Scanner.feed

    def forgetful(self: Scanner, data: bytes) -> list[Token]:
        tokens = honest(self, data)
        self._carry = b""
        return tokens

    monkeypatch.setattr(Scanner, "feed", forgetful)
    monkeypatch.setattr(sys, "argv", ["fuzz", "500"])
    assert fuzz.main() == 1
    assert "again: scripts/fuzz 1 --exact --seed" in capsys.readouterr().out
