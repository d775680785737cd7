"""What it costs to make a log fit to send: reduction in MB/s, memory at 1 GiB, masking per 16 KiB. Plain functions."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from neocode.logs import prepare
from ptyproxy.redact import Redactor

BLOCK = 1 << 20
_MODULES = "auth billing cart catalog checkout inventory login orders payment search session user worker".split()


def ordinary_log(size: int, seed: int = 1) -> bytes:
    """`size` bytes of a build and service log: stamped lines of many shapes, a failure with a stack now and then."""
    rng = random.Random(seed)
    lines: list[str] = []
    length = number = 0
    while length < size:
        number += 1
        module = rng.choice(_MODULES)
        line = f"2024-05-01T12:{number // 60 % 60:02d}:{number % 60:02d}.{rng.randrange(1000):03d}Z "
        kind = rng.randrange(200)
        if kind == 0:
            line += f"ERROR [{module}] request {rng.getrandbits(64):016x} failed: refused by 10.0.0.{number % 250}\n"
            line += "\n".join(f"    at {m}.handle (/srv/app/{m}.js:{rng.randrange(900)}:7)" for m in _MODULES[:6])
        elif kind < 8:
            line += f"WARN  [{module}] slow query took {rng.randrange(9000)} ms"
        elif kind < 90:
            line += f"INFO  [{module}] GET /{module}/{rng.randrange(10**6)} 200 {rng.randrange(90)} ms"
        elif kind < 150:
            line += f"DEBUG [{module}] cache hit for key {module}:{rng.getrandbits(32):08x} ttl={rng.randrange(3600)}"
        else:
            line += f"INFO  [{module}] compiled src/{module}/{rng.choice(_MODULES)}.ts in {rng.randrange(300)} ms"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines).encode()[:size]


def feeder(block: bytes, count: int) -> Callable[[int], bytes]:
    """A read function that gives `block` (at most `BLOCK` bytes) `count` times."""
    left = count

    def read(_: int) -> bytes:
        nonlocal left
        left -= 1
        return block if left >= 0 else b""

    return read


def reduction(mebibytes: int = 64, rounds: int = 3) -> dict[str, float]:
    """MB/s from bytes to the prepared text on an ordinary log, median of `rounds`."""
    data = ordinary_log(8 * BLOCK)
    redactor = Redactor()
    speeds = []
    for _ in range(rounds):
        position = 0

        def read(size: int) -> bytes:
            nonlocal position
            position += size
            at = (position - size) % len(data)
            return data[at : at + size] if position <= mebibytes * BLOCK else b""

        started = time.perf_counter()
        total = prepare(read, redactor).total_bytes
        speeds.append(total / 1e6 / (time.perf_counter() - started))
    return {"reduction_mb_per_s": statistics.median(speeds), "mebibytes": mebibytes}


def peak_memory(mebibytes: int = 1024) -> dict[str, float]:
    """Peak resident MiB of a child process that prepares `mebibytes` of an ordinary log, and its seconds. Unix."""
    script = (
        "import resource, sys, time\n"
        "from bench_lib.logs import BLOCK, feeder, ordinary_log\n"
        "from neocode.logs import prepare\n"
        "from ptyproxy.redact import Redactor\n"
        "block = ordinary_log(BLOCK)\n"
        "started = time.perf_counter()\n"
        "prepared = prepare(feeder(block, int(sys.argv[1])), Redactor())\n"
        "if sys.platform == 'linux':\n"  # ru_maxrss counts what the parent had when it forked
        "    peak = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024\n"
        "else:\n"
        "    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)\n"
        "print(prepared.total_bytes, peak, time.perf_counter() - started)\n"
    )
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}", str(mebibytes)]
    child = subprocess.run(command, capture_output=True, text=True, check=True)
    total, peak, seconds = map(float, child.stdout.split())
    return {"peak_rss_mib": peak, "fed_mib": total / BLOCK, "seconds": seconds, "mb_per_s": total / 1e6 / seconds}


def masking(rounds: int = 15) -> dict[str, float]:
    """Milliseconds of the redactor per 16 KiB: a log without secrets, and one with a secret on every tenth line."""
    clean = ordinary_log(16 * 1024).decode()
    lines = clean.split("\n")
    for i in range(0, len(lines), 10):
        lines[i] += f" password=hunter{i} Authorization: Bearer {'a1B2' * 8}{i}"
    dirty = "\n".join(lines)[: 16 * 1024]
    redactor = Redactor()
    count = redactor.redact(dirty).count

    def median_ms(text: str) -> float:
        times = []
        for _ in range(rounds):
            started = time.perf_counter()
            redactor.redact(text)
            times.append((time.perf_counter() - started) * 1000)
        return statistics.median(times)

    return {"clean_ms": median_ms(clean), "dirty_ms": median_ms(dirty), "masked": count}
