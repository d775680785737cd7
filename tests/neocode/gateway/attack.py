"""Run an attack of `test_gateway_hostile.py` from a process of its own: attack.py SOCKET TOKEN_FILE NAME COUNT."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).parent))

import conftest
import test_gateway_hostile

from neocode.gateway.endpoint import Endpoint


async def main(address: str, token_file: str, name: str, count: int) -> None:
    endpoint = Endpoint(address, Path(token_file))
    attack = getattr(test_gateway_hostile, name)

    async def again() -> None:
        while True:
            try:
                await attack(SimpleNamespace(Raw=conftest.Raw), endpoint)
            except (OSError, AssertionError, asyncio.TimeoutError):
                await asyncio.sleep(0.01)

    tasks = [asyncio.ensure_future(again()) for _ in range(count)]
    await asyncio.sleep(0.3)
    print("attacking", flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
