"""Who waits for whom, who may run at once, and how an ask is stopped wherever it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from neocode.ask.types import AskRefused
from neocode.config import AskConfig, Config
from neocode.providers.base import AskRequest, Delta, Finish


class Held:
    """A script that answers each question only when the test releases it."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.released: dict[str, asyncio.Event] = {}

    def release(self, question: str) -> None:
        self.released.setdefault(question, asyncio.Event()).set()

    async def __call__(self, request: AskRequest) -> AsyncIterator[Delta | Finish]:
        self.started.append(request.question)
        yield Delta(f"started {request.question}. ")
        await self.released.setdefault(request.question, asyncio.Event()).wait()
        yield Delta("done")
        yield Finish()


def test_two_asks_on_one_session_answer_in_order_and_the_second_sees_the_first(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        held = Held()
        provider = scripted(held)
        async with opened(provider) as caller:
            first, second = caller.submit("one"), caller.submit("two")
            await caller.until(lambda: caller.text(first) != "")
            assert held.started == ["one"]
            held.release("two")
            held.release("one")
            await caller.end(second)
            assert [event.run_id for event in caller.events if event.event_type == "ask_done"] == [
                first.run_id,
                second.run_id,
            ]
        assert [message.content for message in provider.requests[1].messages[1:]] == [
            "one",
            "started one. done",
            "two",
        ]

    asyncio.run(main())


def test_sessions_run_at_once_up_to_the_limit_and_the_rest_wait(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        held = Held()
        provider = scripted(held)
        async with opened(provider, Config(ask=AskConfig(max_concurrent=3))) as caller:
            tickets = [caller.submit(f"q{n}", session_id=f"s-{n}") for n in range(7)]
            await caller.until(lambda: sum(bool(caller.text(ticket)) for ticket in tickets) == 3)
            assert held.started == ["q0", "q1", "q2"]
            assert len(caller.service.running()) == 7
            for n in range(7):
                held.release(f"q{n}")
            for ticket in tickets:
                assert (await caller.end(ticket)).event_type == "ask_done"
        assert provider.most_open == 3
        assert held.started == [f"q{n}" for n in range(7)]

    asyncio.run(main())


def test_cancelling_a_running_ask_closes_the_providers_stream_and_leaves_no_turn(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        held = Held()
        provider = scripted(held)
        async with opened(provider) as caller:
            ticket = caller.submit("one")
            await caller.until(lambda: caller.text(ticket) != "")
            assert await caller.service.cancel(run_id=ticket.run_id)
            assert provider.open_streams == 0
            (end,) = caller.ends(ticket)
            assert end.payload["code"] == "CANCELED"
            assert caller.text(ticket) == "started one. "
            assert not await caller.service.cancel(run_id=ticket.run_id)
            held.release("two")
            await caller.ask("two")
        assert [message.content for message in provider.requests[1].messages[1:]] == ["two"]

    asyncio.run(main())


def test_an_ask_is_cancelled_while_it_waits_for_its_session_or_for_a_place(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        held = Held()
        provider = scripted(held)
        async with opened(provider, Config(ask=AskConfig(max_concurrent=1))) as caller:
            running = caller.submit("running")
            same, other = caller.submit("same"), caller.submit("other", session_id="s-2")
            await caller.until(lambda: caller.text(running) != "")
            for ticket in (same, other):
                assert await caller.service.cancel(run_id=ticket.run_id)
                assert caller.ends(ticket)[0].payload["code"] == "CANCELED"
            held.release("running")
            await caller.end(running)
            held.release("last")
            assert (await caller.ask("last", session_id="s-2")).event_type == "ask_done"
        assert held.started == ["running", "last"]

    asyncio.run(main())


def test_an_ask_cancelled_before_it_ran_at_all_still_ends(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        provider = scripted()
        async with opened(provider) as caller:
            ticket = caller.submit()
            assert await caller.service.cancel(session_id="s-1")
            assert [event.payload["code"] for event in caller.of(ticket)] == ["CANCELED"]
            assert caller.service.running() == {}
        assert provider.requests == []

    asyncio.run(main())


def test_a_provider_that_swallows_the_cancellation_gets_no_second_word(opened: Any, scripted: Any) -> None:
    async def stubborn(request: AskRequest) -> AsyncIterator[Delta | Finish]:
        yield Delta("a")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
        yield Delta("b")
        yield Finish()

    async def main() -> None:
        async with opened(scripted(stubborn)) as caller:
            ticket = caller.submit()
            await caller.until(lambda: caller.text(ticket) != "")
            await caller.service.cancel(run_id=ticket.run_id)
            assert caller.text(ticket) == "a"
            assert len(caller.ends(ticket)) == 1
            assert caller.service.sessions() == []

    asyncio.run(main())


def test_the_queue_of_a_session_and_of_the_service_is_bounded(
    opened: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neocode.ask import service

    monkeypatch.setattr(service, "SESSION_ASKS", 3)
    monkeypatch.setattr(service, "TOTAL_ASKS", 5)

    async def main() -> None:
        async with opened(scripted(Held())) as caller:
            for n in range(3):
                caller.submit(f"q{n}")
            with pytest.raises(AskRefused, match="this session"):
                caller.submit("q3")
            caller.submit("q", session_id="s-2")
            caller.submit("q", session_id="s-3")
            with pytest.raises(AskRefused, match="too many asks"):
                caller.submit("q", session_id="s-4")
            await caller.service.cancel(session_id="s-2")
            caller.submit("q", session_id="s-4")

    asyncio.run(main())


def test_deleting_a_session_cancels_its_ask_and_forgets_its_turns(opened: Any, scripted: Any, answering: Any) -> None:
    async def main() -> None:
        held = Held()
        provider = scripted(answering("first answer"))
        async with opened(provider) as caller:
            await caller.ask("one")
            provider.script = held
            ticket = caller.submit("two")
            await caller.until(lambda: caller.text(ticket) != "")
            assert await caller.service.delete("s-1")
            assert caller.ends(ticket)[0].payload["code"] == "CANCELED"
            assert caller.service.sessions() == []
            assert not await caller.service.delete("s-1")
            held.release("three")
            await caller.ask("three")
        assert [message.content for message in provider.requests[-1].messages[1:]] == ["three"]

    asyncio.run(main())


def test_closing_the_service_ends_every_ask_and_refuses_new_ones(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        provider = scripted(Held())
        async with opened(provider) as caller:
            tickets = [caller.submit(f"q{n}", session_id=f"s-{n % 2}") for n in range(4)]
            await caller.until(lambda: caller.text(tickets[0]) != "")
            await caller.service.aclose()
            assert [event.payload["code"] for ticket in tickets for event in caller.ends(ticket)] == ["CANCELED"] * 4
            with pytest.raises(AskRefused, match="stopping"):
                caller.submit()
        assert provider.open_streams == 0
        assert provider.closed == 1

    asyncio.run(main())
