"""What the tap costs per read: the ring, the scan for sequences, the whole capture. No terminal involved."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from ptyproxy.capture import Capture
from ptyproxy.stream.scan import Scanner
from ringbuffer.ring import RingBuffer

READ = 4096  # what one read of a pseudo terminal gives at most on Linux
ROUNDS = 15

LOG = b"2024-05-01 12:00:00.123 INFO [worker-3] handled request /api/v1/items?id=42 in 12ms (ok)\r\n"
COLOUR = (
    b"\x1b[32m2024-05-01\x1b[0m \x1b[1;34mINFO\x1b[0m [\x1b[33mworker-3\x1b[0m] handled /api/v1/items?id=42 in 12ms\r\n"
)
CJK = "2024-05-01 请求处理成功 日本語のログ 한국어 로그 12ms\r\n".encode()


READS = {
    name: (line * (READ // len(line) + 1))[:READ] for name, line in (("log", LOG), ("colour", COLOUR), ("cjk", CJK))
}


def _seconds(call: Callable[[], object], times: int) -> float:
    """Seconds that one call takes: the least of the rounds, since other load only adds (see `timeit`)."""
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(times):
            call()
        rounds.append((time.perf_counter() - begin) / times)
    return min(rounds)


def ring() -> dict[str, float]:
    """The ring of 1 MiB: GB/s by reads of 4 KiB, ns per append of 1 byte, ms per snapshot, us per tail of 100 lines."""
    memory = RingBuffer()
    log = READS["log"]
    for _ in range(2 * memory.capacity // READ):
        memory.append(log)
    return {
        "append_4k_gb_per_s": READ / _seconds(lambda: memory.append(log), 5000) / 1e9,
        "append_1_ns": _seconds(lambda: memory.append(b"x"), 5000) * 1e9,
        "snapshot_1m_ms": _seconds(memory.snapshot, 20) * 1e3,
        "tail_100_us": _seconds(lambda: memory.tail(100), 200) * 1e6,
    }


def scan() -> dict[str, float]:
    """Microseconds per read of 4 KiB that holds no mark: the scanner alone."""
    scanner = Scanner()
    return {f"scan_{name}_us": _seconds(partial(scanner.feed, read), 2000) * 1e6 for name, read in READS.items()}


def capture() -> dict[str, float]:
    """Microseconds per read of 4 KiB of a command's output: ring, head and scan together."""
    whole = Capture()
    whole.enter(typed=True)
    return {f"capture_{name}_us": _seconds(partial(whole.feed, read), 2000) * 1e6 for name, read in READS.items()}


def measure() -> dict[str, float]:
    """All of the above."""
    return {**ring(), **scan(), **capture()}
