"""A bash on a terminal of ours: directly, through `script`, through the bare pump or through `neocode shell`."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READ_BYTES = 64 * 1024
PATIENCE_SEC = 60.0
PROMPT = b"bench> "
SUBJECTS = ("none", "script", "pump", "neocode")


def command(subject: str) -> list[str]:
    """What starts an interactive bash in the subject's way."""
    python = [sys.executable, "-I"]
    return {
        "none": ["/bin/bash", "-i"],
        "script": ["script", "-qfc", "exec /bin/bash -i", "/dev/null"],
        "pump": [*python, str(ROOT / "tests/support/pump_runner.py"), "/bin/bash", "bash", "-i"],
        "neocode": [*python, "-m", "neocode", "shell", "--shell", "/bin/bash"],
    }[subject]


def make_home(path: Path) -> dict[str, str]:
    """A home whose bash has a prompt that we know; returns the environment to start in."""
    path.joinpath(".bashrc").write_text(f"PS1='{PROMPT.decode()}'\nbind 'set enable-bracketed-paste off'\n")
    path.joinpath("run").mkdir(mode=0o700)
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return {
        **kept,
        "HOME": str(path),
        "NEOCODE_HOME": str(path / "neocode"),
        "XDG_RUNTIME_DIR": str(path / "run"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "HISTFILE": "/dev/null",
    }


class ShellSession:
    """One running shell. `seconds_to_prompt`: from just before the start to the whole of the first prompt."""

    def __init__(self, subject: str, env: dict[str, str]) -> None:
        if subject == "script" and shutil.which("script") is None:
            raise SystemExit("scripts/bench shell compares with script(1): install util-linux")
        self.subject = subject
        self._rest = b""
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        began = time.perf_counter()
        self.process = subprocess.Popen(
            command(subject), stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 there are no threads
        )  # fmt: skip
        self.read_until(PROMPT)
        self.seconds_to_prompt = time.perf_counter() - began

    def read(self) -> bytes:
        """Whatever is printed next. Raises SystemExit when nothing is for a long time."""
        if self._rest:
            data, self._rest = self._rest, b""
            return data
        if not select.select([self.master], [], [], PATIENCE_SEC)[0]:
            raise SystemExit(f"{self.subject}: nothing printed for {PATIENCE_SEC:g} s")
        return os.read(self.master, READ_BYTES)

    def read_until(self, end: bytes) -> int:
        """Read until `end` has come; returns how many bytes came up to there. What follows is for the next call."""
        count, tail = 0, b""
        while True:
            data = self.read()
            tail += data
            at = tail.find(end)
            if at >= 0:
                self._rest = tail[at + len(end) :]
                return count + len(data) - len(self._rest)
            count += len(data)
            tail = tail[-len(end) :]

    def send(self, data: bytes) -> None:
        """Type."""
        os.write(self.master, data)

    def run(self, line: str, end: bytes) -> int:
        """Type a line and read until `end` is printed, which the typed line must not contain."""
        self.send(line.encode() + b"\r")
        return self.read_until(end)

    def cpu_seconds(self) -> float:
        """Processor time of the proxy itself, user and kernel, all threads (Linux: to the nanosecond)."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9

    def resident_mib(self) -> float:
        """VmRSS of the proxy."""
        fields = Path(f"/proc/{self.process.pid}/status").read_text().split()
        return int(fields[fields.index("VmRSS:") + 1]) / 1024

    def close(self) -> None:
        """Close the terminal; whatever ran on it ends."""
        os.close(self.master)
        os.close(self.slave)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
