"""What every pseudo terminal backend does, the same tests for all.

On Unix they run over the Unix pty and over the Windows adapters with fakes that behave as the real thing was measured
to; on Windows over pywinpty's class and its conpty.dll. Under Wine that dll is the harness's stand-in.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conpty import direct, exit_watch, winpty_pty
from conpty.backend import Launch, PtyBackend
from conpty.choose import open_direct, open_winpty

CHILD = str(Path(__file__).resolve().parent.parent / "support" / "pty_child.py")
LIMIT_SEC = 20.0  # a loaded machine; nothing in here waits for it
UNDER_WINE = sys.platform == "win32" and hasattr(ctypes.windll.ntdll, "wine_get_version")
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\r\n]")
Open = Callable[[Launch], PtyBackend]

if sys.platform == "win32":
    KINDS: dict[str, Open] = {"direct": open_direct, "winpty": open_winpty}
else:
    from unix_backend import UnixBackend
    from windows_fakes import FakeConsoles, FakeWinpty

    def over_fake_console(ends_by_itself: bool) -> Open:
        return lambda launch: direct.DirectBackend(FakeConsoles(ends_by_itself), launch)

    def over_fake_winpty(end_of_file: bool) -> Open:
        def start(launch: Launch) -> PtyBackend:
            module = FakeWinpty(end_of_file)
            return winpty_pty.WinptyBackend(module, module.processes, launch)

        return start

    KINDS = {
        "unix": UnixBackend,
        "direct": over_fake_console(ends_by_itself=True),
        "direct-late": over_fake_console(ends_by_itself=False),
        "winpty": over_fake_winpty(end_of_file=True),
        "winpty-late": over_fake_winpty(end_of_file=False),
    }


class Session:
    """A backend with a thread that reads all it says."""

    def __init__(self, backend: PtyBackend, reads: bool = True) -> None:
        self.backend = backend
        self.output = bytearray()
        self.ended = threading.Event()
        self._came = threading.Condition()
        if reads:
            self.start_reading()

    def start_reading(self) -> None:
        threading.Thread(target=self._read, name="test-reader", daemon=True).start()

    def _read(self) -> None:
        while data := self.backend.read():
            with self._came:
                self.output += data
                self._came.notify_all()
        self.ended.set()

    def text(self) -> str:
        """What came, without escape sequences and line ends: a console may wrap and redraw."""
        return ESCAPES.sub(b"", bytes(self.output)).decode("utf-8", "replace")

    def expect(self, text: str) -> str:
        """Wait for `text` to come; what came until then."""
        with self._came:
            assert self._came.wait_for(lambda: text in self.text(), LIMIT_SEC), (text, self.text())
        return self.text()

    def type(self, text: str) -> None:
        self.backend.write(text.encode())

    def end(self) -> int | None:
        """Wait for the child's end and the output's."""
        code = self.backend.wait(LIMIT_SEC)
        assert self.ended.wait(LIMIT_SEC), self.text()
        return code


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened() -> Iterator[list[PtyBackend]]:
    """The backends of this test, which are closed after it."""
    backends: list[PtyBackend] = []
    yield backends
    for backend in backends:
        backend.close()


@pytest.fixture
def run(kind: str, opened: list[PtyBackend]) -> Callable[..., Session]:
    """Starts pty_child.py with the given words."""

    def start(*words: str, reads: bool = True, cwd: str | None = None, **more: str) -> Session:
        line = subprocess.list2cmdline([sys.executable, CHILD, *words])
        launch = Launch(line, cwd, {**os.environ, **more}, 24, 80)
        opened.append(KINDS[kind](launch))
        return Session(opened[-1], reads)

    return start


def test_the_child_gets_its_folder_and_its_variables(run: Callable[..., Session], tmp_path: Path) -> None:
    folder = tmp_path / "w\u00f6rk and play"
    folder.mkdir()
    session = run("tell_where", "PLAIN", "WIDE", "ABSENT", cwd=str(folder), PLAIN="a b", WIDE="b\u00e4r \u4f60")
    assert session.end() == 0
    text = session.text().replace(" ", "")  # a long path may be wrapped, and padded there
    assert f"cwd={str(folder.resolve())!a}.".replace(" ", "") in text
    assert r"PLAIN='ab'.WIDE='b\xe4r\u4f60'.ABSENT=None." in text


@pytest.mark.parametrize("code", [0, 7, 259, 0xFFFFFFFF, 0xC000013A])
def test_exit_codes_are_exact(run: Callable[..., Session], kind: str, code: int) -> None:
    """259 is STILL_ACTIVE, which GetExitCodeProcess also says of a process that runs."""
    if kind == "unix" and code > 255:
        code &= 0xFF
    assert run("end", str(code)).end() == code


def test_a_child_that_runs_has_no_exit_code_and_an_ended_one_keeps_it(run: Callable[..., Session]) -> None:
    session = run("echo")
    session.expect("ready.")
    assert session.backend.wait(0) is None
    assert session.backend.wait(0.05) is None
    answers: list[int | None] = []
    waiters = [threading.Thread(target=lambda: answers.append(session.backend.wait(LIMIT_SEC))) for _ in range(3)]
    for waiter in waiters:
        waiter.start()
    session.type("end 9\r")
    for waiter in waiters:
        waiter.join(LIMIT_SEC)
    assert answers == [9, 9, 9]
    session.backend.close()
    assert session.backend.wait(None) == 9


def test_the_exit_is_seen_without_anybody_reading(run: Callable[..., Session]) -> None:
    session = run("end", "4", reads=False)
    assert session.backend.wait(LIMIT_SEC) == 4
    assert isinstance(session.backend.pid, int)


@pytest.mark.parametrize(
    ("program", "error"), [("no-such-program-of-ours", FileNotFoundError), (None, PermissionError)]
)
def test_what_cannot_be_run_is_told(
    kind: str, tmp_path: Path, opened: list[PtyBackend], program: str | None, error: type[OSError]
) -> None:
    """andfoy/pywinpty#570: a spawn that failed left a console behind that hung when it was let go."""
    name = str(tmp_path) if program is None else program
    for line in (f'"{name}"', f'"{tmp_path / name}" x'):
        with pytest.raises(error):
            opened.append(KINDS[kind](Launch(line, None, dict(os.environ), 24, 80)))


