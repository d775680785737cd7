"""The smallest proxy: `python pump_runner.py [OPTIONS] PROGRAM ARGV0 [ARGUMENT]...` on the terminal it is started on.

Options: `--fault METHOD` puts a tap in that raises there, `--cycles N` does it N times and writes what was open after
each to `--report FILE`, `--selectors` waits as systems without epoll do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from ptyproxy.platform.base import ShellCommand, SpawnError
from ptyproxy.platform.unix import Terminal, spawn
from ptyproxy.platform.unix_inherited import original_environment
from ptyproxy.platform.unix_signals import SignalPipe
from ptyproxy.pump import Pump
from ptyproxy.tap_guard import Tap


class FaultyTap:
    """Raises in the method that is named, and does nothing otherwise."""

    def __init__(self, where: str) -> None:
        self.where = where

    def _maybe(self, name: str) -> None:
        if name == self.where:
            raise RuntimeError(f"fault in {name}")

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        self._maybe("divide")
        return None

    def output(self, data: bytes) -> None:
        self._maybe("output")

    def input(self, data: bytes) -> bytes:
        self._maybe("input")
        return data

    def resized(self, rows: int, cols: int) -> None:
        self._maybe("resized")

    def tick(self) -> float | None:
        self._maybe("tick")
        return None


def run_once(command: list[str], tap: Tap | None, errors: list[str] | None = None) -> int:
    """What the proxy does, with nothing to add. `errors`: takes why the tap was dropped, if it was."""
    with SignalPipe() as signals:
        terminal = Terminal()
        try:
            shell = ShellCommand(command[0], tuple(command[1:]), original_environment())
            pty = spawn(shell, terminal.exact_size(), terminal.attributes, signals)
            try:
                terminal.enter()
                pump = Pump(pty, terminal, tap, signals)
                status = pump.run()
                if errors is not None and pump.tap_error is not None:
                    errors.append(repr(pump.tap_error))
                return status
            finally:
                pty.close()
        except SpawnError as error:
            print(f"cannot run the shell: {error}", file=sys.stderr)
            return error.exit_code
        finally:
            terminal.close()


def what_is_open() -> dict[str, int]:
    """Descriptors and resident KiB of this process."""
    fields = Path("/proc/self/status").read_text().split()
    return {"fds": len(os.listdir("/proc/self/fd")), "rss_kib": int(fields[fields.index("VmRSS:") + 1])}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="")
    parser.add_argument("--cycles", type=int, default=1)
    parser.add_argument("--report")
    parser.add_argument("--selectors", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.selectors:
        use_selectors()
    status, seen = 0, []
    for _ in range(args.cycles):
        status = run_once(args.command, FaultyTap(args.fault) if args.fault else None)
        seen.append(what_is_open())
    if args.report:
        Path(args.report).write_text(json.dumps(seen))
    return status


def use_selectors() -> None:
    import ptyproxy.pump
    import ptyproxy.shell_end
    from ptyproxy.platform.unix_selector import SelectorPoller

    ptyproxy.pump.Poller = ptyproxy.shell_end.Poller = SelectorPoller


if __name__ == "__main__":
    sys.exit(main())
