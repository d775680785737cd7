"""An in-memory ask service for the gateway's tests: echoes the question word by word, or does what it is told to.

Questions: `hang` streams one chunk and waits to be cancelled; `stream N SIZE` sends N chunks of SIZE characters;
`refuse` is refused; anything else comes back in words.
"""

from __future__ import annotations

import asyncio
import os
from itertools import count

from neocode.ask.types import AskEvent, AskParams, AskRefused, AskTicket, Emit, ProviderInfo, SessionInfo
from neocode.errors import ProviderError


class FakeAsk:
    def __init__(self) -> None:
        self._numbers = count(1)
        self._runs: dict[str, tuple[str, asyncio.Task[None]]] = {}
        self.stored: dict[str, SessionInfo] = {}
        self.asked: list[AskParams] = []
        self.cancelled: list[str] = []
        self.check_gate = asyncio.Event()
        self.closed = False

    def submit(self, ask: AskParams, emit: Emit) -> AskTicket:
        if ask.user_query == "refuse":
            raise AskRefused("unknown skill 'x'; known: terminal-diagnosis", "name a known one")
        number = next(self._numbers)
        session_id = ask.session_id or f"ask-{number:08x}"
        run_id = f"ask-run-{os.getpid()}-{number}"
        self.asked.append(ask)
        self.create(session_id)
        task = asyncio.get_running_loop().create_task(self._answer(session_id, run_id, ask.user_query, emit))
        self._runs[run_id] = (session_id, task)
        task.add_done_callback(lambda _: self._runs.pop(run_id, None))
        return AskTicket(session_id, run_id)

    async def _answer(self, session_id: str, run_id: str, question: str, emit: Emit) -> None:
        said: list[str] = []

        def say(text: str) -> None:
            said.append(text)
            emit(AskEvent("ask_chunk", session_id, run_id, {"delta": text}))

        try:
            if question == "hang":
                say("thinking")
                await asyncio.Event().wait()
            elif question.startswith("stream "):
                _, times, size = question.split()
                for number in range(int(times)):
                    say(chr(ord("a") + number % 26) * int(size))
                    await asyncio.sleep(0)
            else:
                for word in question.split(" "):
                    say(word)
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled.append(run_id)
            payload = {"session_id": session_id, "code": "CANCELED", "message": "canceled", "hint": ""}
            emit(AskEvent("ask_error", session_id, run_id, payload))
            return
        done = {
            "session_id": session_id,
            "full_response": "".join(said),
            "compacted": False,
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
        emit(AskEvent("ask_done", session_id, run_id, done))

    async def cancel(self, *, run_id: str = "", session_id: str = "") -> bool:
        tasks = [
            task
            for run, (session, task) in self._runs.items()
            if run == run_id or (session_id and session == session_id)
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return bool(tasks)

    async def delete(self, session_id: str) -> bool:
        await self.cancel(session_id=session_id)
        return self.stored.pop(session_id, None) is not None

    def create(self, session_id: str) -> str:
        session_id = session_id or f"ask-{next(self._numbers):08x}"
        now = "2026-01-01T00:00:00Z"
        self.stored.setdefault(session_id, SessionInfo(session_id, "", now, now))
        return session_id

    def sessions(self) -> list[SessionInfo]:
        return list(self.stored.values())

    def running(self) -> dict[str, str]:
        return {run: session for run, (session, _) in self._runs.items()}

    def provider(self) -> ProviderInfo:
        return ProviderInfo("offline", "rules")

    async def check_provider(self, name: str) -> str:
        if name == "slow":
            await self.check_gate.wait()
        if name == "bad":
            raise ProviderError("PROVIDER_ERROR", "401 from the endpoint", "check the key")
        return "it works"

    async def list_models(self, name: str) -> list[str]:
        return ["m1", "m2"]

    async def reload(self) -> list[str]:
        return ["unknown key x"]

    async def aclose(self) -> None:
        self.closed = True
        for run in list(self._runs):
            await self.cancel(run_id=run)
