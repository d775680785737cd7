"""The interactive diagnosis mode (`@ai`) as the pump's thread sees it: who has the keyboard and the screen.

Rules: it takes them only at an idle prompt with nothing typed (in a shell without marks: after silence, with the shell
in the foreground), and gives them to the child for every command; the shell redraws its own prompt, and runs a line
only after the user ended it with Enter. Whatever goes wrong here ends in the child having the keyboard.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from secrets import token_hex
from typing import Literal, NamedTuple, Protocol

from ptyproxy import idm_modes
from ptyproxy.capture import Capture
from ptyproxy.idm_keyboard import Keyboard
from ptyproxy.idm_prompt import prompt_room, shows_anything, shows_typed_text
from ptyproxy.idm_replies import was_asked
from ptyproxy.messages import (
    FromMode,
    ModeAnswered,
    ModeEdit,
    ModeEnded,
    ModeFinding,
    ModeQuestion,
    ModeRedraw,
    ModeRedrawn,
    ModeRun,
    ModeTaken,
    ModeText,
    ToControl,
)
from ptyproxy.notices import terminal_bytes
from ptyproxy.ports import Finding
from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session
from ptyproxy.stream.keys import Input

State = Literal["off", "waiting", "settling", "editing", "handing", "starting", "running"]

SETTLE_SEC = 0.03  # what a shell draws behind its prompt (right prompt, modes) comes within it
REDRAW_SEC = 0.3  # our line is drawn again so often while a background job prints without a pause
SILENCE_SEC = 0.3  # a shell without marks: its prompt is there when nothing has come for so long
ACK_SEC = 1.0  # a widget that has not redrawn its prompt by then does not work
# Keys that come before the command has begun are kept so long: the shell's editor, which still has its terminal, would
# take a carriage return for itself or leave it to the command as it is. A line that is not complete begins nothing.
START_SEC = 0.3
RECENT_BYTES = 64 * 1024  # of output, in which the question to a reply is looked for
BEFORE_BYTES = 512  # of output ahead of a prompt, to know whether it began at the first column
PASTE_MODE, FOCUS_MODE = 2004, 1004
DIM, PLAIN = "\x1b[2m", "\x1b[m"
GREETING = (
    f"{DIM}neocode: @ai QUESTION asks about this shell; any other line runs in it{PLAIN}\n"
    f"{DIM}neocode: @fix N takes a suggested command; exit or Ctrl-D leaves{PLAIN}\n"
)


class Wires(Protocol):
    """What the mode needs of the pump."""

    size_held: bool
    input_held: bool

    def send(self, data: bytes) -> None:
        """Give the child input."""
        ...

    def show(self, data: bytes) -> None:
        """Write to the terminal."""
        ...

    def release_size(self) -> None:
        """Tell the child the terminal's size, after `size_held`."""
        ...


class Surroundings(Protocol):
    """What the mode needs of the tap."""

    @property
    def prompt_is_idle(self) -> bool:
        """A prompt is drawn, nothing was typed since, the alternate screen is off."""
        ...

    @property
    def prompt_span(self) -> tuple[int, int]:
        """Where the newest prompt lies in the stream, from its begin mark to its end mark."""
        ...

    @property
    def nothing_typed(self) -> bool:
        """Nothing was typed since the last Enter or prompt, and no sequence is half read."""
        ...

    @property
    def words_on_their_way(self) -> bool:
        """The shell is being made to show something of ours."""
        ...

    def happened_since(self, number: int | None) -> Finding | None:
        """The commands after record `number`; None: the recent past, or the screen."""
        ...

    def typed_ahead(self, pieces: list[Input]) -> None:
        """These keys are the child's after all."""
        ...

    def left_mode(self) -> None:
        """The child has the keyboard again, and nothing is typed in its line."""
        ...


class Handover(NamedTuple):
    """Why the shell gets the screen back: to run `line`, or (None) because the visit is over."""

    line: str | None
    deadline: float


