"""A model on this machine that talks without end: 50 chunks a second of Markdown, until it is told to stop.

A process of its own, so that its work is not the measuring one's. Invariant: it says how many chunks it has sent, so
that a figure "while it streams" can be checked to be one.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from fake_openai import Connection, chunk, fake_server, sse

INTERVAL_SEC = 0.02  # as in `gateway`: a quick model
TEXT = """\
## Cause

The program *cannot* open the file that **its configuration** names, since `/srv/data/current` is a link to nowhere.

- it was removed by the last clean-up
- nobody has made it again

```sh
ls -l /srv/data
```

"""
CHUNK_CHARS = 12


class Model:
    """The bench's side: `url` is what a provider is to be given."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.url = self._read()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _ask(self, word: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        return int(self._read())

    @property
    def chunks(self) -> int:
        """How many chunks it has sent in all."""
        return self._ask("count")

    def end(self) -> int:
        """Let the answers that it is giving end; returns how many there were."""
        return self._ask("end")


class Talker:
    """The model's side."""

    def __init__(self) -> None:
        self.sent = 0
        self._running: set[threading.Event] = set()

    def talk(self, connection: Connection) -> None:
        """One answer."""
        end = threading.Event()
        self._running.add(end)
        connection.head()
        connection.send(sse(chunk("", role="assistant"), done=False))
        at = 0
        while not end.wait(INTERVAL_SEC):
            connection.send(sse(chunk(TEXT[at : at + CHUNK_CHARS]), done=False))
            at = (at + CHUNK_CHARS) % len(TEXT)
            self.sent += 1
        connection.send(sse(chunk(finish="stop")))

    def end(self) -> int:
        """End what runs."""
        running, self._running = self._running, set()
        for answer in running:
            answer.set()
        return len(running)


def main() -> None:
    """Obey the lines that come until there are no more."""
    talker = Talker()
    with fake_server() as server:
        server.script(talker.talk)
        print(server.url, flush=True)
        for line in sys.stdin:
            print(talker.sent if line == "count\n" else talker.end(), flush=True)
        talker.end()


if __name__ == "__main__":
    main()
