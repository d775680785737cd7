"""Builds a Windows CPython with our locked packages and a Wine prefix in a directory; does nothing when it is current.

Usage: build.py DIR. Run it with the Python of `.venv`. Invariant: DIR holds a stamp with the hash of everything that
went in, written last; without that stamp, what is in DIR is not used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
LOCK = ROOT / "requirements-test.lock"
STEP_LIMIT_SEC = 600.0  # apt or pip on a slow line; past this they are stuck
DEBIAN_PACKAGES = ("wine64", "wine", "gcc-mingw-w64-x86-64")
COMPILER = "x86_64-w64-mingw32-gcc"
PYTHON = (3, 11)
# The wheel of a game engine, for the Python that it carries in deploy_libs.
PYTHON_WHEEL = "panda3d==1.10.16 --hash=sha256:37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82"
# Of the test dependencies, what runs tests. Linters and type checkers have no business in there.
TEST_TOOLS = {
    "colorama",
    "pytest",
    "pytest-timeout",
    "iniconfig",
    "pluggy",
    "packaging",
    "pygments",
    "hypothesis",
    "sortedcontainers",
}
TARGET = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "python_version": "3.11"}


class HarnessError(Exception):
    """One line for the user: why there is no Wine to test in."""


def run(argv: list[str], **environment: str) -> None:
    """Run a step quietly; on failure quote its last words."""
    try:
        done = subprocess.run(
            argv,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=STEP_LIMIT_SEC,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"{argv[0]}: {error}") from error
    if done.returncode:
        lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
        raise HarnessError(f"{' '.join(argv[:5])}: {lines[-1].strip() if lines else f'exit code {done.returncode}'}")


def install_programs() -> None:
    """Wine and a compiler for Windows, by apt where they are missing."""
    if shutil.which("wine") and shutil.which(COMPILER):
        return
    wanted = " ".join(DEBIAN_PACKAGES)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise HarnessError(f"Wine or the mingw compiler is missing; on Debian or Ubuntu: sudo apt-get install {wanted}")
    print(f"wine: installing {wanted}", file=sys.stderr, flush=True)
    run(["apt-get", "update", "-q"])
    run(
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *DEBIAN_PACKAGES],
        DEBIAN_FRONTEND="noninteractive",
    )


def locked_requirements() -> list[str]:
    """The lines of the lock, hashes and all, that a Windows Python would install to run and to test us."""
    from packaging.markers import default_environment
    from packaging.requirements import Requirement

    environment = {str(name): str(value) for name, value in default_environment().items()} | TARGET
    runtime = {name_of(block) for block in blocks(ROOT / "requirements.lock")}
    found = []
    for block in blocks(LOCK):
        requirement = Requirement(block.split(" \\", 1)[0])
        if name_of(block) not in runtime | TEST_TOOLS:
            continue
        if requirement.marker is None or requirement.marker.evaluate(environment):
            # pip would judge the marker by the Python that runs it
            found.append(re.sub(r" *;[^\\]*", " ", block, count=1))
    return found


def blocks(lock: Path) -> Iterator[str]:
    """Each requirement of a lock file with the lines that belong to it."""
    text = "\n".join(line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#"))
    return (block for block in re.split(r"\n(?=\S)", text) if block.strip())


def name_of(block: str) -> str:
    """The name of the package that a block of a lock file is about."""
    return re.split(r"[=\[ ]", block.strip(), maxsplit=1)[0].lower()


def pip(command: str, requirements: list[str], list_file: Path, *more: str) -> None:
    """pip for the Windows Python: locked wheels only."""
    list_file.write_text("\n".join(requirements) + "\n")
    platform = ["--platform", "win_amd64", "--python-version", "3.11", "--only-binary=:all:", "--no-deps"]
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--require-hashes"]
    run([sys.executable, "-I", "-m", "pip", command, *quiet, *platform, *more, "-r", str(list_file)])


def unpack_python(wheel: Path, target: Path) -> None:
    """The interpreter's DLLs out of the wheel, and beside them the standard library of the Python that runs us."""
    (target / "DLLs").mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            name = os.path.basename(entry)
            if not entry.startswith("deploy_libs/"):
                continue
            if name.lower().startswith(("python3", "vcruntime")):
                (target / name).write_bytes(archive.read(entry))
            elif name.lower().endswith(".pyd") or name.lower().startswith(("libffi", "libcrypto", "libssl", "sqlite3")):
                (target / "DLLs" / name).write_bytes(archive.read(entry))
    unwanted = shutil.ignore_patterns(
        "site-packages", "test", "lib-dynload", "config-*", "__pycache__", "dist-packages"
    )
    shutil.copytree(sysconfig.get_path("stdlib"), target / "Lib", ignore=unwanted)
    (target / "Lib" / "site-packages").mkdir(exist_ok=True)


