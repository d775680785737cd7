"""`ptyproxy.ports.Assistant` over the gateway: diagnoses, `@ai` turns and notifications of one wrapped shell.

Invariants: no captured text leaves this process but through the redacting child; a remote provider is not asked
automatically without consent; every answer ends, within its deadline, in an Answer, an AssistantError or our being
cancelled, and in each case the run at the gateway ends too. Everything belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, TypeVar

from neocode.ask.types import DIAGNOSIS_QUESTION, TERMINAL_DIAGNOSIS, AskEvent, AskParams
from neocode.config import OFFLINE
from neocode.errors import NeocodeError
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.link import GatewayLink
from neocode.gateway.protocol import RpcError
from neocode.providers.openai.endpoint import UNKNOWN_ORIGIN
from neocode.shell.child import extract
from neocode.shell.consent import Consent
from neocode.shell.context import context_of, job_of
from neocode.shell.job import Job, Result
from neocode.shell.publisher import Publisher
from ptyproxy.ports import Answer, AssistantError, ConsentNeeded, Finding, NothingSaid, Show
from ptyproxy.sanitize import sanitize_line

if TYPE_CHECKING:
    from neocode.shell.view import AnswerView

AUTO_SEC = 60.0
MANUAL_SEC = 90.0
FORGET_SEC = 1.0  # for the gateway to forget a talk; it does so by itself some time after we have left
CLEANUP_SEC = 0.4  # of `close`, for sessions that are being deleted
LEAVE_SEC = 0.5  # of `close`, for the connection
MAX_LINE_CHARS = 400  # of an error; a person reads no longer line
DEFAULT_COLS = 80

T = TypeVar("T")


class ShellAssistant:
    """`literals`: secrets of this session that are masked as they are (the nonce). `cols`: the terminal's width now."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        literals: tuple[str, ...] = (),
        cols: Callable[[], int] = lambda: DEFAULT_COLS,
        color: bool = True,
        auto_sec: float = AUTO_SEC,
        manual_sec: float = MANUAL_SEC,
    ) -> None:
        self._link = GatewayLink(endpoint)
        self._literals = literals
        self._cols = cols
        self._color = color
        self._auto_sec = auto_sec
        self._manual_sec = manual_sec
        self._publisher: Publisher | None = None
        self._state: Mapping[str, object] = {}
        self._consent = Consent()
        self._wish: bool | None = None  # of the user, not yet remembered for a provider
        self._numbers = count(1)
        self._talks: set[str] = set()  # that have an answered turn
        self._background: set[asyncio.Task[None]] = set()
        self._closed = False

    async def run(self, session_id: str, notified: Callable[[str, Mapping[str, object]], None]) -> None:
        """See `Assistant.run`."""
        self._publisher = Publisher(self._link, session_id, self._literals)
        self._publisher.publish(self._state)
        publishing = asyncio.create_task(self._publisher.run())
        self._link.start()
        try:
            while True:
                note = await self._link.notification()
                if note.session_id == session_id:
                    notified(note.action, note.payload or {})
        finally:
            publishing.cancel()
            await asyncio.wait([publishing])

    async def publish(self, state: Mapping[str, object]) -> None:
        """See `Assistant.publish`. Returns at once."""
        self._state = dict(state)
        if self._publisher is not None:
            self._publisher.publish(state)

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        """See `Assistant.diagnose`."""
        limit = self._auto_sec if finding.automatic else self._manual_sec
        session_id = f"diag-ask-{os.getpid()}-{next(self._numbers)}-{token_hex(4)}"
        finding = finding._replace(near=())
        try:
            return await self._within(limit, self._ask(session_id, DIAGNOSIS_QUESTION, finding, show))
        finally:
            self._later(self.end_talk(session_id))

    async def turn(self, talk: str, question: str, finding: Finding | None, show: Show) -> Answer:
        """See `Assistant.turn`."""
        answer = await self._within(self._manual_sec, self._ask(talk, question, finding, show))
        self._talks.add(talk)
        return answer

    async def end_talk(self, talk: str) -> None:
        """See `Assistant.end_talk`."""
        self._talks.discard(talk)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._link.delete_session(talk), FORGET_SEC)

    async def allow_automatic(self, allowed: bool) -> None:
        """See `Assistant.allow_automatic`. Returns at once; a diagnosis that follows knows of it."""
        self._wish = allowed
        self._later(self._remember_wish())

    async def close(self) -> None:
        """See `Assistant.close`."""
        if self._closed:
            return
        self._closed = True
        if self._background:
            await asyncio.wait(self._background, timeout=CLEANUP_SEC)
        for task in list(self._background):
            task.cancel()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._link.close(), LEAVE_SEC)

    # -- one question

    async def _within(self, limit: float, work: Coroutine[None, None, T]) -> T:
        """`work` within `limit` seconds, and every failure as one line."""
        try:
            return await asyncio.wait_for(work, limit)
        except asyncio.TimeoutError:
            raise AssistantError(f"no complete answer within {limit:g} s; Ctrl+G asks again") from None
        except NeocodeError as error:
            raise AssistantError(sanitize_line(error.one_line(), MAX_LINE_CHARS)) from error
        except OSError as error:
            raise AssistantError(sanitize_line(f"{error.strerror or error}; try again", MAX_LINE_CHARS)) from error

    async def _ask(self, session_id: str, question: str, finding: Finding | None, show: Show) -> Answer:
        known = finding is None and session_id in self._talks
        job = job_of(finding, self._literals, question)
        result = await (self._if_failed(job) if finding and finding.unsure else self._while_connecting(extract(job)))
        if finding is not None and finding.automatic:
            await self._require_consent()
        context = None if known else context_of(finding, result)
        workdir = context.cwd if context else ""
        params = AskParams(result.texts[0], session_id, (TERMINAL_DIAGNOSIS,), workdir, context)
        from neocode.shell.view import AnswerView  # markdown-it, wcwidth: only once there is an answer

        view = AnswerView(finding.cols if finding else self._cols(), self._color, show)
        return _finished(await self._followed(params, view), view, result)

    async def _if_failed(self, job: Job) -> Result:
        """What becomes of `job` when its output says that something failed. Raises NothingSaid when it does not."""
        try:
            result = await extract(job)
        except NeocodeError:
            raise NothingSaid from None  # nobody asked, and nothing may have been wrong
        if not result.failed:
            raise NothingSaid
        return result

    async def _while_connecting(self, work: Coroutine[None, None, T]) -> T:
        """`work`, while the gateway is reached, or started, at the same time."""
        task = asyncio.create_task(work)
        try:
            await self._link.client()
            return await task
        finally:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # seen: the connection's failure is told instead

    async def _followed(self, params: AskParams, view: AnswerView) -> AskEvent:
        """Ask and show what comes; the ask_done event. A run that is left early is cancelled at the gateway."""
        stream = await self._link.ask(params)
        try:
            async for event in stream:
                if event.event_type == "ask_chunk":
                    view.feed(str(event.payload.get("delta", "")))
                elif event.event_type == "ask_done":
                    view.finish()
                    return event
                else:
                    view.finish()
                    raise NeocodeError(str(event.payload.get("message", "")), str(event.payload.get("hint", "")))
        finally:
            self._later(stream.cancel())
        raise NeocodeError("the answer broke off", "ask again")

    # -- consent

    async def _require_consent(self) -> None:
        """Raise ConsentNeeded when the provider in use is remote and was not allowed."""
        name, origin = await self._provider()
        if self._wish is not None:
            await self._remember(name, origin)
        if origin and not self._consent.allowed(name, origin):
            raise ConsentNeeded(
                sanitize_line(
                    f"nothing is sent to {name} ({origin}) by itself; neocode diag auto on allows it, Ctrl+G asks once",
                    MAX_LINE_CHARS,
                )
            )

    async def _provider(self) -> tuple[str, str]:
        """Name and origin of the provider that the gateway uses, which alone knows; an empty origin is this machine.

        One that does not say is far away.
        """
        client = await self._link.client()
        try:
            status = await client.call("gateway.status", {})
        except RpcError:  # another program's gateway
            return "the gateway's provider", UNKNOWN_ORIGIN
        name = str(status.get("provider", ""))
        return name, "" if name == OFFLINE else str(status.get("origin", UNKNOWN_ORIGIN))

    async def _remember_wish(self) -> None:
        await self._remember(*await self._provider())

    async def _remember(self, name: str, origin: str) -> None:
        wish, self._wish = self._wish, None
        if wish is not None and origin:
            with suppress(NeocodeError):  # it still holds in this shell
                await asyncio.to_thread(self._consent.allow, name, origin, wish)

    # -- what goes on after we have answered

    def _later(self, work: Awaitable[None]) -> None:
        """Do it in the background; what fails there is nobody's concern."""

        async def quietly() -> None:
            with suppress(NeocodeError, OSError):
                await work

        task = asyncio.create_task(quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _finished(done: AskEvent, view: AnswerView, result: Result) -> Answer:
    """What the whole answer comes to."""
    from neocode.render.answer import parse_answer
    from neocode.render.summary import answer_facts, closing_line
    from neocode.shell.view import insertable_fixes

    facts = answer_facts(
        done.payload,
        masked=result.masked + sum(output.masked for output in result.outputs),
        truncated=any(output.truncated for output in result.outputs),
    )
    diagnosis = parse_answer(str(done.payload.get("full_response", "")), cut=facts.finish_reason == "length")
    view.flag_others(diagnosis)
    closing = closing_line(facts, color=False)
    return Answer(diagnosis.root_cause, insertable_fixes(diagnosis), closing, diagnosis.fix_commands)
