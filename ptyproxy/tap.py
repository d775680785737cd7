"""What looks at the bytes that pass: capture, keys, and who is told of what they mean. Belongs to the pump's thread.

Invariant: nothing here changes or holds back a byte, but for the hotkey of a shell whose editor cannot bind it,
and the places where `notices` puts our words between two bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ptyproxy.capture import Capture
from ptyproxy.diagnosis import Diagnosis
from ptyproxy.findings import ASK_WORD, Findings
from ptyproxy.integration.hotkey import uses_vi
from ptyproxy.messages import Block, Done, Failed, FromControl, Notified
from ptyproxy.notices import Notices
from ptyproxy.ports import Finding
from ptyproxy.prompt_situation import PromptSituation
from ptyproxy.records import (
    CommandEnded,
    CommandRecord,
    CommandStarted,
    Event,
    HotkeyPressed,
    PromptBegan,
    PromptEnded,
)
from ptyproxy.stream.keys import Input
from ptyproxy.typed_line import TimedKeys

if TYPE_CHECKING:
    from ptyproxy.idm.mode import Mode

INTERRUPT = b"\x03"
START_ANYWAY_SEC = 1.0  # a shell without marks never says that its prompt is there


class ShellTap(PromptSituation):
    """Implements `pump.Tap`, and `notices.Situation` for the notices. `attach` it before the pump runs."""

    def __init__(
        self,
        capture: Capture,
        kind: str,
        *,
        cols: Callable[[], int],
        receive: Callable[[], list[FromControl]],
        hotkey: int,
        hotkey_key: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(capture, TimedKeys(hotkey, clock), clock)
        self.findings = Findings(capture, kind, cols)
        self._tells_codes = kind != "cmd"  # at least sometimes: an unknown code is then nothing to wonder about
        self._receive = receive
        self._hotkey = bytes((hotkey,))
        self._hotkey_key = hotkey_key  # what the line editor takes in its place; see `integration.base.Plan`
        self._start_by: float | None = clock() + START_ANYWAY_SEC
        self._told = (False, False)  # whether a diagnosis is made, whether a command runs
        self._piecewise = False  # input goes to the child by whole pieces: one was begun in the `@ai` mode
        self.prompt_span = (0, 0)  # the newest prompt, in the stream: from its begin mark to its end mark
        self.on_state: Callable[[], None] = lambda: None
        self.on_start: Callable[[], None] = lambda: None  # the first prompt shows, or there will be no mark of it
        self.on_mode: Callable[[], None] | None = None  # enters the `@ai` mode

    def attach(self, notices: Notices, diagnosis: Diagnosis, nonce: str) -> None:
        """Name those who are told."""
        self.notices = notices
        self.diagnosis = diagnosis
        self._nonce = nonce.encode()

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Way (a), see `notices`."""
        earlier = self.capture.prompt_so_far
        return self.notices.divide(data, self._nonce, earlier()) if self.notices.waiting else None

    def output(self, data: bytes) -> None:
        """The child printed."""
        self._last_output = self._clock()
        if self.mode is not None:
            self.mode.output(data)
        for event in self.capture.feed(data):
            self._happened(event)

    def input(self, data: bytes) -> bytes:
        """The user typed, or the terminal answered a query."""
        if self.mode is not None and (self._piecewise or self.mode.has_keyboard):
            return self._input_beside(self.mode, data)
        state = self.capture.state
        forwarded = data
        whole = not self._keys.pending
        pieces = self._keys.feed(data)
        for piece in pieces:
            at = piece.start - pieces[0].start + len(forwarded) - len(data)  # where it lies, when all is in `data`
            if piece.kind == "hotkey" and whole and self._takes_hotkey(piece, state):
                forwarded = forwarded[:at] + forwarded[at + len(piece.data) :]
                self.diagnosis.hotkey("other")
            else:
                if piece.kind == "hotkey" and whole and self._editor_takes_hotkey(state):
                    forwarded = forwarded[:at] + self._hotkey_key + forwarded[at + len(piece.data) :]
                self._typed_piece(piece, state)
        return forwarded

    def _input_beside(self, mode: Mode, data: bytes) -> bytes:
        """Input while the `@ai` mode has the keyboard, or has just given it back in the middle of a sequence."""
        forwarded = b""
        for piece in self._keys.feed(data):
            if mode.has_keyboard:
                forwarded += mode.key(piece)
            else:
                self._typed_piece(piece, self.capture.state)
                forwarded += piece.data
        self._piecewise = mode.has_keyboard or self._keys.pending
        return forwarded

    def resized(self, rows: int, cols: int) -> None:
        """Findings ask for the size when they are made."""
        if self.mode is not None:
            self.mode.resized()

    def tick(self) -> float | None:
        """Messages of the control thread, and whatever is due."""
        for message in self._receive():
            if isinstance(message, Notified):
                self._notified(message.action)
            elif isinstance(message, (Block, Done, Failed)):
                self.diagnosis.receive(message)
            elif self.mode is not None:
                self.mode.receive(message)
        self._tell_state()
        if self._keys.wait() == 0.0:
            self._flushed()
        waits = [self.diagnosis.tick(), self.notices.tick(), self._keys.wait()]
        if self.mode is not None:
            waits.append(self.mode.tick())
        if self._start_by is not None and (left := self._start_by - self._clock()) > 0:
            waits.append(left)
        else:
            self._start()
        return min((wait for wait in waits if wait is not None), default=None)

    def _tell_state(self) -> None:
        told = (self.diagnosis.busy, self.capture.state == "output")
        if told != self._told:
            self._told = told
            self.on_state()

    def _flushed(self) -> None:
        """An Escape that nothing followed."""
        pieces = self._keys.flush()
        if self.mode is not None and self.mode.has_keyboard:
            for piece in pieces:
                self.mode.key(piece)
        elif self.mode is not None and self._piecewise:
            self._piecewise = False
            self.mode.give(pieces)
        else:
            self.typed_ahead(pieces)

    @property
    def words_on_their_way(self) -> bool:
        """The shell has been told to show something and has not done so yet."""
        return self.notices.ordering

    def happened_since(self, number: int | None) -> Finding | None:
        """The commands after record `number`, None when there are none; without a number the recent past."""
        return self.findings.since(number)

    def typed_ahead(self, pieces: list[Input]) -> None:
        """These keys are the child's."""
        for piece in pieces:
            self._typed_piece(piece, self.capture.state)

    def left_mode(self) -> None:
        """What was typed in the `@ai` mode was not typed at the shell's prompt."""
        self._keys.prompt()

    @property
    def more_follows(self) -> bool:
        """Whether a diagnosis is being made."""
        return self.diagnosis.busy

    def _editor_takes_hotkey(self, state: str) -> bool:
        """Whether the line editor waits for a key, in no search or menu of its own, and has left the hotkey to us."""
        ours = bool(self._hotkey_key) and self.capture.facts.get("hotkey") == "ours"
        return ours and state == "input" and self._line.plain

    def _typed_piece(self, piece: Input, state: str) -> None:
        self._line.typed(piece, at_prompt=state == "input")
        if state == "output":
            self.findings.typed_ahead.typed(piece.kind, piece.data, self.capture.ring.end)
        if piece.data == INTERRUPT and state == "input":
            self.diagnosis.interrupted()
        if piece.kind == "enter":
            for event in self.capture.enter(typed=piece.typed):
                self._happened(event)

    def _takes_hotkey(self, piece: Input, state: str) -> bool:
        """Only for a shell whose editor does not bind it: before anything was typed, at a prompt if it tells them."""
        if self.capture.authenticated:
            return self.capture.facts.get("hotkey") == "taken" and self.at_idle_prompt and not piece.typed
        at_prompt = state == "input" or self.prompt_span == (0, 0)
        return at_prompt and not piece.typed and self.quiet_since is not None

    def _happened(self, event: Event) -> None:
        if isinstance(event, CommandEnded):
            self._ended = True
            self._command_ended(event.record)
        elif isinstance(event, CommandStarted):
            self._ended = False
            if self.mode is not None:
                self.mode.command_started()
        elif isinstance(event, PromptBegan):
            self.prompt_span = (event.start, event.start)
            if event.new:
                self._ended = False
                self._keys.prompt()
                self._line.prompt(vi=uses_vi(self.capture.facts))
        elif isinstance(event, PromptEnded):
            self.notices.prompt_drawn()
            self.prompt_span = (self.prompt_span[0], event.start)
            if self.mode is not None:
                self.mode.prompt_ended()
            self._start()
        elif isinstance(event, HotkeyPressed):
            self.diagnosis.hotkey("other" if self._line.changed else event.fields.get("line", "other"))

    def _start(self) -> None:
        if self._start_by is not None:
            self._start_by = None
            self.on_start()

    def _command_ended(self, record: CommandRecord) -> None:
        words = (record.command or "").split(None, 1)
        if words[:1] == [ASK_WORD]:
            self._at_ai("".join(words[1:]))
        else:
            self.diagnosis.held = self.mode is not None and self.mode.visiting
            by_text = not self._tells_codes and self.capture.authenticated
            self.diagnosis.command_ended(record, hidden=self._line.hidden, by_text=by_text)
        self.on_state()

    def _at_ai(self, question: str) -> None:
        if question:
            self.diagnosis.ask_question(question, self.findings.latest())
        elif self.on_mode is not None:
            self.on_mode()

    def _notified(self, action: str) -> None:
        if action == "diagnose":
            running = self.findings.running(self.diagnosis.is_ours) if self.marked else None
            self.diagnosis.requested(running or self.findings.before_ours(self.diagnosis.is_ours))
        elif action == "idm_enter" and self.on_mode is not None:
            self.on_mode()
        elif action in ("auto_on", "auto_off"):
            self.diagnosis.switch(action == "auto_on")
            self.on_state()
