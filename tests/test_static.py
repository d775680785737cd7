"""The static checks are tests like any other: types on every platform, lint, format, file sizes, rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("ringbuffer", "conpty", "ptyproxy", "neocode")
MAX_LINES = 300
# who may import whom (architecture.md, "Rooms"); a room may always import itself
ALLOWED_IMPORTS = {
    "ringbuffer": set(),
    "conpty": set(),
    "ptyproxy": {"ringbuffer", "conpty"},
    "neocode": {"ringbuffer", "conpty", "ptyproxy"},
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-m", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_types_hold_on(platform: str) -> None:
    # a cache per platform: one that was made for another is thrown away, and each check would take half a minute
    cache = ROOT / ".mypy_cache" / platform
    done = run("mypy", "--strict", "--platform", platform, "--cache-dir", str(cache))
    assert done.returncode == 0, done.stdout + done.stderr


def test_lint_is_clean() -> None:
    done = run("ruff", "check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_format_is_clean() -> None:
    done = run("ruff", "format", "--check", "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_are_small() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    ]
    assert long == []


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_import_only_what_the_architecture_allows(package: str) -> None:
    forbidden = set(PACKAGES) - ALLOWED_IMPORTS[package] - {package}
    found = []
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            found += [f"{path.relative_to(ROOT)}: {name}" for name in names if name.split(".")[0] in forbidden]
    assert found == []
