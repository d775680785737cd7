"""Run the real command line in a home of its own; whatever gateway it started is stopped at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEOCODE = [sys.executable, "-I", "-m", "neocode"]
# what of the developer's own environment would change what is tested
FOREIGN = ("NEOCODE_GATEWAY", "NEOCODE_HOME", "NEOCODE_SHELL_SESSION", "NO_COLOR", "XDG_RUNTIME_DIR", "OPENAI_API_KEY")


class NeoHome:
    """An empty home directory and the commands run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dir = path / ".neocode"
        self.env = {key: value for key, value in os.environ.items() if key not in FOREIGN}
        self.env |= {"HOME": str(path), "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TERM": "xterm-256color"}

    def run(
        self, *arguments: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """`neocode ARGUMENTS` to its end; standard input is the null device unless given."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [*NEOCODE, *arguments],
            env={**self.env, **(env or {})},
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        )

    def start(self, *arguments: str, env: dict[str, str] | None = None, **more: object) -> subprocess.Popen[bytes]:
        """`neocode ARGUMENTS` in the background with pipes; the caller ends it."""
        options: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*NEOCODE, *arguments], env={**self.env, **(env or {})}, **(options | more))  # type: ignore[call-overload,no-any-return]

    def status(self) -> dict[str, object]:
        """`neocode gateway status --json`."""
        result: dict[str, object] = json.loads(self.run("gateway", "status", "--json").stdout)
        return result

    def close(self) -> None:
        """Stop the gateway if one was ever wanted, the hard way when it does not go by itself."""
        if not (self.dir / "run").exists():
            return
        pid = self.status().get("pid")
        self.run("gateway", "stop")
        if isinstance(pid, int) and pid > 0:
            try:
                os.kill(pid, 0)
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


@contextmanager
def neo_home() -> Iterator[NeoHome]:
    """A home of one's own, and so a gateway of one's own; a short path, since a socket's path has a limit."""
    with tempfile.TemporaryDirectory(prefix="neo") as path:
        home = NeoHome(Path(path))
        try:
            yield home
        finally:
            home.close()
