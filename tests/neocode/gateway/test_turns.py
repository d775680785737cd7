"""Who is served first."""

from __future__ import annotations

import asyncio

from neocode.gateway.turns import HEAVY_LOAD, Load, Turns


def test_a_load_fades_and_only_much_work_makes_it_heavy() -> None:
    load = Load()
    load.add(HEAVY_LOAD * 0.9, 100.0)
    assert not load.heavy(100.0)
    load.add(HEAVY_LOAD * 0.9, 100.0)
    assert load.heavy(100.0)
    assert not load.heavy(130.0)


def test_light_workers_go_first_each_in_order_and_one_turn_is_one_pass_of_the_loop() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        turns = Turns(loop)
        seen: list[str] = []

        class Worker:
            def __init__(self, name: str) -> None:
                self.name = name

            def take_turn(self) -> None:
                seen.append(self.name)
                loop.call_soon(seen.append, "loop")
                if self.name == "bad":
                    raise ValueError

        loop.set_exception_handler(lambda loop, context: None)
        turns.ask(Worker("heavy-1"), heavy=True)
        turns.ask(Worker("heavy-2"), heavy=True)
        turns.ask(Worker("bad"), heavy=False)
        turns.ask(Worker("light"), heavy=False)
        for _ in range(10):
            await asyncio.sleep(0)
        assert seen == ["bad", "loop", "light", "loop", "heavy-1", "loop", "heavy-2", "loop"]

    asyncio.run(main())
