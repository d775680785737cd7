"""The only writer of our own words into the user's terminal.

Invariants: words appear (a) right before a new prompt's mark, (b) at an idle prompt with nothing typed, through the
shell's own widget, or, in a shell without marks, (c) when they were asked for, after 300 ms of silence. Never on the
alternate screen, never while a command runs, never over something typed. What waits is bounded.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session

MAX_WAITING_CHARS = 256 * 1024  # an answer is a few KiB; a model that never ends is cut here
ACK_SEC = 1.0  # a widget that has not taken its order by then does not work
MAX_MISSES = 3  # in a row: until then the machine was busy, and it is tried again after another prompt
SILENCE_SEC = 0.3  # way (c): the child has stopped printing
DIM, PLAIN = "\x1b[2m", "\x1b[m"
CUT = "[the rest of this answer was too long to keep]\n"
PROMPT_MARK = b"\x1b]7781;neocode;A"
CMD_PROMPT = b";shell=cmd;starts=enter"  # what the end mark in PROMPT goes on with
STRING_END = b"\x1b\\"  # of a mark in PROMPT
_MARKS = re.compile(rb"\x1b\](?:7781|133|633|7|9;9|1337);[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]")
_BARE_END = re.compile(rb"\x1b\]133;D;\d+\x07\Z")


class Situation(Protocol):
    """What the notices ask about the terminal before they write."""

    @property
    def at_idle_prompt(self) -> bool:
        """A prompt is drawn, nothing was typed since, the alternate screen is off."""
        ...

    @property
    def awaits_prompt(self) -> bool:
        """A command has ended and its new prompt has not begun."""
        ...

    @property
    def takes_orders(self) -> bool:
        """Whether the shell has a line editor that could show something."""
        ...

    @property
    def marked(self) -> bool:
        """Whether the shell marks its prompts."""
        ...

    @property
    def quiet_since(self) -> float | None:
        """When the child last printed (monotonic seconds); None while the alternate screen is on."""
        ...

    @property
    def more_follows(self) -> bool:
        """Whether an answer is being made, so that these words are not the last."""
        ...

    @property
    def last_line(self) -> bytes:
        """What draws the row again on which the child stopped printing; nothing when it cannot be told."""
        ...


class Notices:
    """Owns what waits to be shown. `send` gives the shell input, `write` writes to the terminal past the child."""

    def __init__(
        self,
        situation: Situation,
        session: Session,
        widget_key: bytes,
        send: Callable[[bytes], None],
        write: Callable[[bytes], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._situation = situation
        self._session = session
        self._widget_key = widget_key
        self._send = send
        self._write = write
        self._clock = clock
        self._waiting: deque[str] = deque()
        self._chars = 0
        self._cut = False
        self._asked = False
        self._fleeting = False  # the last of what waits is
        self._spoke: float | None = None  # way (c) left an answer unfinished: when the child had last printed
        self._order_deadline: float | None = None
        self._ordered: list[str] = []
        self._misses = 0
        self.widget_works = bool(widget_key)

    @property
    def waiting(self) -> bool:
        """Whether something has still to be shown."""
        return bool(self._waiting) or self._order_deadline is not None

    @property
    def ordering(self) -> bool:
        """Whether the shell has been told to show something and has not done so yet."""
        return self._order_deadline is not None

    def say(self, text: str, *, asked: bool = False, fleeting: bool = False) -> None:
        """Queue lines (safe, LF ends, SGR at most). `asked`: the user waits for them, so way (c) may be used.

        `fleeting`: the next words make them pointless if they have not been shown by then.
        """
        self._asked = self._asked or asked
        if self._fleeting and self._waiting:
            self._chars -= len(self._waiting.pop())
        self._fleeting = fleeting
        if self._chars + len(text) > MAX_WAITING_CHARS:
            if self._cut:
                return
            self._cut, text = True, CUT
        self._waiting.append(text if text.endswith("\n") else text + "\n")
        self._chars += len(self._waiting[-1])

    def want(self) -> bool:
        """What waits is asked for from now on, which matters in a shell without marks; whether anything does."""
        self._asked = self._asked or (self.waiting and not self._situation.marked)
        return self.waiting

    def drop(self) -> None:
        """Forget what waits (a newer answer replaces it)."""
        self._waiting.clear()
        self._chars, self._cut, self._asked, self._fleeting = 0, False, False, False

    def divide(self, data: bytes, nonce: bytes, earlier: bytes = b"") -> tuple[bytes, bytes, bytes] | None:
        """Way (a): where in `data` our words go, if a new prompt begins in it.

        A cut mark is let pass, but for a shell that prints its prompt by pieces: `earlier` is what came before `data`.
        """
        if not self._waiting or self._order_deadline is not None:
            return None
        at = data.find(PROMPT_MARK)
        ended_here = self._ends_in(data[: max(at, 0)], nonce)
        if at >= 0 and (self._situation.awaits_prompt or ended_here):
            at = _first_of_its_line(data, at, nonce)
            return data[:at], self._take(earlier + data[:at]), data[at:]
        cut = _end_of_cut_mark(earlier, data, nonce)
        return None if cut is None else (data[:cut], self._take(earlier + data[:cut]), data[cut:])

    def _ends_in(self, before: bytes, nonce: bytes) -> bool:
        """Whether the bytes in front of a prompt's mark end a command: dash's D has no nonce."""
        if not self._situation.marked and self._situation.quiet_since is not None and _BARE_END.search(before):
            return True
        return b";neocode;D;" in before and nonce in before

    def _take(self, before: bytes) -> bytes:
        text = "".join(self._waiting)
        self.drop()
        self.widget_works = bool(self._widget_key) and self._misses < MAX_MISSES
        visible = _MARKS.sub(b"", before)
        fresh = b"" if not visible or visible.endswith((b"\n", b"\r")) else b"\r\n"
        return fresh + terminal_bytes(text)

    def prompt_drawn(self) -> None:
        """A prompt's end mark passed: the widget has shown what it was ordered to."""
        if self._order_deadline is not None:
            self._order_deadline = None
            self._ordered.clear()
            self._misses = 0

    def tick(self) -> float | None:
        """Show what may be shown now; seconds until it is worth looking again, None when nothing waits."""
        now = self._clock()
        if self._order_deadline is not None:
            if now < self._order_deadline:
                return self._order_deadline - now
            self._give_up_order()
        if not self._waiting:
            return None
        if self.widget_works and self._situation.takes_orders and self._situation.at_idle_prompt:
            self._order(now)
            return ACK_SEC
        if self._asked and not self._situation.marked:
            return self._way_c(now)
        return None

    def _order(self, now: float) -> None:
        """Way (b): the widget prints it and lets the editor draw its prompt again."""
        text = "".join(self._waiting)
        self._session.withdraw(LINE_ORDER)  # one that nobody took is for a line that is gone
        try:
            self._session.write(SHOW_ORDER, text.encode("utf-8", "replace"))
        except OSError:
            self.widget_works = False  # a full disk: way (a) needs none
            return
        self._ordered = list(self._waiting)
        self.drop()
        self._order_deadline = now + ACK_SEC
        self._send(self._widget_key)

    def _give_up_order(self) -> None:
        """The widget did not answer. What it has not taken goes by way (a); what it has taken, a slow prompt delays."""
        self._order_deadline = None
        if self._session.withdraw(SHOW_ORDER):
            self._misses += 1
            self.widget_works = False
            for text in reversed(self._ordered):
                self._waiting.appendleft(text)
        self._ordered = []

    def _way_c(self, now: float) -> float | None:
        since = self._situation.quiet_since
        if since is None:
            return SILENCE_SEC
        left = since + SILENCE_SEC - now
        if left > 0:
            return left
        text = "".join(self._waiting)
        self.drop()
        fresh = b"" if self._spoke == since else b"\r\n"
        self._spoke = since if self._situation.more_follows else None
        self._write(fresh + terminal_bytes(text) + (self._situation.last_line if self._spoke is None else b""))
        return None


