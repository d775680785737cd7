"""How long a warm `neocode diag` takes, next to what every asyncio program pays: `python -c "import asyncio"`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NEOCODE = [sys.executable, "-I", "-m", "neocode"]
DIAG = [*NEOCODE, "diag", "--error-log", "npm ERR! code ECONNREFUSED 127.0.0.1:4873"]
FLOOR = [sys.executable, "-I", "-c", "import asyncio"]


def wall_ms(argv: list[str], env: dict[str, str]) -> float:
    """Milliseconds from start to exit of one process."""
    begin = time.perf_counter()
    subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - begin) * 1000


def measure(rounds: int = 21) -> dict[str, float]:
    """Medians in ms over `rounds` interleaved pairs, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="neo") as home:
        env = {**os.environ, "HOME": home, "NEOCODE_HOME": str(Path(home, ".neocode"))}
        env.pop("NEOCODE_GATEWAY", None)
        try:
            wall_ms(DIAG, env)  # starts the daemon and warms the caches
            wall_ms(FLOOR, env)
            pairs = [(wall_ms(FLOOR, env), wall_ms(DIAG, env)) for _ in range(rounds)]
        finally:
            subprocess.run([*NEOCODE, "gateway", "stop"], env=env, stdout=subprocess.DEVNULL, check=False)
    return {
        "import_asyncio_ms": statistics.median(floor for floor, _ in pairs),
        "diag_ms": statistics.median(diag for _, diag in pairs),
        "ratio": statistics.median(diag / floor for floor, diag in pairs),
    }
