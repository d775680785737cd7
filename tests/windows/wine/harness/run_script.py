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
SCREEN_KEPT = 4000  # bytes of the console, shown when the script failed without a word


def windows_path(path: Path) -> str:
    """How Wine names a file of this system."""
    return "Z:" + str(path.absolute()).replace("/", "\\")


def start(directory: Path, argv: list[str], environment: dict[str, str]) -> tuple[int, int]:
    """Start the Windows Python with `argv` on a new pty; returns (pid, master)."""
    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        os.execvpe("wine", ["wine", str(directory / "py" / "python.exe"), *argv], environment)
    return pid, master


def stop_wine(directory: Path) -> None:
    """End whatever still runs in this prefix; nobody else's."""
    environment = wine_environment(directory)
    subprocess.run(["wineserver", "-k"], env=environment, stderr=subprocess.DEVNULL, timeout=30, check=False)


def follow(pid: int, master: int, log_path: Path) -> int:
    """Show the log as it grows until the script ends; returns its exit code, 124 when it took too long."""
    deadline = time.monotonic() + RUN_LIMIT_SEC
    screen, ended = b"", False
    with open(log_path, "rb") as log:
        while not ended and time.monotonic() < deadline:
            if select.select([master], [], [], POLL_SEC)[0]:
                try:
                    data = os.read(master, 65536)
                except OSError:  # Linux's end of file on a pty
                    data = b""
                screen, ended = (screen + data)[-SCREEN_KEPT:], not data
            show(log.read())
        if not ended:
            os.kill(pid, 9)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        show(log.read())
    os.close(master)
    if not ended:
        print(f"wine: ended after {RUN_LIMIT_SEC:.0f} s without an end of its own", file=sys.stderr)
        return 124
    if code and not log_path.stat().st_size:
        print(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.decode(errors="replace")), file=sys.stderr)
    return code


def show(data: bytes) -> None:
    """Pass on what came, now."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def run_in_wine(directory: Path, argv: list[str], more: dict[str, str]) -> int:
    """Run the Windows Python with `argv` to its end. Call it under `exclusive`, after `build`."""
    log_path = directory / "out.log"
    log_path.write_bytes(b"")
    environment = wine_environment(directory) | {"TLOG": windows_path(log_path)} | more
    pid, master = start(directory, argv, environment)
    try:
        return follow(pid, master, log_path)
    finally:
        stop_wine(directory)


def main() -> int:
    """The script's exit code, or 2 after one line on stderr."""
    directory, script = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
    pairs = [argument for argument in sys.argv[3:] if re.match(r"[A-Z_0-9]+=", argument)]
    arguments = [argument for argument in sys.argv[3:] if argument not in pairs]
    try:
        with exclusive(directory):
            build(directory)
            argv = ["-X", "utf8", windows_path(script), *arguments]
            return run_in_wine(directory, argv, dict(pair.split("=", 1) for pair in pairs))
    except (HarnessError, OSError) as error:
        print(f"wine: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
