"""How soon the echo of a key comes back: from a program that waits for it, and in the midst of a flood of output."""

from __future__ import annotations

import time

from bench_lib.shell_session import PROMPT, ShellSession

ROUNDS = 4
PAUSE_SEC = 0.002  # between two keys at rest
FLOOD_SEC = 0.004  # of output between two keys
IDLE = "stty -icanon -echo min 1; printf 'READ''Y'; cat"
FLOOD = "stty -icanon echo min 1; printf 'READ''Y'; yes ........................................"


def turned(sessions: dict[str, ShellSession], number: int) -> list[tuple[str, ShellSession]]:
    """The subjects, beginning with another one each round."""
    items = list(sessions.items())
    first = number % len(items)
    return items[first:] + items[:first]


def latency(sessions: dict[str, ShellSession], keys: int, *, flood: bool) -> dict[str, list[float]]:
    """Seconds from a key to its echo, per subject; with `flood` in the midst of a program's output (kernel echo)."""
    took: dict[str, list[float]] = {subject: [] for subject in sessions}
    for number in range(ROUNDS):
        for subject, session in turned(sessions, number):
            session.run(FLOOD if flood else IDLE, b"READY")
            took[subject] += type_keys(session, keys // ROUNDS, flood=flood)
            back_to_prompt(session)
    return took


def type_keys(session: ShellSession, keys: int, *, flood: bool = False) -> list[float]:
    """Seconds from each of `keys` keys to its echo."""
    took = []
    for _ in range(keys):
        if flood:
            _read_for(session, FLOOD_SEC)
        else:
            time.sleep(PAUSE_SEC)
        began = time.perf_counter()
        session.send(b"K")
        session.read_until(b"K")
        took.append(time.perf_counter() - began)
    return took


def _read_for(session: ShellSession, seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        session.read()


def back_to_prompt(session: ShellSession) -> None:
    """Interrupt the program that was typed into."""
    session.send(b"\x03")
    session.read_until(PROMPT)
    session.run("stty sane; printf 'SAN''E'", b"SANE")
    session.read_until(PROMPT)


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that `percent` of them do not exceed."""
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]
