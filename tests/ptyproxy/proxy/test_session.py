"""The session's directory: private, whole orders, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ptyproxy.session import LINE_ORDER, NONCE_FILE, is_alive, open_session


def test_everything_in_it_is_the_users_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        session = open_session(str(tmp_path))
        session.write(LINE_ORDER, b"x")
    finally:
        os.umask(old)
    assert Path(session.directory).stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in Path(session.directory).iterdir()} == {0o600}
    assert Path(session.directory, NONCE_FILE).read_text() == session.nonce
    session.close()
    assert list(tmp_path.iterdir()) == []
    session.close()


def test_an_order_can_be_taken_back_until_it_was_taken(tmp_path: Path) -> None:
    session = open_session(str(tmp_path))
    session.write(LINE_ORDER, b"x")
    assert session.withdraw(LINE_ORDER)
    assert not session.withdraw(LINE_ORDER)
    session.close()


def test_directories_of_dead_proxies_are_swept_and_those_of_live_ones_stay(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = tmp_path / f"shell-{dead.pid}-1-0123abcd"
    gone.mkdir()
    (gone / "nonce").touch()
    other = tmp_path / "gateway.sock"
    other.touch()
    live = open_session(str(tmp_path))
    session = open_session(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([live.id, session.id, other.name])
    assert is_alive(os.getpid())
    assert not is_alive(dead.pid)
