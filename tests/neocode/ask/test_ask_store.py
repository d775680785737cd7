"""The SQLite file: private, whole after a kill, erased when asked to, moved aside when damaged."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.ask.compaction import Gist, Summary
from neocode.ask.session import AskSession, Situation
from neocode.ask.store import ASIDE_SUFFIX, STORE_FILE, SessionStore, StoreCorrupt, StoreError, move_aside
from neocode.ask.turn import Turn
from neocode.providers.base import AskContext

DAY = 86400.0
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and signals")


def session(name: str, updated: float = 0.0, text: str = "answer") -> AskSession:
    turn = Turn("q?", AskContext(log="错误 log", exit_code=2, near_commands=("a", "b")), text, "reasoning")
    return AskSession(
        id=name,
        created_at=1.5,
        updated_at=updated,
        title=f"title of {name}",
        workdir="/srv",
        skills=("terminal-diagnosis",),
        turns=(turn, Turn("more?", answer="b")),
        summary=Summary(2, ("db.lan:5432",), (Gist("x", "y"),)),
        situation=Situation(os="linux", lang="zh-CN"),
        nonce="abcdefghijklmn",
    )


def files_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_session_comes_back_whole_after_reopening(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.save(session("a", 1.0))
    store.save(session("b", 3.0))
    store.save(session("a", 5.0, "later"))
    store.close()
    store.close()
    store = SessionStore(tmp_path)
    assert store.load("a") == session("a", 5.0, "later")
    assert store.load("nobody") is None
    assert [(row.id, row.title, row.updated_at) for row in store.rows()] == [
        ("a", "title of a", 5.0),
        ("b", "title of b", 3.0),
    ]
    store.close()


@posix_only
def test_every_file_is_private_from_its_first_moment(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        directory = tmp_path / "state"
        store = SessionStore(directory)
        store.save(session("a"))
        modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
        assert modes == {STORE_FILE: 0o600, f"{STORE_FILE}-wal": 0o600, f"{STORE_FILE}-shm": 0o600}
        assert directory.stat().st_mode & 0o777 == 0o700
        store.close()
        (directory / STORE_FILE).chmod(0o644)
        store = SessionStore(directory)
        store.save(session("b"))
        assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
        store.close()
    finally:
        os.umask(old)


def test_what_is_deleted_is_in_no_file_any_more(tmp_path: Path) -> None:
    secret = "hunter2-" * 400
    store = SessionStore(tmp_path)
    store.save(session("keep"))
    store.save(session("gone", text=secret))
    assert any(b"hunter2" in data for data in files_of(tmp_path).values())
    assert store.delete(["gone", "unknown"]) == 1
    assert [name for name, data in files_of(tmp_path).items() if b"hunter2" in data] == []
    assert store.load("keep") == session("keep")
    store.close()


def test_too_many_and_too_old_sessions_go_oldest_first(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    for age in range(10):
        store.save(session(f"s-{age}", 100 * DAY - age * DAY))
    gone = store.prune(max_sessions=6, max_age_days=7.5, now=100 * DAY)
    assert gone == ["s-6", "s-7", "s-8", "s-9"]
    assert store.prune(max_sessions=6, max_age_days=3.5, now=100 * DAY) == ["s-4", "s-5"]
    assert [row.id for row in store.rows()] == ["s-0", "s-1", "s-2", "s-3"]
    store.close()


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=2, max_size=5000))  # SQLite takes a file of one byte for an empty one
def test_a_file_that_is_no_database_is_found_out(tmp_path_factory: pytest.TempPathFactory, garbage: bytes) -> None:
    directory = tmp_path_factory.mktemp("state")
    (directory / STORE_FILE).write_bytes(garbage)
    with pytest.raises(StoreCorrupt):
        SessionStore(directory)
    aside = move_aside(directory / STORE_FILE)
    assert aside.read_bytes() == garbage
    SessionStore(directory).close()


def test_a_database_of_someone_else_is_found_out(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / STORE_FILE) as other:
        other.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, other TEXT)")
    other.close()
    with pytest.raises(StoreCorrupt):
        SessionStore(tmp_path)


def test_damage_inside_the_file_is_found_when_it_is_read(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    for number in range(50):
        store.save(session(f"s-{number}", text="x" * 9000))
    store.close()
    path = tmp_path / STORE_FILE
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 600] = b"\xff" * 600
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt):
        load_all(tmp_path)


def load_all(directory: Path) -> None:
    store = SessionStore(directory)
    for number in range(50):
        store.load(f"s-{number}")


@posix_only
def test_a_link_in_the_files_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / STORE_FILE).symlink_to(target)
    with pytest.raises(StoreCorrupt, match="regular"):
        SessionStore(tmp_path)
    move_aside(tmp_path / STORE_FILE)
    SessionStore(tmp_path).close()
    assert target.read_text() == "precious"


def test_moving_aside_replaces_an_older_copy_and_takes_the_side_files_along(tmp_path: Path) -> None:
    for content in ("one", "two"):
        (tmp_path / STORE_FILE).write_text(content)
    (tmp_path / f"{STORE_FILE}-wal").write_text("wal")
    (tmp_path / f"{STORE_FILE}{ASIDE_SUFFIX}-shm").write_text("of an older one")
    move_aside(tmp_path / STORE_FILE)
    assert files_of(tmp_path) == {
        f"{STORE_FILE}{ASIDE_SUFFIX}": b"two",
        f"{STORE_FILE}{ASIDE_SUFFIX}-wal": b"wal",
    }


def test_a_damaged_copy_goes_when_it_is_as_old_as_a_session_may_be(tmp_path: Path) -> None:
    aside = tmp_path / f"{STORE_FILE}{ASIDE_SUFFIX}"
    aside.write_text("old talk")
    store = SessionStore(tmp_path)
    now = aside.stat().st_mtime
    store.prune(max_sessions=9, max_age_days=30, now=now + 29 * DAY)
    assert aside.exists()
    store.prune(max_sessions=9, max_age_days=30, now=now + 31 * DAY)
    assert not aside.exists()
    store.close()


def test_a_store_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    SessionStore(tmp_path).close()
    with sqlite3.connect(tmp_path / STORE_FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError, match="newer") as failure:
        SessionStore(tmp_path)
    assert not isinstance(failure.value, StoreCorrupt)


def test_a_session_that_cannot_be_decoded_starts_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SessionStore(tmp_path)
    store.save(session("a"))
    with sqlite3.connect(tmp_path / STORE_FILE) as db:
        db.execute("UPDATE sessions SET body = '{\"id\": 5}'")
    db.close()
    assert store.load("a") is None
    assert "cannot be read" in caplog.text
    store.close()


def test_a_lock_held_by_another_process_has_a_deadline(tmp_path: Path) -> None:
    store = SessionStore(tmp_path, busy_timeout=0.1)
    store.save(session("a"))
    other = sqlite3.connect(tmp_path / STORE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.save(session("b"))
    assert store.load("a") == session("a")
    other.execute("ROLLBACK")
    other.close()
    store.save(session("b"))
    store.close()


WRITER = """
import sys
from pathlib import Path
from neocode.ask.session import AskSession
from neocode.ask.store import SessionStore
from neocode.ask.turn import Turn

