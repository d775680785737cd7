"""`neocode diag` end to end as a Windows process: arguments, pipes, files, code pages, batch files; offline rules."""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neocode.cli.windows_console import code_page, encoding_of
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.lifecycle import stop_daemon

NEOCODE = [sys.executable, "-I", "-m", "neocode"]
REPO = Path(__file__).resolve().parents[3]
LOG = "npm ERR! code ECONNREFUSED\r\nnpm ERR! connect ECONNREFUSED 127.0.0.1:4873\r\n"
NOT_FOUND = "'kücheng' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n"
EXIT_READER_GONE = 141
RECORD = (
    "npm.cmd : npm ERR! code ECONNREFUSED\r\nAt line:1 char:1\r\n+ npm install 2>&1 > log\r\n+ ~~~~~~~~~\r\n"
    "    + CategoryInfo          : NotSpecified: (npm ERR! code ECONNREFUSED:String) [], RemoteException\r\n"
    "    + FullyQualifiedErrorId : NativeCommandError\r\n \r\n"
    "npm ERR! connect ECONNREFUSED 127.0.0.1:4873\r\n"
)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home and a gateway of these tests' own."""
    directory = tmp_path_factory.mktemp("home") / ".neocode"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEOCODE_HOME", str(directory))
        patch.delenv("NEOCODE_GATEWAY", raising=False)
        yield directory
        asyncio.run(stop_daemon(resolve_endpoint()))


