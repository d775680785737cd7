"""Runs `neocode.shell.extract` in a child process. Invariants: a deadline, bounded input and output, no child left
behind: when we are cancelled it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from neocode.errors import NeocodeError
from neocode.shell.job import MAX_RESULT_BYTES, Job, Result, decode_result, encode_job

EXTRACT_SEC = 20.0  # 1 MiB takes a second; a machine that swaps takes ten
ROOT_DIR = os.path.abspath(os.sep)  # keeps no directory of the user's busy
COMMAND = (sys.executable, "-I", "-m", "neocode.shell.extract")


async def extract(job: Job, timeout: float = EXTRACT_SEC) -> Result:
    """Have `job` done.

    Raises:
        NeocodeError: the configuration cannot be used, or the child failed or took longer than `timeout` seconds.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=ROOT_DIR,
            start_new_session=True,  # no signal of the terminal is meant for it
        )
    except OSError as error:
        raise NeocodeError(f"the output could not be read: {error.strerror}", "try again") from error
    try:
        data = await asyncio.wait_for(_exchange(process, encode_job(job)), timeout)
    except asyncio.TimeoutError:
        raise NeocodeError(f"reading the output took longer than {timeout:g} s", "try again") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _decoded(data)


async def _exchange(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(data)
    reader = process.stdout
    parts: list[bytes] = []
    size = 0
    try:
        await process.stdin.drain()
        process.stdin.close()
    except ConnectionError:
        pass  # it ended without reading; its answer tells more
    while size <= MAX_RESULT_BYTES and (part := await reader.read(1 << 16)):
        parts.append(part)
        size += len(part)
    if size <= MAX_RESULT_BYTES:
        await process.wait()
    return b"".join(parts)


def _decoded(data: bytes) -> Result:
    try:
        members = json.loads(data)
        if "error" not in members:
            return decode_result(members)
    except (ValueError, TypeError, KeyError):
        raise NeocodeError("the output could not be read", "neocode doctor may say why") from None
    raise NeocodeError(str(members["error"]))
