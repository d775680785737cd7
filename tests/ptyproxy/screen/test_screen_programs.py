"""What real programs write to a real pty, and what a real terminal shows of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptyproxy.screen import screen_text

Record = Callable[..., bytes]
ESC = "\x1b"


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@needs("git")
def test_git_clone_ends_in_the_last_state_of_each_progress_line(record: Record, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@e"]
    subprocess.run([*git, "init", "-q", "src"], cwd=tmp_path, check=True)
    for n in range(300):
        (tmp_path / "src" / f"file{n}").write_text(f"{n}\n" * n)
    subprocess.run([*git, "add", "."], cwd=tmp_path / "src", check=True)
    subprocess.run([*git, "commit", "-qm", "x"], cwd=tmp_path / "src", check=True)
    raw = record(["git", "clone", "--progress", f"file://{tmp_path}/src", "dst"], cwd=str(tmp_path))
    assert raw.count(b"\r") > 50
    lines = screen_text(raw, 80).split("\n")
    assert lines[0] == "Cloning into 'dst'..."
    receiving = [line for line in lines if line.startswith("Receiving objects")]
    assert len(receiving) == 1
    assert receiving[0].startswith("Receiving objects: 100%")
    assert receiving[0].endswith("done.")
    assert len(lines) < 9


@needs("ls")
def test_ls_columns_stay_columns(record: Record, tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"name-{n}").touch()
    raw = record(["ls", "-C", "--color=always"], cwd=str(tmp_path), cols=60)
    lines = screen_text(raw, 60).split("\n")
    assert 1 < len(lines) < 30
    assert sorted(" ".join(lines).split()) == sorted(f"name-{n}" for n in range(30))
    assert max(map(len, lines)) < 60


@needs("vim")
def test_vim_leaves_nothing(record: Record, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("content of the file\n")
    raw = record(["vim", "-u", "NONE", "f"], cwd=str(tmp_path), keys=[b":q\r"])
    assert b"content of the file" in raw
    assert screen_text(b"before\r\n" + raw + b"after", 80) == "before\nafter"


@needs("less")
def test_less_leaves_nothing_and_without_the_alternate_screen_what_it_showed(record: Record, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(100)))
    assert screen_text(record(["less", "f"], cwd=str(tmp_path), keys=[b" ", b"q"]), 80) == ""
    seen = screen_text(record(["less", "-X", "f"], cwd=str(tmp_path), keys=[b" ", b"q"]), 80).split("\n")
    assert seen[:46] == [f"line {n}" for n in range(46)]
    assert all(line.startswith("line ") for line in seen)


@needs("bash")
def test_a_nested_shells_long_line_is_one_line(record: Record, tmp_path: Path) -> None:
    typed = b"echo " + b"0123456789" * 12 + b"\r"
    raw = record(["bash", "--norc", "-i"], cwd=str(tmp_path), keys=[typed, b"exit\r"], PS1="$ ")
    digits = "0123456789" * 12
    assert screen_text(raw, 80).split("\n")[:2] == [f"$ echo {digits}", digits]


class Tmux:
    """A terminal emulator of its own."""

    def __init__(self, directory: Path, cols: int, rows: int) -> None:
        self._socket = str(directory / "s")
        self._file = directory / "stream"
        self._directory = directory
        self._count = 0
        self.run("-u", "new-session", "-d", "-x", str(cols), "-y", str(rows), "sleep 100")
        self.run("set", "-g", "status", "off")
        self.run("set", "-g", "remain-on-exit", "on")
        self.run("resize-window", "-x", str(cols), "-y", str(rows))

    def run(self, *arguments: str) -> str:
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        argv = ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=20, check=False).stdout

    def shows(self, raw: bytes) -> str:
        """What stands on its screen and above it when `raw` was written, soft-wrapped lines joined."""
        self._count += 1
        title = f"done-{self._count}"
        self._file.write_bytes(raw + f"{ESC}]2;{title}\x07".encode())
        self.run("clear-history")
        self.run("respawn-pane", "-k", f"stty raw -echo; cat {self._file}; exec sleep 100")
        deadline = time.monotonic() + 20
        while self.run("display", "-p", "#{pane_title}").strip() != title:
            assert time.monotonic() < deadline
        text = self.run("capture-pane", "-p", "-J", "-S", "-")
        return "\n".join(map(str.rstrip, text.split("\n"))).strip("\n")


@pytest.fixture
def tmux(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tmux]:
    running = Tmux(tmp_path_factory.mktemp("t"), 30, 120)
    try:
        yield running
    finally:
        running.run("kill-server")


@needs("tmux")
def test_a_terminal_shows_the_same(tmux: Tmux) -> None:
    """For what bars, spinners and line editors do."""
    up = f"{ESC}[A"
    for raw in (
        f"one{ESC}[5Ctwo\r\n" + "x" * 70 + f"\r\n{up}{up}{ESC}[2Klast",
        f"a\r\nb\r\nc\r\n{ESC}[3A{ESC}[Knew a\r\n{ESC}[Bnew c\x08\x08z",
        "中文" * 20 + f"\r\n{up}é{ESC}[4C中{ESC}[P",
        f"e\u0301{ESC}[G{ESC}[Cx\r\ny{ESC}M{ESC}Dz{ESC}E.",
        f"{ESC}7saved{ESC}8SA\r\n{ESC}[s12345{ESC}[uab{ESC}[2@{ESC}[3X",
        "".join(f"line {n}\r\n" for n in range(150)) + f"{up}{up}{ESC}[Kup two{ESC}[B{ESC}[1K",
        f"x{ESC}[2;20rin\r\n{ESC}[20;1Hbottom\r\nmore\r\n{ESC}[r{ESC}[22;1Hafter",
        f"q{ESC}[?7l{'y' * 40}{ESC}[?7h\r\n{up}w",
        f"a{ESC}[38:2::1:2:3mb{ESC}]0;t\x07c{ESC}Pd{ESC}\\e{up}f",
    ):
        assert screen_text(raw.encode(), 30) == tmux.shows(raw.encode()), raw