def neocode(*arguments: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """`neocode ARGUMENTS`; standard input is the null device unless given."""
    return subprocess.run(
        [*NEOCODE, *arguments],
        stdin=subprocess.DEVNULL if stdin is None else None,
        input=stdin,
        capture_output=True,
        timeout=40,
        check=False,
    )


def shown(done: subprocess.CompletedProcess[bytes]) -> str:
    """What it printed, as `more` or PowerShell would read it."""
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode(encoding_of(code_page())).replace("\r\n", "\n")


def test_every_way_in_and_every_encoding_gets_the_same_answer(tmp_path: Path) -> None:
    expected = shown(neocode("diag", "--error-log", LOG))
    assert "127.0.0.1:4873" in expected
    assert "## Fix" in expected
    assert "offline" in expected.splitlines()[-1]
    assert "\x1b" not in expected
    log = tmp_path / "build.log"
    wide = codecs.BOM_UTF16_LE + RECORD.encode("utf-16-le")  # 5.1: npm install 2>&1 > log
    log.write_bytes(wide)
    assert shown(neocode("diag", "--file", str(log))) == expected
    assert shown(neocode("diag", stdin=LOG.encode())) == expected


def test_a_log_in_the_consoles_code_page_comes_back_in_it() -> None:
    said = shown(neocode("diag", stdin=NOT_FOUND.encode(encoding_of(code_page()))))
    assert "kücheng" in said


def test_json_is_ascii_in_a_code_page_and_whole_whatever_is_in_it() -> None:
    done = neocode("diag", "--json", "--error-log", NOT_FOUND.replace("kücheng", "kücheng😀"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii() or encoding_of(code_page()) == "utf-8"
    assert "kücheng😀" in json.loads(done.stdout)["root_cause"]


def test_a_windows_that_is_too_old_for_a_shell_diagnoses_a_log_all_the_same() -> None:
    program = (
        "import sys, conpty.version; conpty.version.windows_build = lambda: 17134;"
        "from neocode.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "diag", "--error-log", LOG],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=40,
        check=False,
    )
    assert "127.0.0.1:4873" in shown(done)


def test_nothing_on_standard_input_is_no_log_and_no_shell_is_one_line() -> None:
    for stdin in (None, b""):
        done = neocode("diag", stdin=stdin)
        assert (done.returncode, done.stdout) == (3, b"")
        assert done.stderr.startswith(b"neocode: no neocode shell is running")
        assert done.stderr.count(b"\n") == 1


def test_a_reader_that_has_enough_ends_it_without_a_word() -> None:
    process = subprocess.Popen(
        [*NEOCODE, "diag", "--error-log", LOG],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    words = process.stderr.read()
    assert (process.wait(30), words) == (EXIT_READER_GONE, b"")
    process.stderr.close()


def test_the_doctor_finds_the_files_the_users_alone() -> None:
    done = neocode("doctor")
    lines = {line.split()[1]: line.split()[0] for line in done.stdout.decode().splitlines() if line[:1].strip()}
    broken = [line for line in done.stdout.decode().splitlines() if line.startswith("broken")]
    # SQLite makes these two, and Wine, unlike Windows, does not hand down what the directory says of its files
    assert [line for line in broken if "ask.db-wal" not in line and "ask.db-shm" not in line] == []
    assert lines["token"] == lines["store"] == lines["gateway"] == "ok", done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in a path with a space; its `.venv` holds this Python, with the real one's libraries."""
    root = tmp_path_factory.mktemp("work") / "neo code"
    shutil.copytree(REPO / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__", "*_lib"))
    copy_python(root / ".venv" / "Scripts")
    (root / ".venv" / ".neocode-run").touch()
    return root


def copy_python(scripts: Path) -> Path:
    """This Python in `scripts`, as the interpreter of a virtual environment around it that sees our packages."""
    base = Path(sys.base_prefix)
    scripts.mkdir(parents=True)
    for pattern in ("python.exe", "python3*.dll", "vcruntime140*.dll"):
        for source in base.glob(pattern):
            shutil.copy(source, scripts)
    settings = f"home = {base}\ninclude-system-site-packages = true\n"
    (scripts.parent / "pyvenv.cfg").write_text(settings, encoding="utf-8")
    return scripts / "python.exe"


def cmd(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`words` as CMD runs them in `cwd`."""
    return subprocess.run(
        ["cmd.exe", "/d", "/c", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=40,
        check=False,
    )


def test_a_log_is_typed_into_neocode_cmd(checkout: Path) -> None:
    (checkout / "build.log").write_bytes(LOG.encode())
    (checkout / "line.cmd").write_bytes(b"@echo off\r\ntype build.log | scripts\\neocode.cmd diag --json\r\n")
    done = cmd("line.cmd", cwd=checkout)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "4873" in json.loads(done.stdout)["root_cause"]


def test_neocode_cmd_hands_on_arguments_and_exit_codes(checkout: Path) -> None:
    done = cmd(r"scripts\neocode", "diag", "auto", "per & haps", cwd=checkout)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"neocode: 'auto per & haps' is not understood")


@pytest.mark.parametrize("how", ["NEOCODE_PYTHON", "quoted", "PATH"])
def test_setup_finds_a_python_and_hands_on_its_exit_code(checkout: Path, tmp_path: Path, how: str) -> None:
    python = copy_python(tmp_path / "a venv" / "Scripts")
    (tmp_path / "scripts").mkdir()
    shutil.copy(checkout / "scripts" / "setup.cmd", tmp_path / "scripts")
    (tmp_path / "scripts" / "setup.py").write_text("import sys; print(sys.executable, sys.argv[1:]); sys.exit(5)")
    chosen = {
        "NEOCODE_PYTHON": {"NEOCODE_PYTHON": str(python)},
        "quoted": {"NEOCODE_PYTHON": f'"{python}"'},
        "PATH": {"PATH": f"{python.parent};{os.environ['PATH']}"},
    }[how]
    done = cmd(r"scripts\setup.cmd", "test", cwd=tmp_path, **chosen)
    assert (done.returncode, done.stderr) == (5, b"")
    assert done.stdout.decode().strip() == f"{python} ['test']"


def test_setup_without_a_python_says_what_to_do(checkout: Path) -> None:
    done = cmd(r"scripts\setup.cmd", "run", cwd=checkout, PATH=os.environ["SYSTEMROOT"] + r"\system32")
    assert done.returncode == 2
    assert b"no Python 3.10 or newer was found" in done.stderr
