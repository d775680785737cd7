"""A shell inside is what a shell outside would be: everything a process inherits is compared with a plain start."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outer import PATIENCE_SEC, RUNNER, Outer

TELL = """
import json, os, resource, signal, sys, termios, fcntl, struct
fields = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
stat = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
fds = {}
for name in os.listdir("/proc/self/fd"):
    try: link = os.readlink("/proc/self/fd/" + name)
    except OSError: continue
    if not link.startswith("/proc/"): fds[name] = "tty" if link.startswith("/dev/pts/") else link
tty = os.open("/dev/tty", os.O_RDWR)
umask = os.umask(0)
told = {
    "argv": open("/proc/self/cmdline", "rb").read().decode("latin-1"),
    "environ": sorted(open("/proc/self/environ", "rb").read().decode("latin-1").split("\\0")),
    "signals": {name: fields[name] for name in ("SigBlk", "SigIgn", "SigCgt", "ShdPnd", "SigPnd")},
    "threads": fields["Threads"], "nice": stat[16], "umask": umask,
    "leader": [os.getpid() == os.getsid(0), os.getpid() == os.getpgrp(), os.tcgetpgrp(0) == os.getpgrp()],
    "fds": fds, "ttys": [os.isatty(n) for n in (0, 1, 2)], "flags": [fcntl.fcntl(n, fcntl.F_GETFL) for n in (0, 1, 2)],
    "tty": os.ttyname(0) == os.ttyname(1) == os.ttyname(2), "opens": os.isatty(tty),
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name[:7] == "RLIMIT_"},
    "termios": repr(termios.tcgetattr(0)), "size": struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, b"0" * 8)),
    "cwd": os.getcwd(), "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getgroups()],
}
open(sys.argv[1], "w").write(json.dumps(told))
"""
TELL_ARGV = ["-I", "-S", "-c", TELL]


def told_by(command: list[str], file: Path, **options: Any) -> dict[str, Any]:
    """What the program saw that `command` ran, and that it ended well."""
    with Outer(command, **options) as outer:
        said = outer.finish()
        assert outer.process.wait() == 0, said
    told: dict[str, Any] = json.loads(file.read_text())
    file.unlink()
    return told


def compare(tmp_path: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(plain, through us) of the same start."""
    file = tmp_path / "told"
    plain = told_by([sys.executable, *TELL_ARGV, str(file)], file, **options)
    ours = told_by([*RUNNER, sys.executable, sys.executable, *TELL_ARGV, str(file)], file, **options)
    return plain, ours


def test_nothing_differs_from_a_plain_start(tmp_path: Path) -> None:
    plain, ours = compare(tmp_path, size=(33, 77, 700, 500))
    assert ours == plain


ENVIRONMENTS: dict[str, dict[bytes, bytes]] = {
    "the C locale": {b"LC_ALL": b"C"},
    "no locale": {},
    "LANG=C": {b"LANG": b"C"},
    "POSIX with LC_CTYPE": {b"LANG": b"POSIX", b"LC_CTYPE": b"C"},
    "a UTF-8 LC_CTYPE": {b"LANG": b"C", b"LC_CTYPE": b"C.UTF-8"},
    "a UTF-8 locale": {b"LANG": b"C.UTF-8"},
    "an unknown locale": {b"LANG": b"xx_YY.UTF-8"},
    "values that are no UTF-8": {b"NOT_UTF8": b"\xff\xfe\x80=\n;", b"\xe9": b"\xe9", b"EMPTY": b""},
}


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_the_environment_is_the_same_to_the_byte(tmp_path: Path, name: str) -> None:
    """PEP 538: Python sets LC_CTYPE in the C locale, for itself and every child."""
    environ = {b"PATH": os.environb[b"PATH"], b"TERM": b"xterm", **ENVIRONMENTS[name]}
    file = tmp_path / "environ"
    script = f"cat /proc/self/environ > {file}"

    def seen(prefix: list[str]) -> list[bytes]:
        with Outer([*prefix, "/bin/dash", *(["dash"] if prefix else []), "-c", script], env=environ) as outer:
            assert outer.status() == 0
        return sorted(file.read_bytes().split(b"\0"))

    assert seen(RUNNER) == seen([])


def test_umask_limits_and_priority_pass(tmp_path: Path) -> None:
    def change() -> None:
        os.umask(0o027)
        resource.setrlimit(resource.RLIMIT_NOFILE, (123, 456))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.nice(3)

    plain, ours = compare(tmp_path, before=change)
    assert ours == plain
    assert (ours["umask"], ours["limits"]["RLIMIT_NOFILE"], ours["nice"]) == (0o027, [123, 456], str(os.nice(0) + 3))


@pytest.mark.parametrize(
    "name", ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM", "SIGCHLD", "SIGWINCH", "SIGCONT", "SIGUSR1"]
)
def test_an_ignored_signal_stays_ignored(tmp_path: Path, name: str) -> None:
    """Also under nohup, and in a background job of a script (SIGINT, SIGQUIT)."""
    number = getattr(signal, name)
    plain, ours = compare(tmp_path, before=lambda: signal.signal(number, signal.SIG_IGN) and None)
    assert ours == plain
    assert int(ours["signals"]["SigIgn"], 16) & 1 << number - 1


def test_a_blocked_signal_stays_blocked(tmp_path: Path) -> None:
    blocked = {signal.SIGUSR2, signal.SIGCHLD, signal.SIGTERM, signal.SIGWINCH}
    plain, ours = compare(tmp_path, before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, blocked) and None)
    assert ours == plain
    assert int(ours["signals"]["SigBlk"], 16) & 1 << signal.SIGUSR2 - 1


