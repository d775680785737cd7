"""What the proxy costs a shell: the same bash without it, under script(1), under the bare pump and under us.

Every figure is taken from all of them in turn, round by round, so that other load on the machine falls on all alike;
ratios are medians of the rounds' own ratios.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench_lib import shell_diagnosis
from bench_lib.shell_latency import latency, turned
from bench_lib.shell_session import PROMPT, SUBJECTS, ShellSession, make_home
from bench_lib.stream import CJK, COLOUR, LOG

SHORT = b"".join(b"%d\n" % (number % 1000) for number in range(1000))
MIB = 1024 * 1024
BEGIN, END = b"\x01BEGIN\x01", b"\x01END\x01"
STALL_SEC = 2.0
Sessions = dict[str, ShellSession]
Passes = dict[str, dict[str, list[tuple[float, float]]]]  # text -> subject -> rounds of (MiB/s, CPU seconds per GiB)


class Measured(NamedTuple):
    """Seconds and MiB; the lists hold one value per round or key."""

    passes: Passes
    idle: dict[str, list[float]]
    flood: dict[str, list[float]]
    diagnosis: dict[str, list[float]]
    prompts: dict[str, list[float]]
    python: list[float]
    resident: dict[str, float]
    lost: int
    grown: float

    def speed(self, text: str, subject: str) -> float:
        """Median MiB/s."""
        return median(speed for speed, _ in self.passes[text][subject])

    def cpu(self, text: str, subject: str) -> float:
        """Median CPU seconds of the proxy per GiB."""
        return median(cpu for _, cpu in self.passes[text][subject])

    def speed_ratio(self, text: str, subject: str, other: str) -> float:
        """Median of the rounds' ratios."""
        pairs = zip(self.passes[text][subject], self.passes[text][other], strict=True)
        return median(one[0] / another[0] for one, another in pairs)

    def added_prompt(self) -> float:
        """Median of what we add to the first prompt of a plain shell, round by round."""
        return median(ours - plain for ours, plain in zip(self.prompts["neocode"], self.prompts["none"], strict=True))


def corpora(directory: Path, quick: bool) -> dict[str, Path]:
    """Files of log text, colour, CJK and short lines; the last smaller, for a pty is slow at them."""
    size = (4 if quick else 8) * MIB
    texts = {"log": LOG, "colour": COLOUR, "cjk": CJK, "short": SHORT}
    made = {}
    for name, text in texts.items():
        lines = text.replace(b"\r\n", b"\n")
        wanted = size // 4 if name == "short" else size
        made[name] = directory / name
        made[name].write_bytes(lines * (wanted // len(lines) + 1))
    return made


def throughput(sessions: Sessions, files: dict[str, Path], rounds: int) -> Passes:
    """Each file printed by `cat` at the prompt of each subject, counted as it comes out."""
    seen: Passes = {name: {subject: [] for subject in sessions} for name in files}
    for number in range(rounds):
        for name, path in files.items():
            for subject, session in turned(sessions, number):
                before = session.cpu_seconds()
                session.run(f"printf '\\001BEG''IN\\001'; cat {path}; printf '\\001END\\001'", BEGIN)
                began = time.perf_counter()
                count = session.read_until(END)
                took = time.perf_counter() - began
                session.read_until(PROMPT)
                spent = session.cpu_seconds() - before
                seen[name][subject].append((count / MIB / took, spent / (count / MIB / 1024)))
    return seen


def first_prompt(env: dict[str, str], rounds: int) -> tuple[dict[str, list[float]], list[float]]:
    """(subject -> seconds to the first prompt, seconds of `python -I -S -c pass`), per round."""
    took: dict[str, list[float]] = {subject: [] for subject in SUBJECTS}
    python = []
    for number in range(rounds):
        for subject in SUBJECTS[number % 4 :] + SUBJECTS[: number % 4]:
            session = ShellSession(subject, env)
            took[subject].append(session.seconds_to_prompt)
            session.close()
        began = time.perf_counter()
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        python.append(time.perf_counter() - began)
    return took, python


def stalled(session: ShellSession, path: Path) -> tuple[int, float]:
    """(bytes lost, MiB grown) when the terminal takes nothing for two seconds in the midst of output."""
    wanted = len(path.read_bytes().replace(b"\n", b"\r\n"))
    before = session.resident_mib()
    session.send(f"printf '\\001BEGIN\\001'; cat {path}; printf '\\001END\\001'\r".encode())
    time.sleep(STALL_SEC)
    grown = session.resident_mib() - before
    session.read_until(b"\x01BEGIN\x01")
    count = session.read_until(END) - len(END)
    session.read_until(PROMPT)
    return wanted - count, grown


def measure(quick: bool) -> Measured:
    """Everything, on sessions that are started once; takes about a minute, `quick` a third of it."""
    with tempfile.TemporaryDirectory(prefix="neo-bench-") as name:
        home = Path(name)
        env = make_home(home)
        files = corpora(home, quick)
        prompts, python = first_prompt(env, 5 if quick else 15)
        sessions = {subject: ShellSession(subject, env) for subject in SUBJECTS}
        try:
            time.sleep(1.0)  # what starts after the first prompt has started
            resident = {subject: sessions[subject].resident_mib() for subject in SUBJECTS}
            passes = throughput(sessions, files, 5 if quick else 15)
            idle = latency(sessions, 80 if quick else 400, flood=False)
            flood = latency(sessions, 40 if quick else 200, flood=True)
            lost, grown = stalled(sessions["neocode"], files["log"])
            diagnosis = shell_diagnosis.latency(env, 80 if quick else 400)
        finally:
            for session in sessions.values():
                session.close()
            stop = [sys.executable, "-I", "-m", "neocode", "gateway", "stop"]
            subprocess.run(stop, env=env, capture_output=True, check=False)
    return Measured(passes, idle, flood, diagnosis, prompts, python, resident, lost, grown)
