"""The mode's state machine on the pump's thread, with a clock of ours: what real shells do too seldom to wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal_streams import NONCE, PROMPT, command, done

from ptyproxy.capture import Capture
from ptyproxy.idm.beside import SETTLE_SEC
from ptyproxy.idm.handover import ACK_SEC
from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.idm.mode import SILENCE_SEC, START_SEC, Mode
from ptyproxy.messages import ModeEdit, ModeEnded, ModeLeft, ModeRun, ModeTaken, ModeText, ToControl
from ptyproxy.ports import Finding
from ptyproxy.records import CommandStarted, PromptBegan, PromptEnded
from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session
from ptyproxy.stream.keys import Input, KeyParser

WIDGET = b"\x1b[7781~"


class Rig:
    """The mode between a pump, a tap and a control thread that are played here."""

    size_held = False
    input_held = False
    words_on_their_way = False
    nothing_typed = True

    def __init__(self, directory: Path, *, widget: bytes = WIDGET) -> None:
        self.now = 100.0
        self.alive = True
        self.foreground: bool | None = True
        self.sent, self.shown = b"", b""
        self.posted: list[ToControl] = []
        self.prompt_span = (0, 0)
        self.capture = Capture(NONCE)
        self.session = Session("shell-1-1-00000000", str(directory), NONCE)
        self.keyboard = Keyboard(lambda: None)
        self.mode = Mode(
            self.capture, self.session, widget, self, self, self.keyboard, self.posted.append,
            cols=lambda: 80, in_foreground=lambda: self.foreground,
            control_alive=lambda: self.alive, clock=lambda: self.now,
        )  # fmt: skip
        self.parser = KeyParser()

    def send(self, data: bytes) -> None:
        self.sent += data

    def show(self, data: bytes) -> None:
        self.shown += data

    def release_size(self) -> None:
        assert not self.size_held

    takes_orders = True

    @property
    def prompt_is_idle(self) -> bool:
        return self.capture.state == "input"

    def happened_since(self, number: int | None) -> Finding | None:
        return None

    def typed_ahead(self, pieces: list[Input]) -> None:
        pass

    def left_mode(self) -> None:
        pass

    def output(self, data: bytes) -> None:
        self.mode.output(data)
        for event in self.capture.feed(data):
            if isinstance(event, PromptBegan):
                self.prompt_span = (event.start, event.start)
            elif isinstance(event, PromptEnded):
                self.prompt_span = (self.prompt_span[0], event.start)
                self.mode.prompt_ended()
            elif isinstance(event, CommandStarted):
                self.mode.command_started()

    def keys(self, data: bytes) -> bytes:
        return b"".join(self.mode.key(piece) for piece in self.parser.feed(data))

    def wait(self, seconds: float) -> None:
        self.mode.tick()
        self.now += seconds
        self.mode.tick()

    def edit(self) -> int:
        """To the editor's having screen and keyboard; its number."""
        self.output(done(0) + PROMPT)
        self.mode.enter()
        self.wait(SETTLE_SEC * 1.1)
        assert self.mode.state == "editing"
        message = self.posted[-1]
        assert isinstance(message, ModeEdit)
        return message.number

    def order(self, name: str) -> bytes | None:
        path = Path(self.session.directory, name)
        return path.read_bytes() if path.exists() else None


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_line_goes_by_the_widget_and_enter_follows_the_drawn_prompt(rig: Rig) -> None:
    number = rig.edit()
    rig.mode.receive(ModeRun(number, "ls"))
    assert (rig.order(LINE_ORDER), rig.order(SHOW_ORDER), rig.sent) == (b"ls", b"", WIDGET)
    rig.keys(b"ahead")
    rig.output(PROMPT + b"ls")
    assert rig.sent == WIDGET + b"\r"
    rig.output(command("ls"))
    assert rig.sent == WIDGET + b"\rahead"
    assert not rig.mode.has_keyboard
    rig.output(b"file\r\n" + done(0) + PROMPT)
    rig.wait(SETTLE_SEC * 1.1)
    assert rig.mode.state == "editing"


def test_a_widget_that_does_not_answer_is_replaced_by_keys(rig: Rig) -> None:
    number = rig.edit()
    rig.mode.receive(ModeRun(number, "ls\tx"))
    rig.wait(ACK_SEC * 1.1)
    assert rig.sent == WIDGET + b"ls x\r"
    assert rig.order(LINE_ORDER) is rig.order(SHOW_ORDER) is None


def test_leaving_ends_the_talk_and_passes_on_what_was_typed_behind_it(rig: Rig) -> None:
    number = rig.edit()
    rig.mode.receive(ModeLeft(number))
    rig.keys(b"ls")
    rig.output(PROMPT)
    assert rig.mode.state == "off"
    assert rig.sent == WIDGET + b"ls"
    assert isinstance(rig.posted[-1], ModeEnded)


def test_what_comes_too_late_is_not_shown(rig: Rig) -> None:
    number = rig.edit()
    rig.mode.receive(ModeRun(number, "ls"))
    shown = rig.shown
    for late in (ModeText(number, b"late"), ModeText(number + 1, b"early"), ModeRun(number, "again")):
        rig.mode.receive(late)
    assert rig.shown == shown
    assert rig.sent == WIDGET


