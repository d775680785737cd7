"""`scripts/bench SUITE [--quick]`: one run, figures beside the aim they are held to. Exit code 1 when one is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))  # -I leaves the script's directory out


class Figure(NamedTuple):
    """One line: a measured value, its unit, and what it should not exceed (or fall below, `at_least`)."""

    name: str
    value: float
    unit: str
    aim: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the aim is met; true without one."""
        if self.aim is None:
            return True
        return self.value >= self.aim if self.at_least else self.value <= self.aim

    def line(self) -> str:
        """The figure as a line of the report."""
        aim = "" if self.aim is None else f"  (aim {'>=' if self.at_least else '<='} {self.aim:g})"
        missed = "" if self.met else "  MISSED"
        return f"  {self.name:<52}{self.value:>10.3g} {self.unit:<6}{aim}{missed}"


def diag(quick: bool) -> list[Figure]:
    """What `neocode diag` and the gateway cost."""
    from bench_lib import cli, gateway, logs

    warm = cli.measure(7 if quick else 21)
    figures = [
        Figure("python -c 'import asyncio'", warm["import_asyncio_ms"], "ms"),
        Figure("warm neocode diag, offline", warm["diag_ms"], "ms"),
        Figure("ratio of the two, median of pairs", warm["ratio"], "x", 2.5),
    ]
    for asks, aim in ((1, 5.0), (100, 50.0)):
        delay = gateway.measure_delay(asks)
        figures += [
            Figure(f"chunk delay, {asks} asks: bare echo p50", delay["echo_p50"], "ms"),
            Figure(f"chunk delay, {asks} asks: bare echo p95", delay["echo_p95"], "ms"),
            Figure(f"chunk delay, {asks} asks: added by the gateway p50", delay["added_p50"], "ms"),
            Figure(f"chunk delay, {asks} asks: added by the gateway p95", delay["added_p95"], "ms", aim),
        ]
    memory = gateway.measure_memory(100)
    speed = logs.reduction(16 if quick else 64)
    peak = logs.peak_memory(128 if quick else 1024)
    masking = logs.masking()
    return [
        *figures,
        Figure("idle gateway", memory["idle_mib"], "MiB"),
        Figure("one more connection", memory["per_connection_kib"], "KiB"),
        Figure("log reduction", speed["reduction_mb_per_s"], "MB/s", 40.0, at_least=True),
        Figure(f"peak RSS on {peak['fed_mib']:g} MiB of log", peak["peak_rss_mib"], "MiB", 100.0),
        Figure("masking 16 KiB without secrets", masking["clean_ms"], "ms"),
        Figure("masking 16 KiB with many secrets", masking["dirty_ms"], "ms"),
    ]


def shell(quick: bool) -> list[Figure]:
    """What the proxy costs a shell: bash alone, under script(1), under the bare pump, under `neocode shell`."""
    from statistics import median

    from bench_lib import shell as bench
    from bench_lib.shell_latency import percentile
    from bench_lib.shell_session import SUBJECTS

    got = bench.measure(quick)
    figures = []
    for text in got.passes:
        for subject in SUBJECTS:
            figures.append(Figure(f"{text}: {subject}", got.speed(text, subject), "MiB/s"))
        for subject in ("pump", "neocode"):
            ratio = got.speed_ratio(text, subject, "script")
            figures.append(Figure(f"{text}: {subject} / script", ratio, "x", 0.95, at_least=True))
        base = got.cpu(text, "script")
        figures.append(Figure(f"{text}: script, its own CPU", base, "s/GiB"))
        for subject in ("pump", "neocode"):
            figures.append(
                Figure(f"{text}: {subject}, its own CPU", got.cpu(text, subject), "s/GiB", round(2 * base, 2))
            )
    for name, keys in (("idle", got.idle), ("flood", got.flood), ("diagnosis runs", got.diagnosis)):
        for percent, room in ((50, 0.3), (99, 3.0)):
            values = {subject: percentile(took, percent) * 1000 for subject, took in keys.items()}
            for subject, value in values.items():
                aim = round(values["script"] + room, 3) if subject in ("pump", "neocode") else None
                figures.append(Figure(f"echo of a key, {name}, p{percent}: {subject}", value, "ms", aim))
    python = median(got.python) * 1000
    for subject in SUBJECTS:
        figures.append(Figure(f"first prompt: {subject}", median(got.prompts[subject]) * 1000, "ms"))
    return [
        *figures,
        Figure("python -I -S -c pass", python, "ms"),
        Figure("first prompt: added by neocode", got.added_prompt() * 1000, "ms", round(4 * python, 1)),
        *(Figure(f"RSS at the prompt: {subject}", got.resident[subject], "MiB") for subject in ("script", "pump")),
        Figure("RSS at the prompt: neocode", got.resident["neocode"], "MiB", 40.0),
        Figure("terminal stalled 2 s: bytes lost", got.lost, "", 0.0),
        Figure("terminal stalled 2 s: memory", got.grown, "MiB", 1.0),
    ]


def tap(quick: bool) -> list[Figure]:
    """What looking at the output costs."""
    from bench_lib import stream

    ring = stream.ring()
    return [
        Figure("ring: append, reads of 4 KiB", ring["append_gb_per_s"], "GB/s", 1.0, at_least=True),
        Figure("ring: append of one byte", ring["append_1_ns"], "ns"),
        Figure("ring: snapshot of 1 MiB", ring["snapshot_1m_ms"], "ms"),
        Figure("ring: the last 100 lines", ring["tail_100_us"], "us"),
        *(Figure(f"capture of 4 KiB: {name}", stream.capture(name), "us") for name in stream.READS),
    ]


SUITES: dict[str, Callable[[bool], list[Figure]]] = {"diag": diag, "shell": shell, "tap": tap}


def main() -> int:
    """Run one suite and print it."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures, interleaved in one run.")
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--quick", action="store_true", help="fewer rounds, less data")
    args = parser.parse_args()
    figures = SUITES[args.suite](args.quick)
    print("\n".join(figure.line() for figure in figures))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
