"""Ask mode: one question in, one provider call, the answer streamed out, the turn remembered.

Invariants: after `submit` exactly one terminal event follows, whatever raises; asks of one session answer in the order
they came, `ask.max_concurrent` sessions at once; only an answered turn is ever stored.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import secrets
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from neocode import paths
from neocode.ask.answer import BROKEN_LABEL, LENGTH_LABEL, TIMEOUT_LABEL
from neocode.ask.archive import SessionArchive
from neocode.ask.gate import Gate
from neocode.ask.prompt import PromptTexts, build_prompt
from neocode.ask.providers import MakeProvider, ProviderSlot
from neocode.ask.run import AskRun
from neocode.ask.session import begin
from neocode.ask.stream import stream_answer
from neocode.ask.types import SESSION_ID_CHARS, AskParams, AskRefused, AskTicket, Emit, ProviderInfo, SessionInfo
from neocode.config import Config, LoadedConfig
from neocode.errors import ConfigError, NeocodeError, ProviderError
from neocode.providers.base import AskRequest
from neocode.skills.registry import SkillRegistry

DEADLINE_SEC = 600.0  # of one ask from `submit` on: a slow local model may need minutes, a forgotten ask must end
STOP_TIMEOUT_SEC = 2.0  # that `cancel` waits for the provider call to be gone
CLOSE_TIMEOUT_SEC = 6.0  # that `aclose` and `delete` wait for an ask to end; a provider's stream has 5 s to close
SESSION_ASKS = 9  # one running and eight waiting in one conversation; a person types no faster
TOTAL_ASKS = 256  # twice the gateway's connections

LoadConfig = Callable[[], LoadedConfig]
_log = logging.getLogger("neocode.ask")


async def open_ask_service(
    load_config: LoadConfig,
    make_provider: MakeProvider,
    *,
    state_dir: Path | None = None,
    skills_dir: Path | None = None,
    clock: Callable[[], float] = time.time,
    deadline_sec: float = DEADLINE_SEC,
) -> AskService:
    """Load the config, open the store and return the service; None means the directories of `neocode.paths`.

    `load_config` and `make_provider` (`load_config` and `providers.registry.make_provider`) are called on a thread.
    A store that cannot be used is a warning in the log, not an error.

    Raises:
        ConfigError: the config file cannot be used.
    """
    loaded = await asyncio.to_thread(load_config)
    for warning in loaded.warnings:
        _log.warning("%s", warning)
    archive = SessionArchive(state_dir or paths.state_dir(), loaded.config.ask, clock=clock)
    await archive.open()
    skills = SkillRegistry(skills_dir or paths.user_skills_dir())
    providers = ProviderSlot(make_provider, loaded.config)
    providers.warm()
    return AskService(loaded.config, load_config, providers, archive, skills, clock=clock, deadline_sec=deadline_sec)


class AskService:
    """The `AskPort` of the gateway. Made by `open_ask_service`; owns the archive and the providers."""

    def __init__(
        self,
        config: Config,
        load_config: LoadConfig,
        providers: ProviderSlot,
        archive: SessionArchive,
        skills: SkillRegistry,
        *,
        clock: Callable[[], float],
        deadline_sec: float,
    ) -> None:
        self._config = config
        self._load_config = load_config
        self._providers = providers
        self._archive = archive
        self._skills = skills
        self._clock = clock
        self._deadline_sec = deadline_sec
        self._texts = PromptTexts(config.prompts.system)
        self._calls = Gate(config.ask.max_concurrent)
        self._lanes: dict[str, Gate] = {}
        self._reloading = Gate(1)
        self._runs: dict[str, AskRun] = {}
        self._numbers = itertools.count(1)
        self._closed = False

    def submit(self, ask: AskParams, emit: Emit) -> AskTicket:
        """See `AskPort.submit`."""
        self._accept(ask)
        session_id = ask.session_id or _new_session_id()
        ticket = AskTicket(session_id, f"ask-run-{os.getpid()}-{next(self._numbers)}")
        run = self._runs[ticket.run_id] = AskRun(ask, ticket, emit)
        run.task = asyncio.get_running_loop().create_task(self._serve(run))
        run.task.add_done_callback(lambda _: self._runs.pop(ticket.run_id, None))
        return ticket

    async def cancel(self, *, run_id: str = "", session_id: str = "") -> bool:
        """See `AskPort.cancel`."""
        runs = [
            run
            for run in self._runs.values()
            if not run.closed and (run.ticket.run_id == run_id or (session_id and run.ticket.session_id == session_id))
        ]
        for run in runs:
            run.stop("CANCELED", "the ask was cancelled")
        await _ended(runs, STOP_TIMEOUT_SEC)
        return bool(runs)

    async def delete(self, session_id: str) -> bool:
        """See `AskPort.delete`."""
        await self.cancel(session_id=session_id)
        try:
            # In turn, after an ask that has ended and still writes; but a stuck one must not keep the session alive.
            return await asyncio.wait_for(self._delete_in_turn(session_id), CLOSE_TIMEOUT_SEC)
        except asyncio.TimeoutError:
            return await self._archive.delete(session_id)

    def create(self, session_id: str) -> str:
        """See `AskPort.create`. Raises AskRefused for an id that is none."""
        _check_session_id(session_id)
        session_id = session_id or _new_session_id()
        self._archive.create(session_id)
        return session_id

    def sessions(self) -> list[SessionInfo]:
        """See `AskPort.sessions`."""
        return self._archive.infos()

    def running(self) -> dict[str, str]:
        """See `AskPort.running`."""
        return {run_id: run.ticket.session_id for run_id, run in self._runs.items() if not run.closed}

    def provider(self) -> ProviderInfo:
        """See `AskPort.provider`."""
        return self._providers.info()

    async def check_provider(self, name: str) -> str:
        """See `AskPort.check_provider`."""
        return await self._providers.check(name)

    async def list_models(self, name: str) -> list[str]:
        """See `AskPort.list_models`."""
        return await self._providers.models(name)

    async def reload(self) -> list[str]:
        """See `AskPort.reload`. Running asks end as they began."""
        async with self._reloading:
            loaded = await asyncio.to_thread(self._load_config)
            config = loaded.config
            texts = PromptTexts(config.prompts.system)
            await self._providers.replace(config)
            self._config, self._texts = config, texts
            self._calls.set_limit(config.ask.max_concurrent)
            self._archive.set_limits(config.ask)
            return [*loaded.warnings, *self._skills.refresh()]

    async def aclose(self) -> None:
        """See `AskPort.aclose`."""
        self._closed = True
        runs = list(self._runs.values())
        for run in runs:
            if not run.closed:
                run.stop("CANCELED", "the gateway stops", "ask again")
        await _ended(runs, CLOSE_TIMEOUT_SEC)
        await self._archive.aclose()
        await self._providers.aclose()

    def _accept(self, ask: AskParams) -> None:
        """Raise AskRefused for an ask that cannot be answered."""
        if self._closed:
            raise AskRefused("the gateway is stopping", "ask again")
        _check_session_id(ask.session_id)
        if not ask.user_query.strip() and not (ask.context and ask.context.log.strip()):
            raise AskRefused("the question is empty", "ask something, or give a log")
        self._skills.check(ask.skills)
        waiting = [run for run in self._runs.values() if not run.closed]
        if len(waiting) >= TOTAL_ASKS:
            raise AskRefused("too many asks are waiting", "try again when some are answered")
        if ask.session_id and sum(run.ticket.session_id == ask.session_id for run in waiting) >= SESSION_ASKS:
            raise AskRefused("too many asks are waiting in this session", "wait for an answer, or cancel one")

    async def _serve(self, run: AskRun) -> None:
        """Answer `run` and see to it that it ends in one terminal event."""
        timer = asyncio.get_running_loop().call_later(self._deadline_sec, self._expire, run)
        try:
            async with self._lane(run.ticket.session_id):
                await self._answer(run)
        except asyncio.CancelledError:
            run.fail("CANCELED", "the ask was cancelled")
            raise
        except ProviderError as error:
            run.cut(BROKEN_LABEL)
            run.fail(error.code, error.message, error.hint)
        except ConfigError as error:
            run.fail("PROVIDER_ERROR", error.message, error.hint)
        except NeocodeError as error:
            run.fail("INTERNAL_ERROR", error.message, error.hint)
        except Exception as error:  # the caller gets its terminal event whatever went wrong
            # Neither the message nor any local is logged: they may hold what the user typed.
            frame = traceback.extract_tb(error.__traceback__)[-1]
            kind = type(error).__name__
            _log.error("%s failed: %s at %s:%s", run.ticket.run_id, kind, frame.filename, frame.lineno)
            run.cut(BROKEN_LABEL)
            run.fail("INTERNAL_ERROR", f"the gateway failed ({kind})", "its log names the place; please report it")
        finally:
            timer.cancel()

    async def _answer(self, run: AskRun) -> None:
        session, turn = begin(await self._archive.load(run.ticket.session_id), run.ask)
        async with self._calls, self._providers.use() as provider:
            skills = [text for each in session.skills if (text := self._skills.instructions(each))]
            prompt = build_prompt(session, turn, self._texts, skills, self._config.context.ask)
            request = AskRequest(prompt.messages, turn.context, turn.question, diagnosis=bool(turn.context.log))
            finish = await stream_answer(run, provider, request)
            name, model = provider.name, finish.model or provider.model
        answer = run.answer
        if finish.reason == "length":
            run.cut(LENGTH_LABEL)
        if run.closed:
            return
        run.done(
            {
                "full_response": answer.text,
                "compacted": prompt.compacted,
                "usage": {
                    "input_tokens": finish.usage.input_tokens,
                    "output_tokens": finish.usage.output_tokens,
                },
                "provider": name,
                "model": model,
                "finish_reason": finish.reason,
            }
        )
        answered = msgspec.structs.replace(turn, answer=answer.text, reasoning=answer.reasoning)
        await self._archive.save(
            msgspec.structs.replace(
                session,
                turns=(*prompt.conversation.turns, answered),
                summary=prompt.conversation.summary,
                nonce=prompt.nonce,
                updated_at=self._clock(),
            )
        )

    async def _delete_in_turn(self, session_id: str) -> bool:
        async with self._lane(session_id):
            return await self._archive.delete(session_id)

    def _expire(self, run: AskRun) -> None:
        if not run.closed:
            run.cut(TIMEOUT_LABEL)
            run.stop("TIMEOUT", f"no complete answer within {self._deadline_sec:.0f} s", "try again")

    @asynccontextmanager
    async def _lane(self, session_id: str) -> AsyncIterator[None]:
        """The session's turn-taking: one ask at a time, in the order of `submit`."""
        gate = self._lanes.setdefault(session_id, Gate(1))
        try:
            async with gate:
                yield
        finally:
            if gate.idle:
                self._lanes.pop(session_id, None)


async def _ended(runs: Iterable[AskRun], timeout: float) -> None:
    tasks = [run.task for run in runs if run.task is not None]
    if tasks:
        await asyncio.wait(tasks, timeout=timeout)


def _check_session_id(session_id: str) -> None:
    if len(session_id) > SESSION_ID_CHARS or not session_id.isprintable():
        raise AskRefused(f"a session id has 1 to {SESSION_ID_CHARS} printable characters", "leave it out to get one")


def _new_session_id() -> str:
    return f"ask-{secrets.token_hex(8)}"
