"""What the tap costs per read: the ring, and the whole capture. No terminal involved."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ptyproxy.capture import Capture
from ringbuffer.ring import RingBuffer

READ = 4095  # what one full read of a pseudo terminal gives on Linux
ROUNDS = 15

LOG = b"2024-05-01 12:00:00.123 INFO [worker-3] handled request /api/v1/items?id=42 in 12ms (ok)\r\n"
COLOUR = (
    b"\x1b[32m2024-05-01\x1b[0m \x1b[1;34mINFO\x1b[0m [\x1b[33mworker-3\x1b[0m] handled /api/v1/items?id=42 in 12ms\r\n"
)
CJK = "2024-05-01 请求处理成功 日本語のログ 한국어 로그 12ms\r\n".encode()


MANY = 80  # reads, each cut elsewhere in its line: one read again and again is what a processor soon knows by heart


def _reads(line: bytes) -> list[bytes]:
    text = line * (MANY * READ // len(line) + 1)
    return [text[at : at + READ] for at in range(0, MANY * READ, READ)]


READS = {name: _reads(line) for name, line in (("log", LOG), ("colour", COLOUR), ("cjk", CJK))}


def _seconds(call: Callable[[], object], times: int) -> float:
    """Seconds that one call takes: the least of the rounds, since other load only adds (see `timeit`)."""
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        rounds.append((time.perf_counter() - begin) / times)
    return min(rounds)


def _per_read(call: Callable[[bytes], object], reads: list[bytes]) -> float:
    """Seconds per read."""

    def all_of_them() -> None:
        for read in reads:
            call(read)

    return _seconds(all_of_them, 20) / len(reads)


def ring() -> dict[str, float]:
    """The ring of 1 MiB: GB/s by full reads, ns per append of 1 byte, ms per snapshot, us per tail of 100 lines."""
    memory = RingBuffer()
    append = _per_read(memory.append, READS["log"])
    return {
        "append_gb_per_s": READ / append / 1e9,
        "append_1_ns": _seconds(partial(memory.append, b"x"), 5000) * 1e9,
        "snapshot_1m_ms": _seconds(memory.snapshot, 20) * 1e3,
        "tail_100_us": _seconds(partial(memory.tail, 100), 200) * 1e6,
    }


def capture(name: str) -> float:
    """Microseconds per full read of a command's output: ring, head and scan together."""
    whole = Capture()
    whole.enter(typed=True)
    return _per_read(whole.feed, READS[name]) * 1e6
