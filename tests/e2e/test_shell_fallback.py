"""Nobody is left without a shell: what of ours is broken, and the plain shell that starts in its place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import NEOCODE
from seat import SHELL_PROMPT, Home

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

WITHOUT = "here is your shell without neocode"


def in_plain_shell(home: Home) -> str:
    """The one line above the plain shell's prompt; the shell works and ends with its own status."""
    with home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        printed = bytes(seat.raw).decode()
        assert len([line for line in printed.splitlines() if line.startswith("neocode: ")]) == 1
        assert WITHOUT in printed
        seat.type("greet; echo session=[$NEOCODE_SHELL_SESSION]; exit 9\r")
        seat.until_shown("session=[]")
        seat.until_shown("hello from an alias")
        assert seat.status() == 9
        return printed


def test_a_home_that_cannot_be_written(shell_home: Home) -> None:
    shell_home.env["NEOCODE_HOME"] = "/proc/neocode"
    assert "cannot make the directory /proc/neocode" in in_plain_shell(shell_home)


def test_a_file_in_the_place_of_the_home(shell_home: Home) -> None:
    shell_home.dir.write_text("")
    assert "Not a directory" in in_plain_shell(shell_home)
    shell_home.dir.unlink()


def test_a_configuration_that_is_not_yaml_or_has_a_wrong_value(shell_home: Home) -> None:
    config = shell_home.dir / "config.yaml"
    config.parent.mkdir()
    for text, words in ((": : [\n", "config.yaml"), ("shell:\n  hotkey: F13\n", "shell.hotkey")):
        config.write_text(text)
        assert words in in_plain_shell(shell_home)


def test_a_full_disk(shell_home: Home) -> None:
    """A limit on the size of files fails every write of ours, and needs no right."""
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)  # everything of ours exists
    program = """if True:
        import os, resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        os.execv(sys.argv[1], sys.argv[1:])
    """
    command = [sys.executable, "-c", program, sys.executable, "-I", "-m", "neocode", "shell", "--shell", "/bin/sh"]
    done = subprocess.run(
        [*command, "--", "-c", "exit 11"],
        check=False,
        env=shell_home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 11
    assert len(done.stderr.splitlines()) == 1
    assert WITHOUT.encode() in done.stderr
    assert list(Path(shell_home.dir, "run").glob("shell-*")) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs to mount")
def test_a_file_system_without_room(shell_home: Home) -> None:
    shell_home.dir.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "none", str(shell_home.dir)], check=False
    )
    if mounted.returncode:
        pytest.skip("mounting is not allowed")
    try:
        (shell_home.dir / "filler").write_bytes(b"")
        assert "No space left on device" in in_plain_shell(shell_home)
    finally:
        subprocess.run(["umount", str(shell_home.dir)], check=True)


def test_a_read_only_file_system_under_a_running_shell_costs_it_nothing(shell_home: Home) -> None:
    """The orders for the widget cannot be written: the words come above the next prompt instead."""
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        session = next(Path(shell_home.dir, "run").glob("shell-*"))
        for name in ("show", "line"):
            (session / f".{name}.new").mkdir()
        seat.run("ech once")
        seat.until(lambda: (seat.run("true"), any("named ech" in row for row in seat.scrollback()))[1], "the answer")
        seat.run("echo fine")


@pytest.mark.parametrize(
    ("shell", "code"),
    [("/nonexistent/shell", 127), ("no-such-shell-anywhere", 127), ("/etc", 126), ("/etc/passwd", 126)],
)
def test_a_shell_that_cannot_be_run_is_one_line_and_nothing_else_starts(home: Home, shell: str, code: int) -> None:
    done = home.run("shell", "--shell", shell, "--", "-c", "echo started")
    assert (done.returncode, done.stdout) == (code, "")
    assert len(done.stderr.splitlines()) == 1
    assert shell in done.stderr


def test_a_working_directory_that_was_removed(home: Home, tmp_path: Path) -> None:
    program = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", program, "sh", *NEOCODE, "shell", "--shell", "/bin/sh", "--", "-c", "exit 6"],
        cwd=tmp_path,
        env=home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 6


def test_a_script_for_an_interpreter_that_is_missing(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "shell"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = home.run("shell", "--shell", str(script))
    assert (done.returncode, done.stdout) == (127, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_broken_shell_variable_leads_to_the_password_database(home: Home) -> None:
    done = home.run("shell", "--", "-c", "echo alive", env={"SHELL": "/nonexistent/shell"})
    assert done.returncode == 0
    assert "alive" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("zsh",), "--shell"),
        (("--frobnicate",), "unrecognized"),
        (("--shell",), "expected one argument"),
        (("--init", "tcsh"), "invalid choice"),
    ],
)
def test_a_wrong_command_line_starts_nothing(home: Home, arguments: tuple[str, ...], words: str) -> None:
    done = home.run("shell", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_script_that_can_be_sourced_is_printed_and_does_nothing_outside(home: Home) -> None:
    script = home.run("shell", "--init", "bash").stdout
    assert "7781;neocode" in script
    done = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            "set -eu; . /dev/stdin; echo alive; type -t __neocode_precmd || echo none",
        ],
        input=script,
        check=False,
        capture_output=True,
        text=True,
        env=home.env,
        timeout=30,
    )
    assert done.stdout == "alive\nnone\n"
    assert done.stderr == ""
