"""Builds `.venv` from a lock file: under a lock, beside the old one, renamed when whole, safe to kill at any point.

Usage: setup.py run|test. `test` is `run` plus the test dependencies. Standard library only: nothing of ours is
installed yet. Each level leaves a stamp file in the venv that holds the hash of its lock file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCKS = {"run": ROOT / "requirements.lock", "test": ROOT / "requirements-test.lock"}
WAIT_LIMIT_SEC = 900.0  # another set-up on a slow line; past this it is stuck
# pip settings of the user that would put the packages somewhere else than into our venv
FOREIGN_PIP_SETTINGS = (
    "PIP_USER",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_REQUIRE_VIRTUALENV",
    "PYTHONHOME",
)


class SetupError(Exception):
    """One line for the user."""


def stamp(venv: Path, level: str) -> Path:
    """The file in `venv` that says for which lock file it was built."""
    return venv / f".neocode-{level}"


def lock_hash(level: str) -> str:
    """Identity of a level's lock file, and of the interpreter that built with it."""
    return hashlib.sha256(LOCKS[level].read_bytes()).hexdigest()


def python_of(venv: Path) -> Path:
    """The venv's interpreter."""
    return venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def is_current(level: str) -> bool:
    """Whether `.venv` works and was built from the present lock file."""
    try:
        return stamp(VENV, level).read_text() == lock_hash(level) and os.access(python_of(VENV), os.X_OK)
    except OSError:
        return False


def level_to_build(wanted: str) -> str:
    """A venv that has the test dependencies keeps them when it is rebuilt."""
    return "test" if wanted == "test" or stamp(VENV, "test").exists() else "run"


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an advisory lock on `path`; the kernel lets it go if we are killed."""
    with open(path, "a+b") as handle:
        deadline = time.monotonic() + WAIT_LIMIT_SEC
        told = False
        while not try_lock(handle.fileno()):
            if not told:
                print("neocode: another set-up is running here; waiting for it", file=sys.stderr, flush=True)
                told = True
            if time.monotonic() > deadline:
                raise SetupError("another set-up has been running for 15 minutes; end it and run this again")
            time.sleep(0.2)
        yield


if sys.platform == "win32":
    import msvcrt

    def try_lock(fd: int) -> bool:
        """Take the lock if it is free."""
        try:
            os.lseek(fd, 0, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(fd: int) -> bool:
        """Take the lock if it is free."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def run(argv: list[str]) -> None:
    """Run a step quietly; on failure quote its last words."""
    env = {name: value for name, value in os.environ.items() if name not in FOREIGN_PIP_SETTINGS}
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    try:
        done = subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise SetupError(f"cannot run {argv[0]}: {error.strerror}") from error
    if done.returncode:
        lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
        last = lines[-1].strip() if lines else f"exit code {done.returncode}"
        if "ensurepip" in done.stdout.decode(errors="replace"):
            last += " (on Debian and Ubuntu: sudo apt install python3-venv)"
        if "pip" in argv:
            last += " (packages come from the network or from where pip's own settings point)"
        raise SetupError(f"set-up failed: {last}")


def build(level: str, venv: Path) -> None:
    """A whole venv at `venv`. It will be renamed, so nothing in it may be called by its script's path."""
    run([sys.executable, "-I", "-m", "venv", str(venv)])
    python = str(python_of(venv))
    lock = str(LOCKS[level])
    run([python, "-I", "-m", "pip", "install", "--quiet", "--no-input", "--require-hashes", "-r", lock])
    site = subprocess.check_output(
        [python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    Path(site, "neocode-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    for name in ("run", "test") if level == "test" else ("run",):
        stamp(venv, name).write_text(lock_hash(name))


def sweep() -> None:
    """Remove what killed set-ups left. Only called under the lock, so none of it is in use as a target."""
    if not VENV.exists():
        for old in ROOT.glob(".venv.old-*"):  # killed between the two renames: the old one is still whole
            os.rename(old, VENV)
            break
    for pattern in (".venv.new-*", ".venv.old-*"):
        for leftover in ROOT.glob(pattern):
            shutil.rmtree(leftover, ignore_errors=True)


def set_up(wanted: str) -> None:
    """Bring `.venv` to `wanted`; does nothing when another process just did."""
    with exclusive(ROOT / ".venv.lock"):
        if is_current(wanted):
            newest = max(time.time(), LOCKS[wanted].stat().st_mtime)
            os.utime(stamp(VENV, wanted), (newest, newest))  # the launcher compares times, we compare hashes
            return
        sweep()
        level = level_to_build(wanted)
        print(f"neocode: first use, setting up {VENV} (about half a minute)", file=sys.stderr, flush=True)
        fresh, old = ROOT / f".venv.new-{os.getpid()}", ROOT / f".venv.old-{os.getpid()}"
        try:
            build(level, fresh)
            if VENV.exists() or VENV.is_symlink():
                os.rename(VENV, old)
            os.rename(fresh, VENV)
        finally:
            for leftover in (fresh, old):
                shutil.rmtree(leftover, ignore_errors=True)


def main() -> int:
    """Exit code 0, or 2 after one line on stderr."""
    try:
        set_up(sys.argv[1])
    except SetupError as error:
        print(f"neocode: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"neocode: set-up failed: {error.filename or ROOT}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("neocode: set-up interrupted; the next run starts it again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
