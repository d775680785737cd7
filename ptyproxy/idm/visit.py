"""A visit in the `@ai` mode as the control thread sees it: read a line, do what it says, until it is the shell's turn.

Invariants: one talk with the assistant per visit, ended with it; whatever fails in an answer is one line, and the visit
goes on; nothing is written but under the number that the pump gave, so that it can tell what comes too late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from ptyproxy.idm.editor import Editor, Ended
from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.idm.line import chosen_fix, read_line
from ptyproxy.messages import (
    FromMode,
    ModeAnswered,
    ModeEdit,
    ModeEnded,
    ModeFinding,
    ModeLeft,
    ModeQuestion,
    ModeRedraw,
    ModeRedrawn,
    ModeRun,
    ModeText,
    ToMode,
)
from ptyproxy.notices import DIM, PLAIN, dim, remark, terminal_bytes
from ptyproxy.ports import Answer, Assistant, AssistantError, Finding

FINDING_SEC = 5.0  # the pump answers at once, unless it is stopped
ANSWER_SEC = 95.0  # the assistant has its own, shorter deadline
END_TALK_SEC = 0.5  # the process may be ending
STOP_SEC = 2.0  # a cancelled task has a connection to close at most
MARKER_SEC = 0.3
MARKER = "neocode: looking at it ... Ctrl-C stops"
WIPE = b"\r\x1b[K"

MakeEditor = Callable[[Callable[[bytes], None]], Editor]


class Visitor:
    """Serves all visits of one shell. `handle` and `close` belong to the control thread's loop."""

    def __init__(
        self,
        assistant: Assistant,
        tell: Callable[[FromMode], None],
        keyboard: Keyboard,
        make_editor: MakeEditor,
        *,
        marker: bool = True,
    ) -> None:
        """`make_editor(show)`: an editor that draws with `show`."""
        self._assistant = assistant
        self._tell = tell
        self._keyboard = keyboard
        self._make_editor = make_editor
        self._marker = marker
        self._editor: Editor | None = None
        self._number = 0
        self._talk = ""
        self._begun = False  # the assistant has heard of the talk
        self._suggested: tuple[str, ...] = ()
        self._unfinished = ""  # what stood in the line when the screen was taken away
        self._serving: asyncio.Task[None] | None = None
        self._finding: asyncio.Future[Finding | None] | None = None

    async def handle(self, message: ToMode) -> None:
        """What the pump says."""
        if isinstance(message, ModeEdit):
            await self._stop()
            self._number, self._talk = message.number, message.talk
            self._serving = asyncio.create_task(self._serve())
        elif isinstance(message, ModeFinding):
            if self._finding is not None and not self._finding.done():
                self._finding.set_result(message.finding)
        elif isinstance(message, ModeRedraw):
            self._redraw(message)
        else:
            await self._stop()
            if isinstance(message, ModeEnded):
                await self._end_talk()

    def _redraw(self, message: ModeRedraw) -> None:
        if message.number != self._number:
            return
        if not message.size:
            self._tell(ModeRedrawn(self._number))
        if self._editor is not None:
            (self._editor.resized if message.size else self._editor.redraw)()

    async def close(self) -> None:
        """End whatever goes on. Never raises."""
        await self._stop()
        await self._end_talk()

    async def _stop(self) -> None:
        task, self._serving = self._serving, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=STOP_SEC)

    async def _end_talk(self) -> None:
        self._suggested, self._unfinished = (), ""
        if self._begun:
            self._begun = False
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._assistant.end_talk(self._talk), END_TALK_SEC)

    # -- one time of having screen and keyboard

    async def _serve(self) -> None:
        try:
            await self._lines()
        except Exception as error:
            self._tell(ModeLeft(self._number, f"the @ai mode ended by an internal error: {type(error).__name__}"))

    async def _lines(self) -> None:
        editor = self._editor = self._editor or self._make_editor(self._draw)
        text, self._unfinished = self._unfinished, ""
        while True:
            try:
                typed = await editor.read(text)
            except asyncio.CancelledError:
                self._unfinished = editor.text
                raise
            text = ""
            if isinstance(typed, Ended):
                if typed is Ended.LEAVE:
                    self._tell(ModeLeft(self._number))
                    return
                continue
            line = read_line(typed)
            if line.kind == "run":
                self._tell(ModeRun(self._number, line.text))
                return
            if line.kind == "leave":
                self._tell(ModeLeft(self._number))
                return
            if line.kind == "ask":
                await self._ask(line.text)
            elif line.kind == "fix":
                text, reason = chosen_fix(line.number, self._suggested)
                self._say(reason)
            elif line.kind == "hint":
                self._say(line.text)

    # -- a question

    async def _ask(self, question: str) -> None:
        """One turn of the talk, shown as it comes; Ctrl-C ends it, here and at the provider."""
        answer = asyncio.create_task(self._answer(question))
        loop = asyncio.get_running_loop()

        def typed() -> None:
            if self._keyboard.take_interrupt():
                answer.cancel()

        self._keyboard.listen(lambda: loop.call_soon_threadsafe(typed))
        try:
            await asyncio.wait([answer])
        finally:
            self._keyboard.listen(None)
            answer.cancel()
            await asyncio.wait([answer], timeout=STOP_SEC)
        if answer.cancelled():
            self._say("stopped")
        else:
            answer.result()  # a fault of ours ends the visit

    async def _answer(self, question: str) -> None:
        shown = _Shown(self._write, self._marker)
        try:
            finding = await self._ask_for_finding()
            self._begun = True
            answer = await asyncio.wait_for(
                self._assistant.turn(self._talk, question, finding, shown.block), ANSWER_SEC
            )
        except AssistantError as error:
            shown.close()
            self._say(str(error))
        except asyncio.TimeoutError:
            shown.close()
            self._say("no answer came; ask again")
        else:
            shown.close()
            self._tell(ModeAnswered(self._number))
            self._finish(answer)
        finally:
            shown.close()

    async def _ask_for_finding(self) -> Finding | None:
        self._finding = asyncio.get_running_loop().create_future()
        self._tell(ModeQuestion(self._number))
        return await asyncio.wait_for(self._finding, FINDING_SEC)

    def _finish(self, answer: Answer) -> None:
        self._suggested = answer.suggested or answer.fixes
        self._write(terminal_bytes(dim(answer.closing)))
        count = len(self._suggested)
        if count:
            which = (
                "@fix 1 puts the suggested command" if count == 1 else f"@fix 1 to @fix {count} put a suggested command"
            )
            self._say(f"{which} into the line")

    # -- the screen

    def _say(self, text: str) -> None:
        """One dim line of ours."""
        if text:
            self._write(terminal_bytes(remark(text)))

    def _draw(self, data: bytes) -> None:
        self._tell(ModeText(self._number, data, drawing=True))

    def _write(self, data: bytes) -> None:
        self._tell(ModeText(self._number, data))


class _Shown:
    """An answer on its way to the screen, with the marker that stands there while it does not come."""

    def __init__(self, write: Callable[[bytes], None], marker: bool) -> None:
        self._write = write
        self._marked = False
        self._timer = asyncio.get_running_loop().call_later(MARKER_SEC, self._mark) if marker else None

    def _mark(self) -> None:
        self._marked = True
        self._write(f"{DIM}{MARKER}{PLAIN}".encode())

    def close(self) -> None:
        """No marker from here on. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        if self._marked:
            self._marked = False
            self._write(WIPE)

    def block(self, text: str) -> None:
        """Show the next lines."""
        self.close()
        self._write(terminal_bytes(text))