def ignored_in(command: list[str]) -> int:
    with Outer(command) as outer:
        said = outer.finish()
    return int(said.split(b"SigIgn:")[1].split()[0], 16)


def test_what_python_ignores_for_itself_is_default_inside() -> None:
    """asciinema/asciinema#369: `cat large | head` said "Broken pipe"."""
    script = "grep SigIgn /proc/self/status"
    ignored = ignored_in([*RUNNER, "/bin/dash", "dash", "-c", script])
    assert ignored == ignored_in(["/bin/dash", "-c", script])
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)


def test_descriptors_above_two_pass_and_none_of_ours_does(tmp_path: Path) -> None:
    read, write = os.pipe()
    file = os.open(tmp_path / "kept", os.O_RDWR | os.O_CREAT)
    high = 77
    os.dup2(file, high, inheritable=False)
    try:
        plain, ours = compare(tmp_path, pass_fds=(read, file, high))
    finally:
        for fd in (read, write, file, high):
            os.close(fd)
    assert ours["fds"] == plain["fds"]
    assert {"77", str(read)} <= set(ours["fds"])


def test_a_pipe_that_the_shell_closes_ends_though_we_live() -> None:
    """Our own copies of what we pass on must not keep it open."""
    read, write = os.pipe()
    script = f"exec {write}>&-; printf CLOSED; read x; exit 5"
    with Outer([*RUNNER, "/bin/bash", "bash", "-c", script], pass_fds=(write,)) as outer:
        os.close(write)
        outer.expect(b"CLOSED")
        assert os.read(read, 10) == b""
        outer.send(b"\r")
        assert outer.status() == 5
    os.close(read)


def without(*flags: int) -> Callable[[int], None]:
    def change(fd: int) -> None:
        attributes = termios.tcgetattr(fd)
        attributes[3] &= ~sum(flags)
        attributes[0] |= termios.IUTF8 if hasattr(termios, "IUTF8") else 0
        attributes[6][termios.VINTR], attributes[6][termios.VEOF] = b"\x07", b"\x18"
        attributes[6][termios.VSUSP] = b"\0"
        attributes[4] = attributes[5] = termios.B9600
        termios.tcsetattr(fd, termios.TCSANOW, attributes)

    return change


@pytest.mark.parametrize("flags", [(), (termios.ECHO,), (termios.ECHO, termios.ICANON), (termios.ISIG, termios.IEXTEN)])
def test_stty_is_the_same_whatever_the_terminal_was(flags: tuple[int, ...]) -> None:
    said = []
    for prefix in ([], RUNNER):
        command = [*prefix, "/bin/dash", *(["dash"] if prefix else []), "-c", "stty -a >&2; stty -g >&2"]
        with Outer(command, cooked=without(*flags), size=(12, 34)) as outer:
            said.append(outer.finish().split())
            assert outer.process.wait() == 0
    assert said[0] == said[1]
    assert b"9600" in said[0]


def test_argv_zero_is_as_asked() -> None:
    with Outer([*RUNNER, "/bin/dash", "-dash", "-c", "cat /proc/$$/cmdline"]) as outer:
        assert outer.finish().startswith(b"-dash\0-c\0")


def test_keys_typed_before_the_start_are_the_shells(tmp_path: Path) -> None:
    with Outer(
        [*RUNNER, "/bin/bash", "bash", "-c", "read line; echo got:$line"], typed_before=b"typed early\n"
    ) as outer:
        assert b"got:typed early" in outer.finish()


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "ksh", "fish"])
def test_job_control_works_inside(shell: str) -> None:
    path = f"/usr/bin/{shell}"
    if not os.path.exists(path):
        pytest.skip(f"no {shell}")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}.get(shell, [])
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    with Outer([*RUNNER, path, shell, *options, "-i"], env=env) as outer:
        outer.send(b"/bin/sleep 50\r")
        sleeper = wait_for(outer, lambda: next(iter(in_foreground(outer, "sleep")), None))
        outer.send(b"\x1a")
        wait_for(outer, lambda: state_of(sleeper) == "T")
        outer.send(b"fg\r")
        wait_for(outer, lambda: sleeper in in_foreground(outer, "sleep"))
        outer.send(b"\x03")
        wait_for(outer, lambda: state_of(sleeper) == "")
        outer.send(b"exit\rexit\r")
        outer.status()


def wait_for(outer: Outer, condition: Callable[[], Any]) -> Any:
    """What `condition` says once it is true."""
    until = time.monotonic() + PATIENCE_SEC
    while not (found := condition()):
        assert time.monotonic() < until, f"not yet; there is {bytes(outer.screen[-500:])!r}"
        if b"\x1b[c" in outer.step(0.01):
            outer.send(b"\x1b[?62;1;6;22c")  # fish 4 asks what terminal it is, and waits for the answer
    return found


def state_of(pid: int) -> str:
    """A process's state letter; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def in_foreground(outer: Outer, name: str) -> list[int]:
    """The sleeping foreground processes of that name whose session leader is a child of the proxy."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError):
                head, tail = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)
                state, _, group, session, _, foreground = tail.split()[:6]
                parent = Path(f"/proc/{session}/stat").read_text().rsplit(")", 1)[1].split()[1]
                ours = int(parent) == outer.process.pid
                if ours and head.endswith(f"({name}") and state == "S" and group == foreground:
                    found.append(int(entry))
    return found
