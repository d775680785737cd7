"""`neocode shell` with cmd.exe, from its start to its exit code: on a pseudo console, on our console, in a script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from console_seat import PATIENCE_SEC, Seat

from conpty import security
from conpty.backend import Launch
from conpty.choose import open_direct
from conpty.command_line import join
from conpty.console_api import Kernel32Console
from neocode.shell.launch import become

CMD = ("shell", "--shell", "cmd.exe")
TELL_SIZES = """
import os, time
seen = None
while seen != (70, 24):
    now = os.get_terminal_size()
    if now != seen:
        print(f"{now[0]}x{now[1]}.", flush=True)
    seen = now
    time.sleep(0.05)
"""


Open = Callable[..., Seat]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[3])
    return {**os.environ, "NEOCODE_HOME": str(tmp_path / "home"), "PYTHONPATH": root, "PYTHONUTF8": "1"}


@pytest.fixture
def shell(environ: dict[str, str]) -> Iterator[Open]:
    """`shell(ARGUMENTS..., NAME=VALUE)`: `neocode` with these arguments on a pseudo console of 30 x 100."""
    seats: list[Seat] = []

    def make(*arguments: str, **more: str) -> Seat:
        line = join([sys.executable, "-m", "neocode", *arguments])
        seats.append(Seat(open_direct(Launch(line, None, {**environ, **more}, 30, 100))))
        return seats[-1]

    yield make
    for seat in seats:
        seat.close()


@pytest.mark.parametrize("way", ["direct", "winpty"])
def test_a_typed_command_shows_its_output_and_the_exit_code_is_the_shells(shell: Open, way: str) -> None:
    seat = shell(*CMD, NEOCODE_CONPTY=way)
    seat.until(">")
    at = seat.type("echo n^é^你")
    seat.until("né你", at)
    seat.type("exit 7")
    assert seat.backend.wait(PATIENCE_SEC) == 7


@pytest.mark.parametrize("code", [0, 259, -1])
def test_exit_codes_are_exact(shell: Open, code: int) -> None:
    seat = shell(*CMD, "--", "/c", "exit", str(code))
    assert seat.backend.wait(PATIENCE_SEC) == code & 0xFFFFFFFF


def test_a_shell_that_is_not_there_is_one_line_and_127(shell: Open) -> None:
    seat = shell("shell", "--shell", r"C:\nowhere\shell.exe")
    assert seat.backend.wait(PATIENCE_SEC) == 127
    seat.until("no such file")


def test_a_windows_that_is_too_old_is_said_and_leaves_the_shell_without_us(environ: dict[str, str]) -> None:
    program = (
        "import sys, conpty.version; conpty.version.windows_build = lambda: 17134;"
        "from neocode.cli.main import main;"
        "sys.exit(main(['shell', '--shell', 'cmd.exe', '--', '/c', 'echo plain & exit -1073741510']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_SEC,
        check=False,
    )
    assert done.returncode == 0xC000013A
    assert done.stdout.strip() == b"plain"
    assert b"build 17134" in done.stderr
    assert b"here is your shell without neocode" in done.stderr


def test_a_plain_shell_has_the_interrupts_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C goes to every process of a console; a Python that takes it would end the shell that it waits for."""
    found: list[object] = []

    def run(line: str, check: bool) -> subprocess.CompletedProcess[bytes]:
        found.extend(signal.getsignal(number) for number in (signal.SIGINT, signal.SIGBREAK))
        return subprocess.CompletedProcess(line, 3)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGBREAK)}
    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(SystemExit) as ended:
        become("C:\\windows\\system32\\cmd.exe", ("cmd.exe",))
    for number, handler in before.items():
        signal.signal(number, handler)
    assert ended.value.code == 3
    assert found == [signal.SIG_IGN] * 2


def test_the_child_sees_the_size_and_every_new_one(shell: Open, tmp_path: Path) -> None:
    program = tmp_path / "sizes.py"
    program.write_text(TELL_SIZES)
    seat = shell(*CMD)
    seat.until(">")
    at = seat.type(f'"{sys.executable}" "{program}"')
    seat.until("100x30.", at)
    seat.backend.resize(24, 70)
    seat.until("70x24.", at)
    seat.type("exit")
    assert seat.backend.wait(PATIENCE_SEC) == 0


def test_the_console_is_left_as_it_was_found(environ: dict[str, str]) -> None:
    """Here the shell runs on the very console that this test has."""
    api = Kernel32Console()
    handles = api.open("CONIN$"), api.open("CONOUT$")
    assert handles[0] is not None
    assert handles[1] is not None
    before = api.mode(handles[0]), api.mode(handles[1]), api.code_pages()
    done = subprocess.run(
        [sys.executable, "-m", "neocode", *CMD, "--", "/c", "exit 6"],
        env=environ,
        timeout=PATIENCE_SEC,
        check=False,
    )
    assert done.returncode == 6
    assert (api.mode(handles[0]), api.mode(handles[1]), api.code_pages()) == before
    for handle in (handles[0], handles[1]):
        api.close(handle)


def test_a_script_is_typed_into_the_shell_and_its_output_can_be_read(tmp_path: Path, environ: dict[str, str]) -> None:
    """By descriptors other than 0 and 1: Wine's pseudo console hands our standard handles to the child."""
    script, output = tmp_path / "script", tmp_path / "output"
    script.write_bytes(b"echo a^b\r\nexit 9\r\n")
    program = (
        "import os, sys; import ptyproxy.platform.windows as w;"
        "w.STDIN = os.open(sys.argv[1], os.O_RDONLY | os.O_BINARY);"
        "w.STDOUT = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_BINARY);"
        "from neocode.cli.main import main; sys.exit(main(['shell', '--shell', 'cmd.exe']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(script), str(output)], env=environ, timeout=PATIENCE_SEC, check=False
    )
    assert done.returncode == 9
    assert b"ab" in output.read_bytes()
    assert b"\x1b[?9001" not in output.read_bytes()


def test_the_sessions_directory_is_the_users_alone_and_gone_afterwards(shell: Open, environ: dict[str, str]) -> None:
    seat = shell(*CMD)
    seat.until(">")
    run = Path(environ["NEOCODE_HOME"]) / "run"
    sessions = list(run.glob("shell-*"))
    assert [security.strangers(str(session)) for session in sessions] == [[]]
    seat.type("exit")
    seat.backend.wait(PATIENCE_SEC)
    assert not list(run.glob("shell-*"))


def test_which_way_into_the_console_was_taken_is_known_to_the_doctor(shell: Open, environ: dict[str, str]) -> None:
    seat = shell(*CMD, NEOCODE_CONPTY="sideways")
    seat.until(">")
    at = seat.type("echo r^eady")  # what looks at the bytes is imported after the prompt
    seat.until("ready", at)
    status = next((Path(environ["NEOCODE_HOME"]) / "run").glob("shell-*")) / "status"
    assert "console=NEOCODE_CONPTY=sideways is neither direct nor winpty" in status.read_text(encoding="utf-8")
    seat.type("exit")
    assert seat.backend.wait(PATIENCE_SEC) == 0
