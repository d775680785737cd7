"""The control thread: one asyncio loop that talks to the assistant, so that the pump never waits for anything.

Invariants: it is started after the user's first prompt and never touches the terminal; whatever fails in it becomes a
message, and a thread that has ended so is started again by the next question; both queues are bounded; `close` takes at
most `CLOSE_SEC`, and the process may end without it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ptyproxy.messages import (
    AllowAutomatic,
    Ask,
    Block,
    Done,
    Failed,
    FromControl,
    ModeEdit,
    Notified,
    Publish,
    Stop,
    ToControl,
)
from ptyproxy.ports import Assistant, AssistantError, ConsentNeeded, NothingSaid

if TYPE_CHECKING:
    import asyncio

    from ptyproxy.idm.visit import Visitor

MAX_MESSAGES = 4096  # each way; an answer has at most a few hundred blocks
# the assistant has its own, shorter deadlines (60 s, 90 s) and knows what to say of them
AUTO_SEC = 65.0
MANUAL_SEC = 95.0
CLOSE_SEC = 1.0


class ControlThread:
    """`post` and `receive` belong to the pump's thread. `wake` is called from here when there is something for it."""

    def __init__(self, make_assistant: Callable[[], Assistant], session_id: str, wake: Callable[[], None]) -> None:
        self._make_assistant = make_assistant
        self._session_id = session_id
        self._wake = wake
        self._to_control: deque[ToControl] = deque(maxlen=MAX_MESSAGES)
        self._from_control: deque[FromControl] = deque(maxlen=MAX_MESSAGES)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # guards `_loop` against a post that races its end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._arrived: asyncio.Event | None = None
        self._closing = False
        self._down = False  # the thread ends by a fault
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._orphans: list[int] = []  # tickets that the thread's end left without an answer
        self._visitor: Visitor | None = None
        self.make_visitor: Callable[[Assistant, Callable[[FromControl], None]], Visitor] | None = None

    # -- the pump's thread

    @property
    def alive(self) -> bool:
        """Whether somebody will read what is posted."""
        return self._thread is not None and self._thread.is_alive() and not self._down

    def start(self) -> None:
        """Start the thread if it does not run."""
        if not self.alive and not self._closing:
            self._down = False
            self._thread = threading.Thread(target=self._run, name="neocode-control", daemon=True)
            self._thread.start()

    def post(self, message: ToControl) -> None:
        """Hand a message over; before the start it waits. A question starts the thread."""
        self._to_control.append(message)
        if isinstance(message, (Ask, ModeEdit)):
            self.start()
        self._notify()

    def receive(self) -> list[FromControl]:
        """What has come since the last call."""
        messages = []
        while self._from_control:
            messages.append(self._from_control.popleft())
        return messages

    def close(self) -> None:
        """End the thread, cancelling what runs. Idempotent."""
        self._closing = True
        self._notify()
        if self._thread is not None:
            self._thread.join(CLOSE_SEC)

    def _notify(self) -> None:
        with self._lock:
            if self._loop is not None and self._arrived is not None:
                self._loop.call_soon_threadsafe(self._arrived.set)

    # -- the control thread

    def _run(self) -> None:
        import asyncio

        try:
            asyncio.run(self._main())
        except AssistantError as error:
            self._give_up(str(error))
        except Exception as error:  # nothing of this thread may reach the user's terminal as a traceback
            self._give_up(f"internal error: {type(error).__name__}")

    def _give_up(self, line: str) -> None:
        """Answer whoever waits. What else is in the queue is for the next thread."""
        tickets = self._orphans
        self._down = True  # a question that comes from here on has a thread of its own
        for message in list(self._to_control):
            if isinstance(message, Ask):
                with suppress(ValueError):  # that thread has it already
                    self._to_control.remove(message)
                    tickets.append(message.ticket)
        for ticket in tickets:
            self._tell(Failed(ticket, line))

    async def _main(self) -> None:
        import asyncio

        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda loop, context: None)  # it would print over what the user has on the screen
        self._tasks, self._orphans, self._visitor = {}, [], None  # of this loop
        assistant = self._make_assistant()
        with self._lock:
            self._loop, self._arrived = loop, arrived
        link = asyncio.create_task(assistant.run(self._session_id, self._notified))
        link.add_done_callback(lambda done: arrived.set())
        try:
            while not self._closing:
                while self._to_control:
                    await self._handle(self._to_control.popleft(), assistant)
                if link.done():
                    link.result()  # raises, if it ended by a fault
                await arrived.wait()
                arrived.clear()
        finally:
            with self._lock:
                self._loop = self._arrived = None
            self._orphans = list(self._tasks)
            await self._end([link, *self._tasks.values()], assistant)

    async def _end(self, tasks: list[asyncio.Task[None]], assistant: Assistant) -> None:
        import asyncio

        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=CLOSE_SEC / 2)
        if self._visitor is not None:
            await self._visitor.close()
        await assistant.close()

    async def _handle(self, message: ToControl, assistant: Assistant) -> None:
        import asyncio

        if isinstance(message, Ask):
            task = asyncio.create_task(self._answer(message, assistant))
            self._tasks[message.ticket] = task
            task.add_done_callback(lambda done: self._tasks.pop(message.ticket, None))
        elif isinstance(message, Stop):
            task_or_none = self._tasks.get(message.ticket)
            if task_or_none is not None:
                task_or_none.cancel()
        elif isinstance(message, Publish):
            await assistant.publish(message.state)
        elif isinstance(message, AllowAutomatic):
            await assistant.allow_automatic(message.allowed)
        else:
            await self._in_mode(assistant).handle(message)

    def _in_mode(self, assistant: Assistant) -> Visitor:
        """Who serves the `@ai` mode; prompt_toolkit is imported with the first visit."""
        if self._visitor is None:
            assert self.make_visitor is not None
            self._visitor = self.make_visitor(assistant, self._tell)
        return self._visitor

    async def _answer(self, ask: Ask, assistant: Assistant) -> None:
        """One question, to its end; every end but a Stop is told."""
        import asyncio

        automatic = ask.finding is not None and ask.finding.automatic
        limit = AUTO_SEC if automatic else MANUAL_SEC
        try:
            answer = await asyncio.wait_for(self._ask(ask, assistant), limit)
        except NothingSaid:
            self._tell(Failed(ask.ticket, ""))
        except AssistantError as error:
            self._tell(Failed(ask.ticket, str(error), isinstance(error, ConsentNeeded)))
        except asyncio.TimeoutError:
            self._tell(Failed(ask.ticket, f"no answer within {limit:g} s"))
        except Exception as error:
            self._tell(Failed(ask.ticket, f"internal error: {type(error).__name__}"))
        else:
            self._tell(answer)

    async def _ask(self, ask: Ask, assistant: Assistant) -> Done:
        def show(text: str) -> None:
            self._tell(Block(ask.ticket, text))

        if ask.question:
            talk = f"idm-{self._session_id.removeprefix('shell-')}-{ask.ticket}"
            try:
                return Done(ask.ticket, await assistant.turn(talk, ask.question, ask.finding, show))
            finally:
                await assistant.end_talk(talk)
        assert ask.finding is not None
        return Done(ask.ticket, await assistant.diagnose(ask.finding, show))

    def _notified(self, action: str, payload: Mapping[str, object]) -> None:
        self._tell(Notified(action, payload))

    def _tell(self, message: FromControl) -> None:
        self._from_control.append(message)
        self._wake()