store = SessionStore(Path(sys.argv[1]))
number = 0
while True:
    turns = tuple(Turn(f"q{n}", answer=f"{number} " * 3000) for n in range(5))
    store.save(AskSession(id=f"s-{number % 7}", created_at=0, updated_at=number, turns=turns))
    if number % 5 == 4:
        store.delete([f"s-{(number + 3) % 7}"])
    print(number, flush=True)
    number += 1
"""


@posix_only
@pytest.mark.parametrize("writes", [1, 7, 23, 60])
def test_a_process_killed_while_it_writes_leaves_whole_sessions(tmp_path: Path, writes: int) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(writes):
            last = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
    store = SessionStore(tmp_path)
    rows = store.rows()
    loaded = [store.load(row.id) for row in rows]
    assert rows
    assert max(row.updated_at for row in rows) >= last
    for row, each in zip(rows, loaded, strict=True):
        assert each is not None
        assert {turn.answer for turn in each.turns} == {f"{int(row.updated_at)} " * 3000}
    assert store.delete([row.id for row in rows]) == len(rows)
    store.close()


LIMITED = """
import resource, sys
from pathlib import Path
from neocode.ask.session import AskSession
from neocode.ask.store import SessionStore, StoreCorrupt, StoreError
from neocode.ask.turn import Turn

store = SessionStore(Path(sys.argv[1]))
store.save(AskSession(id="before", created_at=0, updated_at=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    for number in range(50):
        big = (Turn("q", answer="x" * 30_000),)
        store.save(AskSession(id=f"s-{number}", created_at=0, updated_at=2, turns=big))
except StoreCorrupt:
    sys.exit("corrupt")
except StoreError as error:
    print(error.one_line())
    assert store.load("before") is not None
"""


@posix_only
def test_a_file_that_may_not_grow_is_an_error_and_loses_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be used" in done.stdout
    store = SessionStore(tmp_path)
    rows = store.rows()
    assert "before" in {row.id for row in rows}
    assert all(store.load(row.id) is not None for row in rows)
    store.close()