def test_a_folder_that_is_not_there_is_told(run: Callable[..., Session], tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"."):
        run("wait", cwd=str(tmp_path / "nowhere"))


def test_text_goes_in_and_out_also_when_a_character_comes_in_two_writes(run: Callable[..., Session]) -> None:
    session = run("echo")
    session.expect("ready.")
    for part in (b"h\xc3", b"\xa9llo \xe4", b"\xbd", b"\xa0 & ver\r"):
        session.backend.write(part)
    session.expect(r"got='h\xe9llo \u4f60 & ver'.")


def test_much_that_is_typed_at_once_arrives_whole(run: Callable[..., Session]) -> None:
    lines = 200
    session = run("count", str(lines))
    session.expect("ready.")
    session.backend.write((b"x" * 70 + b"\r") * lines)
    session.expect(f"total={lines * 70}.")


def test_a_write_after_the_child_has_ended_is_refused(run: Callable[..., Session]) -> None:
    session = run("end", "0")
    session.end()
    with pytest.raises(OSError, match=r"."):
        session.backend.write(b"x")


def test_all_output_comes_in_order(run: Callable[..., Session], kind: str) -> None:
    """andfoy/pywinpty#565: the last output was lost when the child ended.

    And no character is damaged, but by pywinpty's class, which decodes each read alone.
    """
    lines = 3000
    session = run("flood", str(lines))
    assert session.end() == 0
    assert [int(number) for number in re.findall(r"<(\d+)>", session.text())] == list(range(lines))
    if not kind.startswith("winpty"):
        assert len(re.findall("(?:\u4f60\u597d\u4e16\u754c){2}", session.text())) == lines
        assert "\ufffd" not in session.text()


def test_output_that_nobody_read_for_a_while_is_still_there(
    run: Callable[..., Session], kind: str, tmp_path: Path
) -> None:
    """And where the backend can, the child waits: only pywinpty's class takes all of it into memory."""
    lines, done = 6000, tmp_path / "done"
    session = run("flood", str(lines), str(done), reads=False)
    if not kind.startswith("winpty"):
        assert session.backend.wait(0.7) is None
        assert not done.exists()
    else:
        assert session.backend.wait(LIMIT_SEC) == 0
    session.start_reading()
    assert session.end() == 0
    assert [int(number) for number in re.findall(r"<(\d+)>", session.text())] == list(range(lines))


def test_after_the_end_reading_says_so_for_ever_and_at_once(run: Callable[..., Session]) -> None:
    session = run("end", "0")
    session.end()
    began = time.monotonic()
    assert [session.backend.read() for _ in range(100)] == [b""] * 100
    assert time.monotonic() - began < 1.0


def test_words_after_the_exit_are_read_and_the_end_comes_although_the_terminal_is_held_open(
    run: Callable[..., Session], tmp_path: Path
) -> None:
    session = run("leave_behind", "late", str(tmp_path))
    assert session.backend.wait(LIMIT_SEC) == 3
    began = time.monotonic()
    assert session.ended.wait(LIMIT_SEC)
    assert time.monotonic() - began < 5.0
    assert "leaving." in session.text()
    assert "late words." in session.text()


