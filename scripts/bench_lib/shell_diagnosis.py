"""How soon a key is echoed while an answer streams into the same shell, beside script(1) with nothing else going on.

Invariant: a round counts only if the model was heard to stream all through it.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bench_lib.model import INTERVAL_SEC, Model
from bench_lib.shell_latency import IDLE, back_to_prompt, type_keys
from bench_lib.shell_session import PATIENCE_SEC, PROMPT, ShellSession

SUBJECTS = ("script", "neocode")
ROUNDS = 4
NEOCODE = [sys.executable, "-I", "-m", "neocode"]


def latency(env: dict[str, str], keys: int) -> dict[str, list[float]]:
    """Seconds from a key to its echo by `cat`, per subject. Makes the model the user's provider in `env`'s home."""
    took: dict[str, list[float]] = {subject: [] for subject in SUBJECTS}
    with Model() as model:
        _use(model, env)
        sessions = [ShellSession(subject, env) for subject in SUBJECTS]
        try:
            for number in range(ROUNDS):
                for session in sessions[number % 2 :] + sessions[: number % 2]:
                    took[session.subject] += _round(session, model, number, keys // ROUNDS)
        finally:
            for session in sessions:
                session.close()
    return took


def _use(model: Model, env: dict[str, str]) -> None:
    add = ["provider", "add", "bench", "--kind", "openai", "--base-url", model.url, "--model", "m"]
    for arguments in (add, ["use", "bench"]):
        subprocess.run([*NEOCODE, *arguments], env=env, stdout=subprocess.DEVNULL, check=True)


def _round(session: ShellSession, model: Model, number: int, keys: int) -> list[float]:
    """A command fails, another runs and is typed into; under neocode the answer to the first streams meanwhile."""
    diagnosed = session.subject == "neocode"
    before = model.chunks
    # a fault of its own each time: the same one would not be looked at again
    session.run(f"ls /nowhere/{'abcd'[number]}", PROMPT)
    if diagnosed:
        _await_stream(model, before)
    session.run(IDLE, b"READY")
    sent, began = model.chunks, time.monotonic()
    took = type_keys(session, keys)
    expected = (time.monotonic() - began) / INTERVAL_SEC if diagnosed else 0
    if model.chunks - sent < expected / 2:
        raise SystemExit("the diagnosis did not stream while keys were typed")
    back_to_prompt(session)
    model.end()
    return took


def _await_stream(model: Model, before: int) -> None:
    deadline = time.monotonic() + PATIENCE_SEC
    while model.chunks == before:
        if time.monotonic() > deadline:
            raise SystemExit("no diagnosis began")
        time.sleep(INTERVAL_SEC)
