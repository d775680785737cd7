"""Streams through a real pseudo terminal: the keyboard, the proxy with its tap, a program that has them written.

Invariants: what the program writes arrives as it is, what is typed reaches the program as it is, both at once; the
tap survives all of it, and its records are those of the whole stream taken in one piece.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from outer import Outer
from terminal_streams import NONCE, done

from ptyproxy.capture import Capture
from ptyproxy.records import CommandRecord

SEQUENCES = 2000  # per run of the proxy
DEADLINE_SEC = 120.0  # for a busy machine; a run takes two seconds
READY = done(0) + b"READY"  # from here on the capture believes nobody without the nonce
HERE = Path(__file__).parent


class Seen(NamedTuple):
    """What the proxy says of its tap."""

    faults: int
    error: str
    records: list[list[object]]


def told(records: list[CommandRecord]) -> list[list[object]]:
    """What must not depend on how a stream was cut, as JSON has it."""
    return [[one.number, one.command, one.exact, one.cwd, one.exit_code, one.start, one.end] for one in records]


def check(output: bytes, typed: bytes) -> None:
    """Let a program print `output` while `typed` is typed into it. Raises on a fault."""
    with tempfile.TemporaryDirectory(prefix="neo-fuzz-") as name:
        report, stream = Path(name, "report"), Path(name, "stream")
        stream.write_bytes(output)
        child = [str(HERE / "pty_child.py"), str(stream), str(len(typed)), hashlib.sha256(typed).hexdigest()]
        command = [sys.executable, "-I", str(HERE / "pty_proxy.py"), str(report), sys.executable, "-I", *child]
        with Outer(command, env={"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": name}) as outer:
            outer.expect(READY, DEADLINE_SEC)
            outer.send(typed)
            shown = outer.finish(DEADLINE_SEC)
            status = outer.process.wait(DEADLINE_SEC)
        seen = Seen(**json.loads(report.read_text()))
    assert shown == output, f"output: {_difference(shown, output)}"
    assert status == 0, f"input: the program was not given what was typed (status {status})"
    assert (seen.faults, seen.error) == (0, ""), f"the tap: {seen.faults} faults, {seen.error}"
    whole = Capture(NONCE)
    whole.feed(READY + output)
    assert seen.records == json.loads(json.dumps(told(whole.records))), "records"


def _difference(shown: bytes, wanted: bytes) -> str:
    at = 0
    while shown[at : at + 1] == wanted[at : at + 1]:
        at += 1
    return f"at byte {at} of {len(wanted)}: {shown[at : at + 40]!r}, not {wanted[at : at + 40]!r}"
