"""The gate never loses a place, keeps the order and lets its limit change."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.ask.gate import Gate


def test_waiters_come_in_order_and_a_higher_limit_admits_them_at_once() -> None:
    async def main() -> None:
        gate, entered, leave = Gate(1), [], asyncio.Event()

        async def visit(number: int) -> None:
            async with gate:
                entered.append(number)
                await leave.wait()

        tasks = [asyncio.create_task(visit(number)) for number in range(5)]
        await asyncio.sleep(0)
        assert entered == [0]
        gate.set_limit(3)
        await asyncio.sleep(0)
        assert entered == [0, 1, 2]
        gate.set_limit(1)
        leave.set()
        await asyncio.gather(*tasks)
        assert entered == [0, 1, 2, 3, 4]
        assert gate.idle

    asyncio.run(main())


def test_a_waiter_cancelled_in_the_moment_it_is_let_in_gives_its_place_on() -> None:
    """python/cpython#90155: a semaphore lost its place to a cancelled waiter and nobody came in any more."""

    async def main() -> None:
        gate, entered = Gate(1), []

        async def visit(number: int) -> None:
            async with gate:
                entered.append(number)

        await gate.__aenter__()
        tasks = [asyncio.create_task(visit(number)) for number in range(3)]
        await asyncio.sleep(0)
        await gate.__aexit__(None, None, None)  # the place goes to task 0, which has not run yet
        tasks[0].cancel()
        await asyncio.wait(tasks, timeout=10)
        assert entered == [1, 2]
        assert gate.idle

    asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.lists(st.sampled_from(["enter", "leave", "cancel", "limit"]), max_size=40))
def test_any_order_of_entering_leaving_and_cancelling_keeps_the_limit(limit: int, steps: list[str]) -> None:
    async def main() -> None:
        gate, inside, leaving, tasks = Gate(limit), [0], asyncio.Semaphore(0), []

        async def visit() -> None:
            async with gate:
                inside[0] += 1
                try:
                    assert inside[0] <= limit
                    await leaving.acquire()
                finally:
                    inside[0] -= 1

        for index, step in enumerate(steps):
            if step == "enter":
                tasks.append(asyncio.create_task(visit()))
            elif step == "leave":
                leaving.release()
            elif step == "cancel" and tasks:
                tasks[index % len(tasks)].cancel()
            await asyncio.sleep(0)
        for _ in tasks:
            leaving.release()
        results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert not [result for result in results if isinstance(result, AssertionError)]
        assert gate.idle

    asyncio.run(main())