def test_a_command_that_starts_by_itself_takes_screen_and_keyboard(rig: Rig) -> None:
    """Typed ahead: the shell read it after our editor had begun."""
    rig.edit()
    rig.keys(b"mine")
    rig.output(b"ls\r\n" + command("ls"))
    assert not rig.mode.has_keyboard
    assert rig.sent == b"mine"
    assert isinstance(rig.posted[-1], ModeTaken)
    rig.output(done(0) + PROMPT)
    rig.wait(SETTLE_SEC * 1.1)
    assert rig.mode.state == "editing"


def test_text_behind_the_prompt_is_the_shells_line(rig: Rig) -> None:
    rig.output(done(0) + PROMPT + b"half")
    rig.mode.enter()
    rig.wait(SETTLE_SEC * 1.1)
    assert rig.mode.state == "running"
    assert rig.shown == b""
    rig.output(command("half") + done(0) + PROMPT)
    rig.wait(SETTLE_SEC * 1.1)
    assert rig.mode.state == "editing"


def test_an_unfinished_line_has_its_keys_after_a_moment(rig: Rig) -> None:
    """No mark says that the shell goes on reading (PS2)."""
    number = rig.edit()
    rig.mode.receive(ModeRun(number, "echo '"))
    rig.output(PROMPT + b"echo '")
    rig.keys(b"x'\r")
    rig.output(b"\r\n> ")
    assert rig.sent.endswith(b"\r")
    rig.wait(START_SEC * 1.1)
    assert rig.sent.endswith(b"\rx'\r")
    assert rig.mode.state == "running"


def test_a_control_thread_that_died_costs_the_mode_only(rig: Rig) -> None:
    rig.edit()
    rig.alive = False
    rig.mode.tick()
    assert b"does not work" in rig.shown
    rig.output(PROMPT)
    assert rig.mode.state == "off"


def test_several_lines_need_a_shell_that_takes_pastes(rig: Rig) -> None:
    number = rig.edit()
    rig.mode.receive(ModeRun(number, "a\nb"))
    assert rig.mode.state == "editing"
    assert b"one line at a time" in rig.shown
    again = rig.posted[-1]
    assert isinstance(again, ModeEdit)
    rig.output(b"\x1b[?2004h")
    rig.mode.receive(ModeRun(again.number, "a\n\x1b[201~b"))
    assert (rig.order(LINE_ORDER), rig.order(SHOW_ORDER)) == (None, b"")
    rig.output(PROMPT)
    assert rig.sent == WIDGET + b"\x1b[200~a\r[201~b\x1b[201~\r"


def test_our_editors_drawing_waits_for_what_a_job_prints(rig: Rig) -> None:
    number = rig.edit()
    rig.output(b"job's words")
    at = len(rig.shown)
    rig.mode.receive(ModeText(number, b"drawn", drawing=True))
    rig.mode.receive(ModeText(number, b"answer"))
    assert rig.shown[at:] == b"answer"
    rig.wait(SETTLE_SEC * 1.1)
    assert rig.shown[at:] == b"answer\r\n"


def test_a_shell_without_marks_is_entered_in_silence_and_in_the_foreground(tmp_path: Path) -> None:
    rig = Rig(tmp_path, widget=b"")
    rig.output(b"$ ")
    rig.mode.enter()
    rig.wait(SILENCE_SEC * 0.9)
    assert rig.mode.state == "waiting"
    rig.foreground = False
    rig.wait(SILENCE_SEC)
    assert rig.mode.state == "waiting"
    rig.foreground = True
    rig.nothing_typed = False
    rig.wait(SILENCE_SEC)
    assert rig.mode.state == "waiting"
    rig.nothing_typed = True
    rig.wait(SILENCE_SEC)
    rig.wait(SETTLE_SEC)
    number = rig.posted[-1].number  # type: ignore[union-attr]
    rig.mode.receive(ModeRun(number, "ls"))
    assert rig.sent == b"ls\r"
    rig.output(b"ls\r\n")
    rig.wait(SILENCE_SEC * 0.5)
    assert rig.mode.state == "running"
    rig.output(b"file\r\n$ ")
    rig.wait(SILENCE_SEC * 1.1)
    assert rig.mode.state in ("settling", "editing")


def test_on_the_alternate_screen_we_wait(tmp_path: Path) -> None:
    rig = Rig(tmp_path, widget=b"")
    rig.output(b"\x1b[?1049h")
    rig.mode.enter()
    rig.wait(SILENCE_SEC * 2)
    assert rig.mode.state == "waiting"


@pytest.mark.parametrize("state", ["off", "waiting", "running"])
def test_without_the_screen_nothing_is_undone_at_the_end(rig: Rig, state: str) -> None:
    if state == "waiting":
        rig.mode.enter()
    elif state == "running":
        number = rig.edit()
        rig.mode.receive(ModeRun(number, "ls"))
        rig.output(PROMPT + command("ls"))
    assert rig.mode.state == state
    assert rig.mode.close() == b""
