"""Records the README's session: a real `neocode shell` in a real terminal, typed at by this script.

Usage: record.py OUTPUT_DIRECTORY. Writes session.cast (asciicast v2) and session.svg (its last screen). Nothing in it
is made up: the demo program imports a module that is not installed, and the diagnosis is what the shell shows.
"""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import pyte

COLS, ROWS = 92, 26
KEY_SEC = 0.05  # how fast a person types
DEADLINE_SEC = 60.0
NEOCODE = [sys.executable, "-I", "-m", "neocode"]
SOURCE = "import cv2\n\nprint(cv2.imread('photo.jpg').shape)\n"
BASHRC = "PS1='demo $ '\nHISTFILE=\n"
CHAR_WIDTH, LINE_HEIGHT, MARGIN = 8.43, 19, 16
COLORS = {"default": "#d0d0d0", "cyan": "#4ec9d4", "green": "#7ec87e", "red": "#e06c75", "brown": "#d7ba7d"}


class Step(NamedTuple):
    """What is typed once `wait_for` is on the screen; then `pause` seconds to read."""

    wait_for: str
    keys: str
    pause: float


STEPS = (
    Step("demo $", "python3 app.py\r", 0.5),
    Step("provider offline", "\x07", 2.0),
    Step("$ python3 -m pip install", "", 2.0),
)


class Recorder:
    """A terminal that remembers every byte with its time."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.started = time.monotonic()
        self.events: list[tuple[float, str]] = []
        self.screen = pyte.Screen(COLS, ROWS)
        self._stream = pyte.ByteStream(self.screen)

    def run(self, seconds: float) -> None:
        """Read for `seconds`."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.fd], [], [], left)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    return
                self.events.append((time.monotonic() - self.started, data.decode("utf-8", "replace")))
                self._stream.feed(data)

    def wait_for(self, words: str) -> None:
        """Read until the screen shows `words` and stays still."""
        end = time.monotonic() + DEADLINE_SEC
        while words not in "\n".join(self.screen.display):
            if time.monotonic() > end:
                raise SystemExit(f"record: {words!r} did not come; the screen was:\n" + "\n".join(self.screen.display))
            self.run(0.05)
        self.run(0.7)

    def type(self, keys: str) -> None:
        """Press the keys one by one."""
        for key in keys:
            os.write(self.fd, key.encode())
            self.run(KEY_SEC)


def start(home: Path) -> int:
    """The shell on a terminal of its own; the master's descriptor."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(home / "demo")
        os.execve(NEOCODE[0], [*NEOCODE, "shell", "--shell", "/bin/bash"], env)
    subprocess.run(["stty", "cols", str(COLS), "rows", str(ROWS)], stdin=fd, check=True)
    return fd


def svg(screen: Any) -> str:
    """The screen as a picture."""
    width, height = COLS * CHAR_WIDTH + 2 * MARGIN, ROWS * LINE_HEIGHT + 2 * MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" font-size="14" '
        'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace">',
        '<rect width="100%" height="100%" rx="8" fill="#1c1c22"/>',
    ]
    for number in range(ROWS):
        y = MARGIN + LINE_HEIGHT * (number + 0.75)
        spans = "".join(_span(screen.buffer[number][column]) for column in range(COLS))
        rows.append(f'<text x="{MARGIN}" y="{y:.1f}" xml:space="preserve" fill="{COLORS["default"]}">{spans}</text>')
    return "\n".join([*rows, "</svg>", ""])


def _span(cell: Any) -> str:
    style = (f' fill="{COLORS[cell.fg]}"' if cell.fg in COLORS and cell.fg != "default" else "") + (
        ' font-weight="bold"' if cell.bold else ""
    )
    text = escape(cell.data or " ")
    return f"<tspan{style}>{text}</tspan>" if style else text


def main() -> int:
    """Record and write both files."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="neo") as directory:
        home = Path(directory)
        (home / "demo").mkdir()
        (home / "demo" / "app.py").write_text(SOURCE)
        (home / ".bashrc").write_text(BASHRC)
        recorder = Recorder(start(home))
        for step in STEPS:
            recorder.wait_for(step.wait_for)
            recorder.type(step.keys)
            recorder.run(step.pause)
        os.close(recorder.fd)
        env = {**os.environ, "HOME": directory}
        subprocess.run([*NEOCODE, "gateway", "stop"], env=env, stdout=subprocess.DEVNULL, check=False)
    header = {"version": 2, "width": COLS, "height": ROWS, "title": "neocode shell", "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(header), *(json.dumps([round(at, 3), "o", text]) for at, text in recorder.events)]
    target.mkdir(exist_ok=True)
    (target / "session.cast").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (target / "session.svg").write_text(svg(recorder.screen), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
