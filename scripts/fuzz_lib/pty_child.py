"""The program inside: writes a file to its terminal in pieces of all sizes, and meanwhile reads what was typed.

`pty_child.py FILE COUNT DIGEST`; exit status 0 when the first COUNT bytes that it read have this SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import threading
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from terminal_streams import done

assert sys.platform != "win32"


def write(data: bytes, chance: random.Random) -> None:
    """All of it, in writes of one byte, of some, or of as much as a pipe would take."""
    at = 0
    while at < len(data):
        at += os.write(1, data[at : at + chance.randint(1, chance.choice((3, 300, 9000)))])


def main() -> int:
    stream, count, digest = Path(sys.argv[1]).read_bytes(), int(sys.argv[2]), sys.argv[3]
    tty.setraw(0)
    os.write(1, done(0) + b"READY")
    writer = threading.Thread(target=write, args=(stream, random.Random(len(stream))))
    writer.start()
    got = b""
    while len(got) < count:
        got += os.read(0, count - len(got))
    writer.join()
    return 0 if hashlib.sha256(got).hexdigest() == digest else 3


if __name__ == "__main__":
    sys.exit(main())
