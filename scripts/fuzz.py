"""Feeds streams built from the terminal's grammar, and mutated, to the parsers and the capture.

Checks that nothing raises, that random cuts change no event, and that memory stays bounded; one sequence in a hundred
goes through a real pseudo terminal and the pump as well, where no byte may change. The same seed gives the same
streams; a failure prints the stream's own seed, and `--seed THAT 1 --exact` runs it alone.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # -I leaves the script's directory out
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from terminal_streams import INPUT_PIECES, NONCE, OUTPUT_PIECES

from ptyproxy.capture import Capture
from ptyproxy.stream.keys import MAX_STRING, Input, KeyParser
from ptyproxy.stream.marks import MarkParser
from ptyproxy.stream.modes import ModeTracker
from ptyproxy.stream.scan import MAX_BODY, Scanner
from ringbuffer.ring import MIN_CAPACITY

BATCH = 50  # sequences per stream: what a shell and some programs write within a minute
RUNS = ("text", "paste", "reply")  # kinds that may come in several pieces


def mutated(piece: bytes, chance: random.Random) -> bytes:
    """`piece`, half the time with a byte changed, lost, doubled or put in, or cut short."""
    how = chance.randrange(12)
    if how > 5 or not piece:
        return piece
    at = chance.randrange(len(piece))
    byte = bytes(
        (chance.choice(b"\x1b\x07\\;]=[?%\x9c\x00\r\n7A") if chance.random() < 0.5 else chance.randrange(256),)
    )
    return (
        piece[:at] + byte + piece[at + 1 :],
        piece[:at] + piece[at + 1 :],
        piece[:at] + piece[at : at + 1] + piece[at:],
        piece[:at] + byte + piece[at:],
        piece[:at],
        piece[at:],
    )[how]


def stream_of(pieces: list[bytes], chance: random.Random) -> bytes:
    """`BATCH` sequences."""
    return b"".join([mutated(chance.choice(pieces), chance) for _ in range(BATCH)])


def cut(stream: bytes, chance: random.Random) -> list[bytes]:
    """`stream` in reads: of 1 to 3 bytes, of some tens, or of some hundreds."""
    longest = chance.choice((3, 40, 900))
    reads = []
    at = 0
    while at < len(stream):
        past = at + chance.randint(1, longest)
        reads.append(stream[at:past])
        at = past
    return reads


def joined(events: list[Input]) -> list[Input]:
    """Neighbouring pieces of one kind as one."""
    out: list[Input] = []
    for event in events:
        if out and event.kind in RUNS and event.kind == out[-1].kind:
            out[-1] = out[-1]._replace(data=out[-1].data + event.data, end=event.end)
        else:
            out.append(event)
    return out


def check_output(stream: bytes, reads: list[bytes]) -> None:
    """Events, modes and records of the child's output."""
    whole, pieces = (Capture(NONCE, capacity=MIN_CAPACITY, clock=float) for _ in range(2))
    events = [event for read in reads for event in pieces.feed(read)]
    assert events == whole.feed(stream), "events"
    assert pieces.faults == whole.faults == 0, "a fault in the capture"
    seen = [(c.records, c.running, c.state, c.cwd, c.modes.resets(), c.ring.snapshot()) for c in (whole, pieces)]
    assert seen[0] == seen[1], "records"
    scanner = Scanner()
    tokens = []
    for read in reads:
        tokens += scanner.feed(read)
        assert scanner.carried <= MAX_BODY + 16, "carry"
    assert tokens == Scanner().feed(stream), "tokens"


def check_parsers(stream: bytes, reads: list[bytes]) -> None:
    """The parsers by themselves, as others may use them."""
    marks, modes = MarkParser(), ModeTracker()
    assert [mark for read in reads for mark in marks.feed(read)] == MarkParser().feed(stream), "marks"
    switches = [switch for read in reads for switch in modes.feed(read)]
    assert switches == ModeTracker().feed(stream), "switches"


def check_input(stream: bytes, reads: list[bytes]) -> None:
    """What the user typed and the terminal replied."""
    whole, pieces = KeyParser(), KeyParser()
    events = [event for read in reads for event in pieces.feed(read)]
    assert joined(events) == joined(whole.feed(stream)), "input"
    assert (whole.typed, whole.pasting) == (pieces.typed, pieces.pasting), "input state"
    got = sum(len(event.data) for event in events)
    assert 0 <= len(stream) - got <= MAX_STRING + 64, "input lost"


def run(seed: int) -> None:
    """One stream of output through the capture and, one time in four, the parsers and input. Raises on a fault."""
    chance = random.Random(seed)
    stream = stream_of(OUTPUT_PIECES, chance)
    check_output(stream, cut(stream, chance))
    if seed % 4 == 0:
        check_parsers(stream, cut(stream, chance))
        stream = stream_of(INPUT_PIECES, chance)
        check_input(stream, cut(stream, chance))


def run_on_pty(seed: int, sequences: int) -> None:
    """As many sequences of output, and as many of input, through the pump on a real terminal. Raises on a fault."""
    from fuzz_lib import pty_run

    chance = random.Random(seed)
    streams = range(max(1, sequences // BATCH))
    output = b"".join([stream_of(OUTPUT_PIECES, chance) for _ in streams])
    pty_run.check(output, b"".join([stream_of(INPUT_PIECES, chance) for _ in streams]))


def on_pty(seed: int, sequences: int) -> str:
    """All of the sequences that go through a terminal, some thousand at a time; what to say of it."""
    if os.name == "nt":
        return "none of them through a terminal: this system has no ptys"
    from fuzz_lib.pty_run import SEQUENCES

    sequences -= sequences % BATCH
    for at in range(0, sequences, SEQUENCES):
        attempt(run_on_pty, seed * 1_000_003 + at, min(SEQUENCES, sequences - at))
    return f"{sequences} each way through a real terminal, no byte changed"


class Fault(Exception):
    """What was found, and how to see it again."""


def attempt(check: Callable[..., None], seed: int, *rest: int) -> None:
    """Run one check; a fault is told with the way to it."""
    try:
        check(seed, *rest)
    except Exception as error:
        again = " ".join(["scripts/fuzz 1 --exact --seed", str(seed), *(f"--pty {count}" for count in rest)])
        raise Fault(f"stream {seed}: {type(error).__name__}: {str(error)[:400]}\nagain: {again}") from error


def main() -> int:
    """Exit status 1 when a stream showed a fault."""
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("sequences", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--pty", type=int, help="how many of them go through a real terminal (one in a hundred)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exact", action="store_true", help="take the seed as one stream's own")
    options = parser.parse_args()
    begin = time.monotonic()
    streams = max(1, options.sequences // BATCH)
    try:
        if options.exact:
            attempt(*((run_on_pty, options.seed, options.pty) if options.pty else (run, options.seed)))
            print("no fault")
            return 0
        for number in range(streams):
            attempt(run, options.seed * 1_000_003 + number)
        seconds = time.monotonic() - begin
        print(
            f"{streams * BATCH} sequences, no fault, {streams * BATCH / seconds:.0f}/s, seed {options.seed}", flush=True
        )
        print(on_pty(options.seed, max(BATCH, options.sequences // 100) if options.pty is None else options.pty))
    except Fault as fault:
        print(f"scripts/fuzz: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
