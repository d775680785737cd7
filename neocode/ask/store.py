"""Ask sessions in one SQLite file. Blocking; `SessionArchive` calls it on a thread of its own.

Invariants: the database and its -wal and -shm are 0600 from their first moment; what is deleted is overwritten
(secure_delete) and leaves the write-ahead log at once; a file that is no database of ours is moved aside, not deleted.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from neocode.ask.session import AskSession
from neocode.errors import NeocodeError
from neocode.filewrite import create_private
from neocode.paths import PRIVATE_FILE_MODE, ensure_private_dir

STORE_FILE = "ask.db"
ASIDE_SUFFIX = ".corrupt"
SCHEMA_VERSION = 1
BUSY_TIMEOUT_SEC = 2.0  # another process (a second daemon, a backup) holds the lock; then the call fails
_SIDE_FILES = ("-wal", "-shm", "-journal")
_DAY_SEC = 86400.0
_log = logging.getLogger("neocode.ask")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    body BLOB NOT NULL
)
"""
_COLUMNS = "id, title, created_at, updated_at"


class StoreError(NeocodeError):
    """The store cannot be used now: disk full, read-only, locked, of a newer version."""


class StoreCorrupt(StoreError):
    """The file is damaged or no database of ours; opening anew moves it aside."""


class SessionRow(msgspec.Struct, frozen=True):
    """A stored session without its conversation; times in seconds since the epoch."""

    id: str
    title: str
    created_at: float
    updated_at: float


class SessionStore:
    """An open store. Every method raises StoreError or StoreCorrupt; one thread at a time."""

    def __init__(self, directory: Path, *, busy_timeout: float = BUSY_TIMEOUT_SEC) -> None:
        """Open `directory`/ask.db, made if missing. Raises StoreError, StoreCorrupt, ConfigError (the directory)."""
        self.path = ensure_private_dir(directory) / STORE_FILE
        with _translated(self.path):
            _prepare_file(self.path)
            # Autocommit: each statement is one transaction, so a killed process leaves whole sessions only.
            self._db = sqlite3.connect(
                self.path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=16
            )
            try:
                self._set_up()
            except BaseException:
                self._db.close()
                raise

    def rows(self) -> list[SessionRow]:
        """All sessions, newest first."""
        with _translated(self.path):
            query = f"SELECT {_COLUMNS} FROM sessions ORDER BY updated_at DESC, id"
            return [SessionRow(*row) for row in self._db.execute(query)]

    def load(self, session_id: str) -> AskSession | None:
        """The session, or None when it is not stored or its record cannot be decoded (a warning in the log)."""
        with _translated(self.path):
            row = self._db.execute("SELECT body FROM sessions WHERE id = ?", (session_id,)).fetchone()
        if row is None:
            return None
        try:
            return msgspec.json.decode(row[0], type=AskSession)
        except msgspec.DecodeError as error:
            _log.warning("a stored session cannot be read and starts anew: %s", error)
            return None

    def save(self, session: AskSession) -> None:
        """Write the session, replacing what was stored under its id."""
        body = msgspec.json.encode(session)
        with _translated(self.path):
            self._db.execute(
                f"INSERT INTO sessions ({_COLUMNS}, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " title = excluded.title, updated_at = excluded.updated_at, body = excluded.body",
                (session.id, session.title, session.created_at, session.updated_at, body),
            )

    def delete(self, session_ids: list[str]) -> int:
        """Forget the sessions, also in the write-ahead log; how many there were."""
        with _translated(self.path):
            cursor = self._db.executemany("DELETE FROM sessions WHERE id = ?", [(each,) for each in session_ids])
            if cursor.rowcount > 0:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return max(0, cursor.rowcount)

    def prune(self, *, max_sessions: int, max_age_days: float, now: float) -> list[str]:
        """Delete sessions older than `max_age_days` and the oldest above `max_sessions`; their ids. Oldest go first."""
        rows = self.rows()
        oldest_kept = now - max_age_days * _DAY_SEC
        gone = [row.id for index, row in enumerate(rows) if index >= max_sessions or row.updated_at < oldest_kept]
        if gone:
            self.delete(gone)
        with _translated(self.path):
            _drop_old_aside(self.path, oldest_kept)
        return gone

    def close(self) -> None:
        """Close the file; SQLite removes the write-ahead log. Idempotent."""
        try:
            self._db.close()
        except sqlite3.Error:
            pass  # nothing is lost: committed pages are in the log, which the next opening replays

    def _set_up(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise StoreError(f"{self.path} was written by a newer version", "upgrade, or move the file away")
        self._db.execute("PRAGMA secure_delete = ON").fetchall()
        self._db.execute("PRAGMA journal_mode = WAL").fetchall()
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(_SCHEMA)
        if version != SCHEMA_VERSION:
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute(f"SELECT {_COLUMNS}, body FROM sessions LIMIT 0")


def move_aside(path: Path) -> Path:
    """Rename the database and its side files so that a new one can be made; the new name. Replaces an older one.

    Raises:
        StoreError: the directory does not let us.
    """
    aside = path.with_name(path.name + ASIDE_SUFFIX)
    with _translated(path):
        for suffix in ("", *_SIDE_FILES):
            source, target = Path(f"{path}{suffix}"), Path(f"{aside}{suffix}")
            try:
                os.replace(source, target)
            except FileNotFoundError:
                target.unlink(missing_ok=True)
    return aside


def _prepare_file(path: Path) -> None:
    """Make the file 0600 before SQLite opens it: SQLite gives -wal and -shm the mode of the database."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise StoreCorrupt(f"{path} is not a regular file")
    try:
        # Only a file that is not there: closing one that SQLite has open in this process would drop its locks.
        os.close(create_private(str(path)))
    except FileExistsError:
        pass
    for suffix in ("", *_SIDE_FILES):
        try:
            if stat.S_IMODE(os.stat(f"{path}{suffix}").st_mode) != PRIVATE_FILE_MODE:
                os.chmod(f"{path}{suffix}", PRIVATE_FILE_MODE)
        except FileNotFoundError:
            continue


def _drop_old_aside(path: Path, oldest_kept: float) -> None:
    for suffix in ("", *_SIDE_FILES):
        aside = path.with_name(path.name + ASIDE_SUFFIX + suffix)
        try:
            if aside.lstat().st_mtime < oldest_kept:
                aside.unlink()
        except FileNotFoundError:
            continue


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as ours. The types are those of `sqlite3`'s own table of result codes."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "no such column" in str(error) or "malformed" in str(error):
            raise StoreCorrupt(f"{path} is damaged: {error}") from error
        raise StoreError(f"the session store {path} cannot be used: {error}") from error
    except sqlite3.Error as error:
        if type(error) is sqlite3.DatabaseError:  # its subclasses are other things than a damaged file
            raise StoreCorrupt(f"{path} is damaged: {error}") from error
        raise StoreError(f"the session store {path} cannot be used: {error}") from error
    except OSError as error:
        raise StoreError(f"the session store {path} cannot be used: {error.strerror or error}") from error
