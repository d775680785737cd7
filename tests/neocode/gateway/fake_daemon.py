"""A real daemon process around the fake ask service. Arguments: --listen PATH --token-file PATH [--idle SEC]
[--version V] [--pids FILE] [--fail LINE].
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fake_ask import FakeAsk

from neocode.errors import NeocodeError
from neocode.gateway.daemon import run_daemon


async def make_ask() -> FakeAsk:
    return FakeAsk()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", required=True)
    parser.add_argument("--token-file", required=True)
    parser.add_argument("--idle", type=float, default=30.0)
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--pids")
    parser.add_argument("--fail")
    args = parser.parse_args()
    if args.pids:
        with open(args.pids, "a") as file:
            file.write(f"{os.getpid()}\n")
    if args.fail:
        print(args.fail, file=sys.stderr)
        return 2
    try:
        return asyncio.run(
            run_daemon(args.listen, Path(args.token_file), make_ask, idle_timeout_sec=args.idle, version=args.version)
        )
    except NeocodeError as error:
        print(f"neocode: {error.one_line()}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