def _first_of_its_line(data: bytes, at: int, nonce: bytes) -> int:
    """Where CMD's prompt begins, also if something stands in front of the marks in PROMPT (a Python venv's name).

    Nothing but the prompt is on that line: CMD prints a line end before each.
    """
    mark = data.rfind(b"\x1b]7781;neocode;D;nc=" + nonce + CMD_PROMPT, 0, at)
    return data.rfind(b"\n", 0, mark) + 1 or at if mark >= 0 else at


def _end_of_cut_mark(earlier: bytes, data: bytes, nonce: bytes) -> int | None:
    """Where in `data` CMD's new prompt can still be preceded by our words: before its begin mark, or right behind it
    if the mark began in `earlier`; nothing is to be seen of a prompt before that."""
    whole, known = earlier + data, len(earlier)
    ended = whole.rfind(b"\x1b]7781;neocode;D;nc=" + nonce + CMD_PROMPT) if earlier else -1
    begin = whole.find(PROMPT_MARK, ended) if ended >= 0 else -1
    end = whole.find(STRING_END, begin) + len(STRING_END) if begin >= 0 else -1
    if begin >= known:
        return begin - known
    return end - known if end > known else None


def dim(text: str) -> str:
    """One line of ours that is not the answer itself."""
    return f"{DIM}{text}{PLAIN}\n"


def remark(text: str) -> str:
    """A line in which we speak for ourselves."""
    return dim(f"neocode: {text}")


def terminal_bytes(text: str) -> bytes:
    """Lines for a terminal whose output processing is the child's business: CR LF ends, attributes reset."""
    return text.replace("\n", "\r\n").encode("utf-8", "replace") + b"\x1b[m"