def compile_programs(python: Path) -> None:
    """Our launcher, and the stand-in for the conpty.dll beside pywinpty."""
    winpty = python / "Lib" / "site-packages" / "winpty"
    os.replace(winpty / "conpty.dll", winpty / "conpty.real.dll")
    run([COMPILER, "-municode", "-O2", "-Wall", "-o", str(python / "python.exe"), str(HERE / "launcher.c")])
    shim = [str(HERE / "conpty_shim.c"), "-Wl,--kill-at"]
    run([COMPILER, "-O1", "-Wall", "-shared", "-o", str(winpty / "conpty.dll"), *shim])
    run([COMPILER, "-O1", "-Wall", "-o", str(winpty / "resizer.exe"), str(HERE / "resizer.c")])


def wine_environment(directory: Path) -> dict[str, str]:
    """What a program under this directory's Wine needs in its environment."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return environment | {
        "HOME": str(directory / "home"),
        "WINEPREFIX": str(directory / "prefix"),
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=d",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
    }


def boot_prefix(directory: Path) -> None:
    """A Wine prefix that says it is Windows 10, with the one DLL that Wine 8 lacks."""
    (directory / "home").mkdir()
    environment = wine_environment(directory)
    run(["wine", "wineboot", "-i"], **environment)
    system = directory / "prefix" / "drive_c" / "windows" / "system32"
    library = ["-o", str(system / "bcryptprimitives.dll"), str(HERE / "bcryptprimitives.c"), "-ladvapi32"]
    run([COMPILER, "-O1", "-Wall", "-shared", *library])
    run(["wine", "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"], **environment)
    run(["wine", str(directory / "py" / "python.exe"), "-c", "import winpty"], **environment)


def inputs_hash() -> str:
    """Identity of all that decides what a build is."""
    digest = hashlib.sha256(f"{ROOT} {sys.version} {PYTHON_WHEEL}".encode())
    for path in sorted([*HERE.glob("*.c"), HERE / "build.py", ROOT / "requirements.lock", LOCK]):
        digest.update(path.read_bytes())
    digest.update(subprocess.run(["wine", "--version"], capture_output=True, check=False).stdout)
    return digest.hexdigest()


@contextlib.contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """One build or run at a time in a directory; the kernel lets go if we are killed."""
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "a+b") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("wine: another run is using this Wine; waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def build(directory: Path) -> None:
    """Bring `directory` up to date. Call it under `exclusive`.

    Raises:
        HarnessError: it cannot be had here, and why.
    """
    if sys.version_info[:2] != PYTHON:
        raise HarnessError(
            "the Windows Python is a 3.11 and takes its library from the Python that runs here; use 3.11"
        )
    install_programs()
    stamp, wanted = directory / "stamp", inputs_hash()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"wine: building a Windows Python in {directory} (about a minute)", file=sys.stderr, flush=True)
    stamp.unlink(missing_ok=True)
    for part in ("py", "prefix", "home"):
        shutil.rmtree(directory / part, ignore_errors=True)
    downloads, python = directory / "download", directory / "py"
    pip("download", [PYTHON_WHEEL], directory / "python.txt", "--dest", str(downloads))
    unpack_python(next(downloads.glob("panda3d-*.whl")), python)
    packages = python / "Lib" / "site-packages"
    pip("install", locked_requirements(), directory / "packages.txt", "--target", str(packages), "--upgrade")
    (packages / "neocode-checkout.pth").write_text(f"Z:{str(ROOT).replace('/', chr(92))}\n")
    compile_programs(python)
    boot_prefix(directory)
    stamp.write_text(wanted)


def main() -> int:
    """Exit code 0, or 2 after one line on stderr."""
    directory = Path(sys.argv[1]).absolute()
    try:
        with exclusive(directory):
            build(directory)
    except (HarnessError, OSError) as error:
        print(f"wine: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
