"""Two people's worth of terminals on one gateway: real ptys, rendered Markdown, answers at the same time."""

from __future__ import annotations

import os
import pty
import select
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from cli import NEOCODE, NeoHome
from fake_openai import Connection, FakeServer, chunk, fake_server, sse

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ptys")
DEADLINE_SEC = 60.0


class TerminalRun:
    """`neocode ARGUMENTS` on a terminal of its own."""

    def __init__(self, home: NeoHome, *arguments: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(NEOCODE[0], [*NEOCODE, *arguments], home.env)
        self.seen = b""

    def until(self, words: bytes) -> None:
        """Read on until `words` were shown."""
        deadline = time.monotonic() + DEADLINE_SEC
        while words not in self.seen:
            assert time.monotonic() < deadline, self.seen
            if select.select([self.fd], [], [], 1.0)[0]:
                self.seen += os.read(self.fd, 65536)

    def finish(self) -> int:
        """Read to the end; the exit code."""
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.seen += data
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


def test_two_terminals_are_answered_at_the_same_time_each_its_own(home: NeoHome, server: FakeServer) -> None:
    home.run("provider", "add", "work", "--kind", "openai", "--base-url", server.url, "--model", "m")
    home.run("use", "work")
    both = threading.Barrier(2)

    def answer(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("## Cause\nFirst half.\n\n"), done=False))
        both.wait(DEADLINE_SEC)  # neither goes on before both are being answered
        connection.send(sse(chunk("**Second** half.\n"), chunk(finish="stop")))

    server.script(answer)
    runs = [TerminalRun(home, "diag", "--error-log", f"error: number {number}") for number in (1, 2)]
    for run in runs:
        run.until(b"First half.")
    assert [run.finish() for run in runs] == [0, 0]
    for run in runs:
        assert b"\x1b[1mSecond" in run.seen, "rendered for a terminal"
        assert b"## Cause" not in run.seen
        assert b"work" in run.seen.splitlines()[-1]
    questions = [str(request.json["messages"]) for request in server.requests]
    assert sorted("number 1" in question for question in questions) == [False, True]


def test_on_a_terminal_without_a_log_the_running_shell_is_meant(home: NeoHome) -> None:
    run = TerminalRun(home, "diag")
    assert run.finish() == 3
    assert b"no neocode shell is running" in run.seen