def test_a_process_left_behind_that_never_falls_silent_does_not_keep_us(
    run: Callable[..., Session], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (direct, winpty_pty, sys.modules.get("unix_backend")):
        if module is not None:
            monkeypatch.setattr(module, "LATE_OUTPUT_LIMIT_SEC", 0.8)
    session = run("leave_behind", "chatter", str(tmp_path))
    assert session.backend.wait(LIMIT_SEC) == 3
    began = time.monotonic()
    assert session.ended.wait(LIMIT_SEC)
    assert time.monotonic() - began < 5.0


def test_closing_ends_the_child_and_whoever_reads(run: Callable[..., Session]) -> None:
    session = run("wait")
    session.expect("ready.")
    began = time.monotonic()
    session.backend.close()
    assert session.ended.wait(LIMIT_SEC)
    assert session.backend.wait(LIMIT_SEC) is not None
    assert time.monotonic() - began < 4.0
    session.backend.close()
    session.backend.resize(10, 10)
    assert session.backend.read() == b""
    with pytest.raises(OSError, match=r"."):
        session.backend.write(b"x")


def test_closing_does_not_wait_for_output_that_nobody_reads(run: Callable[..., Session]) -> None:
    """oven-sh/bun#29522, microsoft/terminal#17489: closing a console hung while its output was unread."""
    session = run("flood", "200000", reads=False)
    assert session.backend.wait(0.5) is None or session.backend.name == "winpty"
    began = time.monotonic()
    session.backend.close()
    assert time.monotonic() - began < 4.0
    assert session.backend.wait(LIMIT_SEC) is not None
    assert session.backend.read() == b""


def test_closing_from_several_threads_while_one_writes_and_one_reads(run: Callable[..., Session]) -> None:
    session = run("wait")
    session.expect("ready.")

    def write() -> None:
        try:
            for _ in range(50):
                session.backend.write(b"y" * 100_000)
        except OSError:
            pass

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    writer.join(0.2)
    closers = [threading.Thread(target=session.backend.close, daemon=True) for _ in range(3)]
    for thread in closers:
        thread.start()
    for thread in (*closers, writer):
        thread.join(LIMIT_SEC)
        assert not thread.is_alive()
    assert session.ended.wait(LIMIT_SEC)


def test_a_child_that_ignores_that_its_window_is_closed_is_ended(
    run: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (direct, winpty_pty):
        monkeypatch.setattr(module, "CLOSE_GRACE_SEC", 0.5)
    session = run("stubborn")
    session.expect("ready.")
    session.backend.close()
    assert session.backend.wait(LIMIT_SEC) is not None


def test_nothing_is_left_running_after_close(run: Callable[..., Session]) -> None:
    session = run("wait")
    session.expect("ready.")
    session.backend.close()
    deadline = time.monotonic() + LIMIT_SEC
    # by name, for the child of another test may be slow to die
    own = {f"conpty-exit {session.backend.pid}", "conpty-close", "conpty-end", "conpty-close-console"}
    while names := own & {thread.name for thread in threading.enumerate()}:
        assert time.monotonic() < deadline, names
        threading.Event().wait(0.02)


def test_the_child_sees_the_size_and_every_new_one(run: Callable[..., Session]) -> None:
    session = run("sizes")
    session.expect("ready.")
    session.type("\r")
    session.expect("size=80x24.")
    for rows, cols in ((30, 100), (20, 70)):
        session.backend.resize(rows, cols)
        session.type("\r")
        session.expect(f"size={cols}x{rows}.")


def test_no_size_is_too_small_or_too_large_to_ask_for(run: Callable[..., Session], kind: str) -> None:
    """doy/vt100-rust#37: consoles of one column or no row make what draws them fail."""
    session = run("sizes")
    session.expect("ready.")
    for rows, cols in ((0, 0), (-5, 10), (1 << 20, 1 << 20), (1, 1)):
        session.backend.resize(rows, cols)
    if not UNDER_WINE:  # its console has least sizes of its own
        session.type("\r")
        deadline = time.monotonic() + LIMIT_SEC
        while "size=2x1." not in session.text() and time.monotonic() < deadline:
            threading.Event().wait(0.02)
        assert "size=2x1." in session.text()
    session.backend.resize(24, 80)


@pytest.mark.skipif(UNDER_WINE, reason="Ctrl-C under Wine ends the whole console without any handler")
def test_ctrl_c_reaches_the_child(run: Callable[..., Session]) -> None:
    session = run("until_interrupted")
    session.expect("ready.")
    session.backend.write(b"\x03")
    session.expect("interrupted.")
    assert session.end() == 5


def test_the_protocol_is_all_that_there_is(kind: str, run: Callable[..., Session]) -> None:
    backend = run("end", "0").backend
    wanted = [name for name in vars(PtyBackend) if not name.startswith("_")]
    assert sorted(wanted) == ["close", "name", "pid", "read", "resize", "wait", "write"]
    assert all(hasattr(backend, name) for name in wanted)
    assert backend.name == kind.split("-")[0]
    assert exit_watch.ENDED_EXIT_CODE == 0xC000013A
