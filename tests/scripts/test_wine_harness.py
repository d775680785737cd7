"""What `scripts/test --wine` makes of its arguments, of the lock files and of pytest's exit codes, without Wine."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

if sys.platform == "win32":
    pytest.skip("Windows needs no Wine", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "tests" / "windows" / "wine" / "harness"
Load = Callable[[Path], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a file of the harness as the module that it is there."""
    monkeypatch.syspath_prepend(str(HARNESS))

    def module(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        return loaded

    return module


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([0, 0], 0), ([0, 5], 0), ([5, 0], 0), ([5, 5], 5), ([0, 1], 1), ([124, 0], 124), ([5, -11], -11), ([4, 4], 4)],
)
def test_one_failure_or_no_success_at_all_is_red(load: Load, codes: list[int], expected: int) -> None:
    assert load(HARNESS / "run_suite.py").verdict(codes) == expected


def test_the_windows_python_gets_what_the_lock_names_for_windows(load: Load) -> None:
    lines = load(HARNESS / "build.py").locked_requirements()
    names = [line.split("==")[0] for line in lines]
    assert {"pywinpty", "colorama", "pytest", "hypothesis", "openai", "psutil"} <= set(names)
    assert not {"ptyprocess", "tomli", "mypy", "ruff", "xllamacpp"} & set(names)
    assert len(names) == len(set(names))
    assert all("--hash=sha256:" in line and ";" not in line for line in lines)


def test_a_wine_that_cannot_be_had_is_one_line_and_no_success(tmp_path: Path) -> None:
    """Without the programs, and without an apt-get to install them."""
    done = subprocess.run(
        [sys.executable, "-sE", str(HARNESS / "run_suite.py"), str(tmp_path / "wine")],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "3.11" in done.stderr if sys.version_info[:2] != (3, 11) else "apt-get install" in done.stderr


def test_wine_in_front_means_the_harness(load: Load) -> None:
    runner = load(ROOT / "scripts" / "run_tests.py")
    command = runner.command
    assert command(["--wine", "-k", "x"])[1:] == [str(HARNESS / "run_suite.py"), str(ROOT / ".wine"), "-k", "x"]
    assert command(["-k", "x"]) == ["-I", "-m", "pytest", "-k", "x"]
    assert "--cov" in command([])
