"""The interactive diagnosis mode (`@ai`) as the pump's thread sees it: who has the keyboard and the screen.

Rules: it takes them only at an idle prompt with nothing typed (in a shell without marks: after silence, with the shell
in the foreground), and gives them to the child for every command; the shell redraws its own prompt, and runs a line
only after the user ended it with Enter. Whatever goes wrong here ends in the child having the keyboard.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ptyproxy.capture import Capture
from ptyproxy.idm import modes
from ptyproxy.idm.beside import SETTLE_SEC, Beside
from ptyproxy.idm.handover import Handover
from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.idm.ports import State, Surroundings, Wires
from ptyproxy.idm.prompt import BELOW, behind_prompt, shows_typed_text, take_off
from ptyproxy.idm.ready import SILENCE_SEC, START_SEC, readiness
from ptyproxy.idm.replies import TERMINALS_OWN, Reports
from ptyproxy.idm.talk import GREETING, Talk
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
)  # fmt: skip
from ptyproxy.notices import remark, terminal_bytes
from ptyproxy.session import Session
from ptyproxy.stream.keys import Input


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
        self._talk: Talk | None = None
        self._prompt_new = False  # one was drawn since the child got the keyboard
        self._rows = 0  # between the shell's prompt's first row and its last
        self._last_output = self._last_sent = clock()
        self._beside = Beside()
        self._handover = Handover(session, widget_key, wires.send)
        self._reports = Reports(capture)

    # -- who has what

    @property
    def has_keyboard(self) -> bool:
        """Whether what is typed is ours."""
        return self.state in ("settling", "editing", "handing", "starting")

    @property
    def visiting(self) -> bool:
        """Whether a visit goes on: nothing is diagnosed by itself."""
        return self.state not in ("off", "waiting")

    @property
    def _talking(self) -> Talk:
        assert self._talk is not None
        return self._talk

    # -- what happens

    def enter(self) -> None:
        """Begin a visit, now or at the next new prompt."""
        if self.state == "off":
            self.state = "waiting"
            self._prompt_new = True

    def key(self, piece: Input) -> bytes:
        """Take a piece of input while we have the keyboard; what of it is the child's."""
        if piece.kind in TERMINALS_OWN:
            return piece.data if self._reports.are_wanted(piece) else b""
        if piece.kind != "release":
            self._keyboard.put(piece)
            self._wires.input_held = self._keyboard.full
        return b""

    def output(self, data: bytes) -> None:
        """The child printed."""
        self._last_output = self._clock()
        if self.state == "editing":
            self._beside.printed(data, self._last_output)

    def prompt_ended(self) -> None:
        """A prompt is drawn."""
        self._prompt_new = True
        if self.state == "handing":
            self._handover.acknowledged()
            self._finish_handover()
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
            if not (message.drawing and self._beside.voids_drawing):
                self._wires.show(message.data)
        elif isinstance(message, ModeRedrawn):
            self._beside.redrawing = False
        elif isinstance(message, ModeQuestion):
            self._post(ModeFinding(self._number, self._tap.happened_since(self._talking.told)))
            self._talking.asked(self._capture.records)
        elif isinstance(message, ModeAnswered):
            self._talking.answered()
        elif isinstance(message, ModeRun) and "\n" in message.line and not self._capture.modes.is_set(modes.PASTE):
            self._say("this shell takes one line at a time; the arrow key brings the text back")
            self._edit()
        elif isinstance(message, ModeRun):
            self._hand_over(message.line)
        else:
            if message.fault:
                self._say(message.fault)
            self._hand_over(None)

    def _say(self, text: str) -> None:
        self._wires.show(terminal_bytes(remark(text)))

    def tick(self) -> float | None:
        """Do what is due; seconds until then."""
        self._wires.input_held = self.has_keyboard and self._keyboard.full
        if self.state in ("waiting", "running"):
            quiet_in = self._last_output + SILENCE_SEC - self._clock()
            wait = readiness(self._capture, self._tap, self._prompt_new, self._in_foreground, quiet_in)
            if wait != 0.0:
                return wait
            self.state = "settling"
            self._wires.size_held = True
        if self.state == "settling":
            return self._settle()
        if self.state == "handing":
            left = self._handover.overdue(self._clock())
            if left > 0:
                return left
            self._finish_handover()
            return 0.0
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
            redraw = ModeRedraw(self._number, False)
            return self._beside.look_after(self._clock(), self._wires.show, lambda: self._post(redraw))
        return None

    # -- taking screen and keyboard

    def _settle(self) -> float:
        """Wait for the end of what the shell draws behind its prompt, then begin."""
        left = self._last_output + SETTLE_SEC - self._clock()
        if left > 0:
            return left
        behind = behind_prompt(self._capture.ring, self._tap.prompt_span)
        if self._capture.authenticated and shows_typed_text(behind, by_place=self._capture.console_line):
            self._yield()  # typed ahead, and read by the shell: it is the shell's line
            self._prompt_new = False
            return SILENCE_SEC
        self._begin_edit()
        return SILENCE_SEC

    def _begin_edit(self) -> None:
        if self._capture.authenticated:
            clear, self._rows = take_off(self._capture.ring, self._tap.prompt_span, self._cols())
        else:
            clear, self._rows = BELOW, 0
        greeting = b""
        if self._talk is None:
            self._visits += 1
            self._talk = Talk(self._visits)
            greeting = terminal_bytes(GREETING)
        self._wires.show(modes.take(self._capture.modes) + clear + greeting)
        self.state = "editing"
        self._edit()

    def _edit(self) -> None:
        self._number += 1
        self._beside = Beside()
        self._post(ModeEdit(self._number, self._talking.id))

    # -- giving them back

    def _release(self) -> None:
        """The child's modes and size are as it wants them; whatever the editor still says is too late."""
        self._number += 1
        self._wires.show(self._beside.go_below() + modes.give_back(self._capture.modes))
        self._wires.size_held = False
        self._wires.release_size()

    def _yield(self) -> None:
        """The child goes on by itself: it has the keyboard, and the keys that nobody has read."""
        if self.state == "editing":
            self._post(ModeTaken(self._number))
            self._beside = Beside()  # what was printed is the command's
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
        if self._handover.begin(line, self._clock(), marked=self._tap.takes_orders and self._capture.authenticated):
            self._finish_handover()

    def _finish_handover(self) -> None:
        self._prompt_new = False
        self._last_output = self._last_sent = self._clock()
        if self._handover.line is None:
            if self._talk is not None:
                self._post(ModeEnded(self._talk.id))
            self._talk = None
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
        return modes.give_back(self._capture.modes) + b"\r\n"
