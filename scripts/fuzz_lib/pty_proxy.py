"""The pump with the real tap on it, but nobody who answers. `pty_proxy.py REPORT PROGRAM ARGUMENT...`"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

from fuzz_lib.pty_run import Seen, told
from pump_runner import run_once
from terminal_streams import NONCE

from ptyproxy.capture import Capture
from ptyproxy.diagnosis import Diagnosis
from ptyproxy.notices import Notices
from ptyproxy.session import Session, open_session
from ptyproxy.tap import ShellTap

HOTKEY = 0x07


def make_tap(session: Session) -> ShellTap:
    """As `wrapped` makes it. Nothing is said, so that every byte on the screen is the program's."""
    tap = ShellTap(Capture(NONCE), "bash", cols=lambda: 80, receive=list, hotkey=HOTKEY, hotkey_key=b"\x1b[99~")
    notices = Notices(tap, session, b"", lambda data: None, lambda data: None)
    find, nothing = tap.findings.find, (lambda message: None)
    tap.attach(notices, Diagnosis(notices, nothing, find, nothing, marker=False), NONCE)
    return tap


def main() -> int:
    report, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as base:
        errors: list[str] = []
        tap = make_tap(open_session(base))
        status = run_once([command[0], *command], tap, errors)
        seen = Seen(tap.capture.faults, "".join(errors), told(tap.capture.records))
        Path(report).write_text(json.dumps(seen._asdict()))
        return status


if __name__ == "__main__":
    sys.exit(main())
