"""`scripts/neocode` sets itself up once, whatever happens to it meanwhile. Real venvs, from an empty lock file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform == "win32", reason="the .cmd twins have their own test"),
]
SCRIPTS = ("neocode", "setup.sh", "setup.py")
MAIN = "import os, sys\nprint('ran', *sys.argv[1:])\nprint(os.environ.get('VIRTUAL_ENV'), os.environ['PATH'])\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose lock files are empty and whose `neocode` only says that it ran."""
    root = tmp_path / "check out"  # a path with a space
    (root / "scripts").mkdir(parents=True)
    for name in SCRIPTS:
        shutil.copy2(ROOT / "scripts" / name, root / "scripts" / name)
    (root / "requirements.lock").write_text("")
    (root / "requirements-test.lock").write_text("# test\n")
    (root / "neocode").mkdir()
    (root / "neocode" / "__init__.py").write_text("")
    (root / "neocode" / "__main__.py").write_text(MAIN)
    return root


def start(checkout: Path, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(checkout / "scripts" / "neocode"), *arguments],
        cwd=cwd or checkout,
        env={**os.environ, "NEOCODE_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def leftovers(checkout: Path) -> list[str]:
    return [path.name for path in checkout.glob(".venv.*") if path.name != ".venv.lock"]


def test_the_first_run_sets_up_and_later_runs_only_after_a_change(checkout: Path, tmp_path: Path) -> None:
    """Nothing is activated, and neither the first run nor a later one imports what lies in the current directory."""
    trap = tmp_path / "trap"
    (trap / "neocode").mkdir(parents=True)
    (trap / "neocode" / "__main__.py").write_text("print('trapped')")
    (trap / "os.py").write_text("raise SystemExit('trapped')")
    link = tmp_path / "link"
    link.symlink_to(checkout / "scripts" / "neocode")
    first, later = (
        subprocess.run([link, "one", "two words"], cwd=trap, capture_output=True, text=True, timeout=120, check=True)
        for _ in range(2)
    )
    assert first.stdout.splitlines() == ["ran one two words", f"None {os.environ['PATH']}"]
    assert "first use" in first.stderr
    assert (later.stdout, later.stderr) == (first.stdout, "")
    assert leftovers(checkout) == []
    for command in (["../scripts/neocode"], ["/bin/sh", "neocode"]):  # later runs need no program from the PATH
        cwd = checkout / ("neocode" if len(command) == 1 else "scripts")
        done = subprocess.run(command, cwd=cwd, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
        assert (done.stdout.splitlines()[:1], done.stderr) == (["ran"], "")
    _expect_set_up_after_a_change_only(checkout)


def _expect_set_up_after_a_change_only(checkout: Path) -> None:
    """A lock file that was merely touched sets nothing up."""
    lock = checkout / "requirements.lock"
    later = time.time() + 100
    os.utime(lock, (later, later))
    _, err = start(checkout).communicate(timeout=30)
    assert "first use" not in err
    lock.write_text("# changed\n")
    os.utime(lock, (later + 100, later + 100))
    out, err = start(checkout).communicate(timeout=120)
    assert "first use" in err
    assert out.splitlines()[0] == "ran"


def test_a_killed_set_up_is_taken_up_by_the_next_runs_of_which_one_builds(checkout: Path) -> None:
    process = start(checkout)
    deadline = time.monotonic() + 60
    while not any(checkout.glob(".venv.new-*/pyvenv.cfg")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)  # polling for an outside event, not synchronising with our own code
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert leftovers(checkout) != []
    runs = [start(checkout, str(number)) for number in range(3)]
    results = [process.communicate(timeout=150) for process in runs]
    assert [out.splitlines()[0] for out, _ in results] == ["ran 0", "ran 1", "ran 2"]
    assert sum("first use" in err for _, err in results) == 1
    assert leftovers(checkout) == []


def test_a_failing_install_is_one_line_and_leaves_nothing(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text("no-such-package==1 --hash=sha256:" + "0" * 64 + "\n")
    process = subprocess.run(
        [checkout / "scripts" / "neocode"],
        env={**os.environ, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 2  # the notice and the error
    assert "set-up failed" in process.stderr
    assert "pip's own settings" in process.stderr
    assert leftovers(checkout) == []
    assert not (checkout / ".venv").exists()