class Mode:
    """`cols`: the terminal's width. `in_foreground`: whether the shell itself has its terminal, None: unknown."""

    def __init__(
        self,
        capture: Capture,
        session: Session,
        widget_key: bytes,
        wires: Wires,
        tap: Surroundings,
        keyboard: Keyboard,
        post: Callable[[ToControl], None],
        *,
        cols: Callable[[], int],
        in_foreground: Callable[[], bool | None],
        control_alive: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capture = capture
        self._session = session
        self._widget_key = widget_key
        self._wires = wires
        self._tap = tap
        self._keyboard = keyboard
        self._post = post
        self._cols = cols
        self._in_foreground = in_foreground
        self._control_alive = control_alive
        self._clock = clock
        self.state: State = "off"
        self._number = 0
        self._visits = 0
        self._talk = ""
        self._told: int | None = None  # the newest record that the talk knows of
        self._asked_upto = 0
        self._prompt_new = False  # one was drawn since the child got the keyboard
        self._rows = 0  # between the shell's prompt's first row and its last
        self._last_output = self._last_sent = clock()
        self._disturbed: float | None = None  # since when something else was printed, and our line is not drawn
        self._redrawing = False
        self._line_open = False  # what disturbed us did not end its line
        self._handover: Handover | None = None
        self._reply_passes = False

    # -- who has what

    @property
    def has_keyboard(self) -> bool:
        """Whether what is typed is ours."""
        return self.state in ("settling", "editing", "handing", "starting")

    @property
    def visiting(self) -> bool:
        """Whether a visit goes on: nothing is diagnosed by itself."""
        return self.state not in ("off", "waiting")

    # -- what happens

    def enter(self) -> None:
        """Begin a visit, now or at the next new prompt."""
        if self.state == "off":
            self.state = "waiting"
            self._prompt_new = True

    def key(self, piece: Input) -> bytes:
        """Take a piece of input while we have the keyboard; what of it is the child's."""
        if piece.kind == "reply":
            if piece.data[:1] == b"\x1b":  # else it goes on with one too long to be read at once
                self._reply_passes = was_asked(piece.data, self._recent_output())
            return piece.data if self._reply_passes else b""
        modes = self._capture.modes
        if piece.kind == "focus":
            return piece.data if modes.is_set(FOCUS_MODE) else b""
        if piece.kind == "mouse":
            return piece.data if modes.mouse else b""
        if piece.kind != "release":
            self._keyboard.put(piece)
            self._wires.input_held = self._keyboard.full
        return b""

    def _recent_output(self) -> bytes:
        """What the child printed since the last command ended: who asked before that does not read any more."""
        capture = self._capture
        start = max(0, capture.ring.end - RECENT_BYTES)
        if capture.records:
            start = max(start, capture.records[-1].end or 0)
        return capture.ring.snapshot(start).data

    def output(self, data: bytes) -> None:
        """The child printed."""
        self._last_output = self._clock()
        if self.state == "editing" and shows_anything(data):
            self._disturbed = self._disturbed or self._last_output
            self._line_open = not data.endswith(b"\n")

    def prompt_ended(self) -> None:
        """A prompt is drawn."""
        self._prompt_new = True
        if self.state == "handing":
            self._acknowledged()
        elif self.state == "starting":
            self.state = "running"  # nothing ran; what was typed meanwhile is for our editor

    def command_started(self) -> None:
        """A command runs although nobody told it to: it was typed ahead. The child has the keyboard again."""
        if self.state in ("settling", "editing"):
            self._yield()
        elif self.state == "starting":
            self._begin_running()
        self._prompt_new = False

    def resized(self) -> None:
        """The terminal has a new size; the shell gets to know it when it has the screen."""
        if self.state == "editing":
            self._post(ModeRedraw(self._number, True))

    def receive(self, message: FromMode) -> None:
        """What the control thread says; what comes too late is ignored."""
        if message.number != self._number or self.state != "editing":
            return
        if isinstance(message, ModeText):
            if not (message.drawing and (self._redrawing or self._disturbed)):
                self._wires.show(message.data)
        elif isinstance(message, ModeRedrawn):
            self._redrawing = False
        elif isinstance(message, ModeQuestion):
            self._asked_upto = self._capture.records[-1].number if self._capture.records else 0
            self._post(ModeFinding(self._number, self._tap.happened_since(self._told)))
        elif isinstance(message, ModeAnswered):
            self._told = self._asked_upto
        elif isinstance(message, ModeRun) and "\n" in message.line and not self._capture.modes.is_set(PASTE_MODE):
            self._say("this shell takes one line at a time; the arrow key brings the text back")
            self._edit()
        elif isinstance(message, ModeRun):
            self._hand_over(message.line)
        else:
            if message.fault:
                self._say(message.fault)
            self._hand_over(None)

    def _say(self, text: str) -> None:
        self._wires.show(terminal_bytes(f"{DIM}neocode: {text}{PLAIN}\n"))

    def tick(self) -> float | None:
        """Do what is due; seconds until then."""
        self._wires.input_held = self.has_keyboard and self._keyboard.full
        if self.state in ("waiting", "running"):
            wait = self._readiness()
            if wait != 0.0:
                return wait
            self.state = "settling"
            self._wires.size_held = True
        if self.state == "settling":
            return self._settle()
        if self.state == "handing":
            return self._await_acknowledgement()
        if self.state == "starting":
            left = self._last_sent + START_SEC - self._clock()
            if left > 0:
                return left
            self._begin_running()
        if self.state == "editing":
            if not self._control_alive():
                self._say("the @ai mode does not work in this shell any more")
                self._hand_over(None)
                return 0.0
            return self._look_after_screen()
        return None

    # -- taking screen and keyboard

    def _readiness(self) -> float | None:
        """0.0 when they may be taken; else seconds until it is worth asking again, None: something must happen."""
        if not self._prompt_new and self._capture.authenticated:
            return None
        if self._capture.authenticated:
            return 0.0 if self._tap.prompt_is_idle and not self._tap.words_on_their_way else None
        if self._capture.modes.alternate or not self._tap.nothing_typed:
            return None
        left = self._last_output + SILENCE_SEC - self._clock()
        if left > 0:
            return left
        return 0.0 if self._in_foreground() is not False else SILENCE_SEC

    def _settle(self) -> float:
        """Wait for the end of what the shell draws behind its prompt, then begin."""
        left = self._last_output + SETTLE_SEC - self._clock()
        if left > 0:
            return left
        if shows_typed_text(self._behind_prompt()):
            self._yield()  # typed ahead, and read by the shell: it is the shell's line
            self._prompt_new = False
            return SILENCE_SEC
        self._begin_edit()
        return SILENCE_SEC

    def _behind_prompt(self) -> bytes:
        if not self._capture.authenticated:
            return b""
        return self._capture.ring.snapshot(self._tap.prompt_span[1]).data

    def _begin_edit(self) -> None:
        first = not self._talk
        if first:
            self._visits += 1
            self._talk = f"idm-{os.getpid()}-{self._visits}-{token_hex(4)}"
            self._told = None
        data = idm_modes.take(self._capture.modes) + self._cleared()
        self._wires.show(data + (terminal_bytes(GREETING) if first else b""))
        self.state = "editing"
        self._edit()

    def _edit(self) -> None:
        self._number += 1
        self._disturbed, self._redrawing = None, False
        self._post(ModeEdit(self._number, self._talk))

    def _cleared(self) -> bytes:
        """Takes the shell's prompt off the screen when that can be done exactly, else goes below it."""
        self._rows = 0
        if not self._capture.authenticated:
            return b"\r\n"
        ring = self._capture.ring
        begin, end = self._tap.prompt_span
        before = ring.snapshot(max(0, begin - BEFORE_BYTES), begin).data
        after = self._behind_prompt()
        room = prompt_room(before, ring.snapshot(begin, end).data, after, self._cols())
        self._rows = room.rows
        if not room.clear:
            return b"\r\n"
        return (b"\x1b[%dA" % room.rows if room.rows else b"") + b"\r\x1b[J"

    def _look_after_screen(self) -> float | None:
        """What the child prints beside us (a background job) is followed by our line, drawn again."""
        if self._disturbed is None:
            return None
        left = min(self._last_output + SETTLE_SEC, self._disturbed + REDRAW_SEC) - self._clock()
        if left > 0:
            return left
        self._go_below()
        self._redrawing = True
        self._post(ModeRedraw(self._number, False))
        return None

    def _go_below(self) -> None:
        """To a row of our own, if something else was printed."""
        if self._disturbed is not None and self._line_open:
            self._wires.show(b"\r\n")
        self._disturbed = None

    # -- giving them back

    def _release(self) -> None:
        """The child's modes and size are as it wants them; whatever the editor still says is too late."""
        self._number += 1
        self._go_below()
        self._wires.show(idm_modes.give_back(self._capture.modes))
        self._wires.size_held = False
        self._wires.release_size()

    def _yield(self) -> None:
        """The child goes on by itself: it has the keyboard, and the keys that nobody has read."""
        if self.state == "editing":
            self._post(ModeTaken(self._number))
            self._disturbed = None  # what was printed is the command's
            self._release()
        else:
            self._wires.size_held = False
            self._wires.release_size()
        self.state = "running"
        self._pass_on()

    def _hand_over(self, line: str | None) -> None:
        """Make the shell draw its prompt, with `line` in it, and go on when it has."""
        self._release()
        self._wires.show(b"\r\n" * self._rows)
        self.state = "handing"
        self._handover = Handover(line, self._clock() + ACK_SEC)
        if not self._order(line):
            self._without_widget()

    def _order(self, line: str | None) -> bool:
        if not self._widget_key or not self._capture.authenticated:
            return False
        try:
            if line is not None and "\n" not in line:
                self._session.write(LINE_ORDER, line.encode("utf-8", "replace"))
            self._session.write(SHOW_ORDER, b"")
        except OSError:
            self._session.withdraw(LINE_ORDER)
            return False
        self._wires.send(self._widget_key)
        return True

    def _await_acknowledgement(self) -> float:
        assert self._handover is not None
        left = self._handover.deadline - self._clock()
        if left > 0:
            return left
        self._widget_key = b""
        for order in (LINE_ORDER, SHOW_ORDER):
            self._session.withdraw(order)
        self._without_widget()
        return 0.0

    def _acknowledged(self) -> None:
        """The shell has drawn its prompt, with the line in it."""
        assert self._handover is not None
        line = self._handover.line
        if line is not None:
            self._wires.send((_pasted(line) if "\n" in line else b"") + b"\r")
        self._finish_handover(line)

    def _without_widget(self) -> None:
        """The line's bytes and Enter; for a prompt Enter alone."""
        assert self._handover is not None
        line = self._handover.line
        self._wires.send(_typed(line or "") + b"\r")
        self._finish_handover(line)

    def _finish_handover(self, line: str | None) -> None:
        self._handover = None
        self._prompt_new = False
        self._last_output = self._last_sent = self._clock()
        if line is None:
            self._post(ModeEnded(self._talk))
            self._talk = ""
            self.state = "off"
            self._tap.left_mode()
            self._pass_on()
        elif self._capture.authenticated:
            self.state = "starting"
        else:
            self._begin_running()

    def _begin_running(self) -> None:
        self.state = "running"
        self._pass_on()

    def _pass_on(self) -> None:
        """What was typed behind the Enter is for whatever runs now."""
        self._wires.input_held = False
        self.give(self._keyboard.take_all())

    def give(self, pieces: list[Input]) -> None:
        """Pass keys on to the child."""
        self._tap.typed_ahead(pieces)
        self._wires.send(b"".join(piece.data for piece in pieces))

    def close(self) -> bytes:
        """The proxy ends; what undoes our editor's modes, if it has the screen."""
        if self.state != "editing":
            return b""
        return idm_modes.give_back(self._capture.modes) + b"\r\n"


def _pasted(line: str) -> bytes:
    """Several lines as a paste, which the shell's editor takes as one text."""
    text = "".join(char for char in line if char.isprintable() or char in "\t\n")
    return b"\x1b[200~" + text.replace("\n", "\r").encode("utf-8", "replace") + b"\x1b[201~"


def _typed(line: str) -> bytes:
    """A line as keys: nothing in it may be one of an editor's commands."""
    if "\n" in line:
        return _pasted(line)
    return "".join(char if char.isprintable() else " " for char in line).encode("utf-8", "replace")
