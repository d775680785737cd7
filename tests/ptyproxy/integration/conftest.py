"""A real shell on a real pty, seen as a terminal would show it (pyte) and as the proxy would record it (Capture)."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyte
import pytest

from ptyproxy.capture import Capture
from ptyproxy.integration.base import Plan
from ptyproxy.integration.plan import plan
from ptyproxy.platform.base import Size
from ptyproxy.records import CommandEnded, CommandRecord, Event, HotkeyPressed, PromptEnded
from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session, open_session

if sys.platform != "win32":
    from ptyproxy.platform.unix import spawn

DEADLINE_SEC = 8.0  # for one step; the machine may be busy
KEY_SEC = 0.3  # a line editor that says nothing for so long has nothing to say
QUIET_SEC = 0.04  # a prompt is drawn when the shell has then been silent for so long


class _Screen(pyte.HistoryScreen):
    """pyte, which would take SGR with a private marker (`ESC [ > 4 m`) for colours."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)


class Shell:
    """One running shell. `feed` types; the `until_*` methods wait for what the shell says, with a deadline."""

    def __init__(self, made: Plan, session: Session, size: Size, home: Path) -> None:
        self.plan = made
        self.session = session
        self.home = home
        self.raw = b""
        self.events: list[Event] = []
        self.capture = Capture(session.nonce if made.integrated else None, cwd=str(home))
        self.screen = _Screen(size.cols, size.rows, history=1000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.pty = spawn(made.command, size, None)

    # -- typing

    def type(self, text: str | bytes) -> None:
        """Give the shell these keys, without waiting for anything."""
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[self.pty.write(data) :]
            if data:
                self._read(0.05)

    def run(self, command: str, enter: str = "\r") -> CommandRecord:
        """Type a command and wait for the prompt after it; its record."""
        seen = self._ended()
        self.prompt_after(command + enter)
        self.until(lambda: self._ended() > seen, f"a record of {command!r}")
        return self.capture.records[-1]

    def prompt_after(self, keys: str, times: int = 1) -> None:
        """Type, wait for the next prompt and for its being drawn. `times`: bash turns paste on twice after a Ctrl-C."""
        drawn = self._prompts() + times
        self.type(keys)
        self.until(lambda: self._prompts() >= drawn, f"a prompt after {keys!r}")
        self.settle()

    def keys(self, keys: str) -> None:
        """Type and wait for what the line editor does with it."""
        self.type(keys)
        self._read(KEY_SEC)
        self.settle()

    def order(self, *, show: str | None = None, line: str | None = None) -> None:
        """Give the widget its orders and wait until it has redrawn the prompt."""
        if show is not None:
            self.session.write(SHOW_ORDER, show.encode())
        if line is not None:
            self.session.write(LINE_ORDER, line.encode())
        drawn = self._count(PromptEnded)
        self.type(self.plan.widget_key)
        self.until(lambda: self._count(PromptEnded) > drawn, "the widget's prompt")
        self.settle()

    def hotkey(self) -> dict[str, str]:
        """Press the hotkey as the proxy passes it on; the fields of the mark that comes of it."""
        seen = len(self.hotkeys())
        self.type(self.plan.hotkey_key or b"\x07")
        self.until(lambda: len(self.hotkeys()) > seen, "the hotkey's mark")
        self.settle()
        return self.hotkeys()[-1]

    # -- waiting

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Read until the condition holds."""
        deadline = time.monotonic() + DEADLINE_SEC
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"no {what}; the screen:\n" + "\n".join(self.lines()) + f"\n{self.raw[-800:]!r}")
            self._read(0.05)

    def until_shown(self, text: str) -> None:
        """Read until the screen shows the text."""
        self.until(lambda: text in "\n".join(self.lines()), f"{text!r} on the screen")

    def first_prompt(self) -> None:
        """Wait for the first prompt: its mark, or in a plain shell the line editor's bracketed paste."""
        self.until(lambda: self._prompts() > 0, "first prompt")
        self.settle()

    def settle(self) -> None:
        """Read until nothing has come for a moment: what the shell had to say, it has said."""
        while self._read(QUIET_SEC):
            pass

    # -- looking

    def lines(self) -> list[str]:
        """What the screen shows, without trailing blanks."""
        rows = [row.rstrip() for row in self.screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def scrollback(self) -> list[str]:
        """What scrolled off the top, and the screen."""
        cols = self.screen.columns
        above = ["".join(row[x].data for x in range(cols)).rstrip() for row in self.screen.history.top]
        return above + self.lines()

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor, from 0."""
        return self.screen.cursor.y, self.screen.cursor.x

    def commands(self) -> list[tuple[str | None, int | None]]:
        """Command and exit code of every record."""
        return [(record.command, record.exit_code) for record in self.capture.records]

    def output(self, record: CommandRecord) -> str:
        """What a command printed, with LF line ends."""
        return self.capture.output(record).tail.decode("utf-8", "replace").replace("\r\n", "\n")

    def hotkeys(self) -> list[dict[str, str]]:
        """The fields of every hotkey mark."""
        return [event.fields for event in self.events if isinstance(event, HotkeyPressed)]

    # -- the inside

    def _count(self, kind: type) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def _ended(self) -> int:
        return self._count(CommandEnded)

    def _prompts(self) -> int:
        """A line editor turns bracketed paste on at every prompt, with us and without."""
        return self.raw.count(b"\x1b[?2004h")

    def _read(self, timeout: float) -> bool:
        ready, _, _ = select.select([self.pty.fd], [], [], timeout)
        data = self.pty.read(65536) if ready else None
        if not data:
            return False
        self.raw += data
        self.events += self.capture.feed(data)
        self._stream.feed(data)
        self._answer(data)
        return True

    def _answer(self, data: bytes) -> None:
        """What a terminal replies to its queries (fish waits for them)."""
        if b"\x1b[c" in data or b"\x1b[0c" in data:
            self.pty.write(b"\x1b[?62;1;6;22c")
        if b"\x1b[6n" in data:
            self.pty.write(b"\x1b[%d;%dR" % (self.screen.cursor.y + 1, self.screen.cursor.x + 1))

    def close(self) -> None:
        """Kill the shell and release everything."""
        if self.pty.poll() is None:
            os.kill(self.pty.pid, signal.SIGKILL)
            deadline = time.monotonic() + DEADLINE_SEC
            while self.pty.poll() is None and time.monotonic() < deadline:
                self._read(0.01)
        self.pty.close()
        self.session.close()


Start = Callable[..., Shell]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home, empty but for what keeps a first fish from reading every manual page in the background."""
    path = tmp_path / "home"
    (path / ".local" / "share" / "fish" / "generated_completions").mkdir(parents=True)
    return path


@pytest.fixture
def start(home: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a shell: `start("bash")`, with `integrate=False` as it is without us. Waits for its first prompt."""
    started: list[Shell] = []
    base = tmp_path / "run"
    base.mkdir(mode=0o700)

    def start_shell(
        name: str,
        *arguments: str,
        integrate: bool = True,
        rows: int = 24,
        cols: int = 80,
        login: bool = False,
        hotkey: str = "ctrl-g",
        wait: bool = True,
        **variables: str,
    ) -> Shell:
        environ = {
            b"HOME": str(home).encode(),
            b"PATH": os.environ["PATH"].encode(),
            b"TERM": b"xterm-256color",
            b"LANG": b"C.UTF-8",
            b"USER": b"tester",
            **{key.encode(): value.encode() for key, value in variables.items()},
        }
        session = open_session(base)
        path = next(p for d in os.environ["PATH"].split(":") if os.access(p := os.path.join(d, name), os.X_OK))
        before = os.getcwd()
        os.chdir(home)
        try:
            made = plan(path, arguments, environ, session, login=login, hotkey=hotkey, integrate=integrate)
            shell = Shell(made, session, Size(rows, cols), home)
        finally:
            os.chdir(before)
        started.append(shell)
        if wait:
            shell.first_prompt()
        return shell

    yield start_shell
    for shell in started:
        shell.close()
