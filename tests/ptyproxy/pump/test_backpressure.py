"""Neither direction blocks the other, and what cannot go on waits in bounded memory and is not lost."""

from __future__ import annotations

import hashlib
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from outer import Outer

Start = Callable[..., Outer]

# floods its terminal first, and reads what was typed only when somebody has taken the flood
FLOOD_THEN_READ = """
import hashlib, os, sys, tty
tty.setraw(0)
os.write(1, b"READY")
wanted = int(sys.argv[1])
for _ in range(40):
    data = b"x" * 100_000
    while data:
        data = data[os.write(1, data):]
seen, digest = 0, hashlib.sha256()
while seen < wanted:
    data = os.read(0, 65536)
    seen += len(data)
    digest.update(data)
    os.write(1, b"y" * len(data))
os.write(1, digest.hexdigest().encode() + b"END")
"""


def resident_kib(pid: int) -> int:
    """VmRSS."""
    fields = Path(f"/proc/{pid}/status").read_text().split()
    return int(fields[fields.index("VmRSS:") + 1])


@pytest.mark.parametrize("options", [(), ("--selectors",)])
def test_a_paste_into_a_child_that_floods_its_output_does_not_deadlock(start: Start, options: tuple[str, ...]) -> None:
    """asciinema/asciinema#556, python/cpython#96522, pexpect/pexpect#756."""
    paste = bytes(range(256)) * 1024
    outer = start(sys.executable, "python", "-I", "-S", "-c", FLOOD_THEN_READ, str(len(paste)), options=options)
    outer.expect(b"READY")
    outer.send(paste)
    end = outer.expect(b"END")
    assert hashlib.sha256(paste).hexdigest().encode() in end
    assert end.count(b"x") == 4_000_000
    assert end.count(b"y") == len(paste)
    assert outer.status() == 0


def test_input_that_the_child_does_not_read_stops_being_read(start: Start) -> None:
    outer = start("/bin/sh", "sh", "-c", "stty raw -echo; printf READY; sleep 1; exec head -c 1000000 | cksum")
    outer.expect(b"READY")
    before = resident_kib(outer.process.pid)
    outer.send(b"z" * 1_000_000)
    deadline = time.monotonic() + 0.6
    while time.monotonic() < deadline:
        outer.step(0.05)
    assert len(outer._outbox) > 500_000  # the terminal is full: nobody upstream took more
    assert resident_kib(outer.process.pid) - before < 2048
    assert b"1000000" in outer.finish(40)


def test_a_terminal_that_stalls_costs_no_byte_and_no_memory(start: Start) -> None:
    script = "stty raw; i=0; while [ $i -lt 300000 ]; do echo line-$i; i=$((i+1)); done"
    outer = start("/bin/bash", "bash", "-c", script)
    assert select.select([outer.master], [], [], 10)[0]
    before = resident_kib(outer.process.pid)
    deadline = time.monotonic() + 2
    highest = before
    while time.monotonic() < deadline:  # nobody reads the screen
        select.select([], [], [], 0.1)
        highest = max(highest, resident_kib(outer.process.pid))
    assert highest - before < 1024
    lines = outer.finish(50).split(b"\n")
    assert lines == [b"line-%d" % number for number in range(300_000)] + [b""]


def test_a_stalled_terminal_does_not_hold_up_the_keyboard(start: Start, tmp_path: Path) -> None:
    """asciinema/asciinema#595: Ctrl-C must reach a child whose output nobody takes."""
    told = tmp_path / "told"
    script = f"trap 'echo interrupted > {told}; exit 5' INT; stty raw isig; printf READY; while :; do echo flood; done"
    outer = start("/bin/bash", "bash", "-c", script)
    outer.expect(b"READY")
    while select.select([], [outer.master], [], 0)[1] and resident_kib(outer.process.pid) and not _is_full(outer):
        pass
    outer.send(b"\x03")
    deadline = time.monotonic() + 10
    while not told.exists() and time.monotonic() < deadline:
        outer.step(0.02)
    assert outer.status() == 5


def _is_full(outer: Outer) -> bool:
    """Whether the child's own output has stopped because nobody reads: it sleeps in a write."""
    select.select([], [], [], 0.05)
    before = _cpu_ticks(outer.process.pid)
    select.select([], [], [], 0.1)
    return _cpu_ticks(outer.process.pid) == before


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
