"""Runs a script in the Windows Python, on a console: `run_script.py DIR SCRIPT [NAME=VALUE | ARGUMENT ...]`.

All three standard handles are the console (a Linux pty that is read and thrown away), for Windows programs behave
otherwise without one. What the script writes to the file named in %TLOG% is shown as it comes.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from build import HarnessError, build, exclusive, wine_environment

LINES, COLUMNS = 40, 120
RUN_LIMIT_SEC = 540.0  # all of the suite takes a minute; past this something hangs
POLL_SEC = 0.2
TOOK_TOO_LONG = 124
SCREEN_KEPT = 4000  # bytes of the console, shown when the script failed without a word


def windows_path(path: Path) -> str:
    """How Wine names a file of this system."""
    return "Z:" + str(path.absolute()).replace("/", "\\")


class Run:
    """A Windows Python on a pty of its own, with a log file of its own."""

    def __init__(self, directory: Path, name: str, argv: list[str], more: dict[str, str]) -> None:
        log_path = directory / f"{name}.log"
        log_path.write_bytes(b"")
        environment = wine_environment(directory) | {"TLOG": windows_path(log_path)} | more
        self.log = open(log_path, "rb")
        self.screen = b""
        self.code: int | None = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.execvpe("wine", ["wine", str(directory / "py" / "python.exe"), *argv], environment)

    def read_screen(self) -> None:
        """Take what the console shows, so that it never waits for us; notice the end."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux's end of file on a pty
            data = b""
        self.screen = (self.screen + data)[-SCREEN_KEPT:]
        if not data:
            self.end()

    def end(self, kill: bool = False) -> None:
        """Reap the process."""
        if self.code is None:
            if kill:
                os.kill(self.pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            self.code = TOOK_TOO_LONG if kill else code
            os.close(self.master)

    def notice_end(self) -> None:
        """Somebody that it started may hold the console for longer than it lives."""
        if self.code is None and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self.end()

    def show(self) -> None:
        """Pass on what has come to the log since the last time."""
        sys.stdout.buffer.write(self.log.read())
        sys.stdout.buffer.flush()
        if self.code and not self.log.tell():
            print(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.screen.decode(errors="replace")), file=sys.stderr)


def follow(runs: list[Run]) -> list[int]:
    """Show the logs, one run's after the other's, until all have ended; returns their exit codes."""
    deadline = time.monotonic() + RUN_LIMIT_SEC
    shown = 0
    while shown < len(runs):
        alive = {run.master: run for run in runs if run.code is None}
        for master in select.select(list(alive), [], [], POLL_SEC)[0]:
            alive[master].read_screen()
        for run in alive.values():
            run.notice_end()
        if time.monotonic() > deadline:
            print(f"wine: ended after {RUN_LIMIT_SEC:.0f} s without an end of its own", file=sys.stderr)
            for run in alive.values():
                run.end(kill=True)
        while shown < len(runs):
            ended = runs[shown].code is not None
            runs[shown].show()
            if not ended:
                break
            shown += 1
    return [run.code or 0 for run in runs]


def run_in_wine(directory: Path, commands: list[tuple[list[str], dict[str, str]]]) -> list[int]:
    """Run the Windows Python once for each (argv, additions to the environment), side by side, to their ends.

    Returns their exit codes, TOOK_TOO_LONG for one that had none. Call it under `exclusive`, after `build`.
    """
    try:
        return follow([Run(directory, f"run-{at}", *command) for at, command in enumerate(commands)])
    finally:
        environment = wine_environment(directory)  # of this prefix: nobody else's Wine is ended
        subprocess.run(["wineserver", "-k"], env=environment, stderr=subprocess.DEVNULL, timeout=30, check=False)


def main() -> int:
    """The script's exit code, or 2 after one line on stderr."""
    directory, script = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    pairs = [argument for argument in sys.argv[3:] if re.match(r"[A-Z_0-9]+=", argument)]
    arguments = [argument for argument in sys.argv[3:] if argument not in pairs]
    try:
        with exclusive(directory):
            build(directory)
            argv = ["-X", "utf8", windows_path(script), *arguments]
            return run_in_wine(directory, [(argv, dict(pair.split("=", 1) for pair in pairs))])[0]
    except (HarnessError, OSError) as error:
        print(f"wine: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
