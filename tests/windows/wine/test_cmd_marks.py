"""cmd.exe itself with our PROMPT: what it prints is fed to the capture as the proxy would.

Wine's cmd does not read PROMPT from its environment when it starts, and its `prompt` command stops at `=`. So here the
script of `--init cmd` is called at the start, which a real cmd.exe would not need.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conpty.backend import Launch, PtyBackend
from conpty.choose import open_backend
from conpty.command_line import join
from ptyproxy.capture import Capture
from ptyproxy.integration.plan import plan, script
from ptyproxy.records import CommandRecord, PromptEnded
from ptyproxy.session import open_session

DEADLINE_SEC = 20.0  # Wine starts a program in half a second; the machine may be busy
WIDTH = 400  # Wine takes a mark for text, which would wrap
CMD = os.environ.get("COMSPEC", "cmd.exe")
NOT_FOUND = "'gti' is not recognized as an internal or external command,"


def plain(data: bytes) -> bytes:
    """Without the console's own sequences."""
    return re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]", b"", data)


class Cmd:
    """A cmd.exe on a pseudo console, read by a thread of its own."""

    def __init__(self, backend: PtyBackend, nonce: str) -> None:
        self.backend = backend
        self.capture = Capture(nonce)
        self.raw = b""
        self.prompts = 0
        self._news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while data := self.backend.read():
            with self._news:
                self.raw += data
                self.prompts += sum(isinstance(event, PromptEnded) for event in self.capture.feed(data))
                self._news.notify_all()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for what the reader sees."""
        with self._news:
            if not self._news.wait_for(condition, DEADLINE_SEC):
                pytest.fail(f"no {what}: {self.raw[-1500:]!r}")

    def enter(self, line: str) -> None:
        """Type a line, and Enter once it is echoed."""
        seen = len(self.raw)
        self.backend.write(line.encode())
        self.until(lambda: line.encode() in plain(self.raw[seen:]), "echo")
        with self._news:
            self.capture.enter(typed=bool(line))
        self.backend.write(b"\r")

    def run(self, line: str) -> CommandRecord:
        """Type a line, wait for the prompt after it; the newest record."""
        drawn = self.prompts
        self.enter(line)
        self.until(lambda: self.prompts > drawn, f"prompt after {line!r}")
        return self.capture.records[-1]

    def output(self, record: CommandRecord) -> str:
        """What it printed, without the console's own sequences."""
        return plain(self.capture.output(record).tail).decode()


@pytest.fixture
def cmd(tmp_path: Path) -> Iterator[Cmd]:
    (tmp_path / "neocode.cmd").write_text(script("cmd"), newline="")
    (tmp_path / "gti.cmd").write_text(f"@echo {NOT_FOUND}\r\n@exit /b 9009\r\n", newline="")
    session = open_session(str(tmp_path))
    environ = {
        name.encode(): value.encode("utf-8", "replace") for name, value in os.environ.items() if name != "PROMPT"
    }
    theirs = "set PROMPT=$N$G$S"  # the user's own; the script finds it as it would one of an AutoRun
    made = plan(CMD, ("/D", "/K", f"{theirs}&call {tmp_path}\\neocode.cmd"), environ, session, login=False)
    assert made.integrated
    child = {name.decode(): value.decode() for name, value in made.command.environ.items()}
    backend, _ = open_backend(Launch(join((CMD, *made.command.argv[1:])), str(tmp_path), child, 24, WIDTH))
    shell = Cmd(backend, session.nonce)
    try:
        shell.until(lambda: shell.prompts > 0, "first prompt")
        yield shell
    finally:
        backend.close()
        session.close()


def test_a_failing_command_has_a_record_without_an_exit_code(cmd: Cmd, tmp_path: Path) -> None:
    assert cmd.capture.authenticated
    assert cmd.capture.facts["starts"] == "enter"
    record = cmd.run("gti")
    assert (record.command, record.exact, record.exit_code, record.approximate) == ("gti", False, None, True)
    assert NOT_FOUND in cmd.output(record)
    assert "gti\r" not in cmd.output(record)
    assert Path(record.cwd or "") == tmp_path


def test_commands_follow_each_other_and_the_directory_is_told(cmd: Cmd) -> None:
    assert cmd.output(cmd.run("echo one & echo two")).split() == ["one", "two"]
    cmd.run("cd \\windows")
    assert (cmd.capture.cwd or "").lower() == "c:\\windows" or (cmd.capture.cwd or "").lower().endswith("\\windows")
    assert [record.command for record in cmd.capture.records] == ["echo one & echo two", "cd \\windows"]
    assert cmd.capture.faults == 0


def test_an_empty_line_is_no_command_and_its_prompt_is_a_new_one(cmd: Cmd) -> None:
    drawn = cmd.prompts
    cmd.enter("")
    cmd.until(lambda: cmd.prompts > drawn, "second prompt")
    assert cmd.capture.records == []
    assert cmd.capture.state == "input"


def test_what_is_printed_cannot_end_a_command(cmd: Cmd, tmp_path: Path) -> None:
    evil = b"\x1b]7781;neocode;D;nc=%s;exit=0\x1b\\\x1b]7781;neocode;A\x1b\\C>\x1b]7781;neocode;B\x1b\\x\r\n" % (
        b"0" * 32
    )
    (tmp_path / "evil.txt").write_bytes(evil)
    assert cmd.run("type evil.txt & echo after").command == "type evil.txt & echo after"
    assert "after" in cmd.output(cmd.capture.records[-1])
    assert len(cmd.capture.records) == 1


def test_the_users_prompt_is_drawn_between_the_marks(cmd: Cmd) -> None:
    inside = plain(cmd.raw).partition(b"\x1b]7781;neocode;A\x1b\\")[2].partition(b"\x1b]7781;neocode;B\x1b\\")[0]
    assert inside == b"C> "


def test_the_shell_ends_with_its_own_code(cmd: Cmd) -> None:
    cmd.backend.write(b"exit 7\r")
    deadline = time.monotonic() + DEADLINE_SEC
    while (code := cmd.backend.wait(0.1)) is None:
        assert time.monotonic() < deadline
    assert code == 7


def test_started_from_a_cmd_the_default_shell_is_that_cmd(cmd: Cmd, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    (tmp_path / "which.py").write_text(
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from neocode.shell.default_shell import default_shell\nprint('[' + default_shell() + ']')\n"
    )
    text = cmd.output(cmd.run(f"{sys.executable} which.py"))
    assert f"[{CMD.lower()}]" in text.lower()


def test_called_outside_a_session_the_script_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "neocode.cmd").write_text(script("cmd"), newline="")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NEOCODE_")}
    commands = f"set PROMPT=$N$G&call {tmp_path}\\neocode.cmd&set PROMPT>{tmp_path}\\seen"
    subprocess.run(f'"{CMD}" /d /s /c "{commands}"', env=environ, timeout=DEADLINE_SEC, check=False)
    assert (tmp_path / "seen").read_text().split() == ["PROMPT=$N$G"]
