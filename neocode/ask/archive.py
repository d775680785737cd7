"""The sessions as the service sees them: an index and the last ones in memory, the store behind on its own thread.

Invariants: nothing here blocks the loop on the disk; a store that fails costs the history's durability and one warning,
never an answer; every call of it has a deadline and their number is bounded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from neocode.ask.session import AskSession
from neocode.ask.store import (
    BUSY_TIMEOUT_SEC,
    STORE_FILE,
    SessionRow,
    SessionStore,
    StoreCorrupt,
    StoreError,
    move_aside,
)
from neocode.ask.types import SessionInfo
from neocode.config import AskConfig
from neocode.errors import ConfigError
from neocode.timestamps import rfc3339

CALL_TIMEOUT_SEC = 5.0  # above SQLite's own wait for a lock, for a disk that hangs
MAX_CALLS = 256  # waiting for the thread; as many as asks may wait
RECENT_SESSIONS = 32  # whole conversations kept in memory: those now talking, and those the disk refused
REOPEN_AFTER_SEC = 10.0  # a store that could not be opened is tried again by the next call after this
PRUNE_EVERY_SEC = 3600.0
MAX_UNDELETED = 4096  # deletions that wait for a disk that refuses them

_T = TypeVar("_T")
_log = logging.getLogger("neocode.ask")


class SessionArchive:
    """Load, save, list and forget sessions. All methods on one loop; `aclose` it."""

    def __init__(
        self,
        directory: Path,
        limits: AskConfig,
        *,
        clock: Callable[[], float] = time.time,
        busy_timeout: float = BUSY_TIMEOUT_SEC,
    ) -> None:
        self._directory = directory
        self._limits = limits
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ask-store")
        self._store: SessionStore | None = None  # touched on the thread only
        self._opening_failed: tuple[float, StoreError] | None = None
        self._emptied = False  # set on the thread when a damaged store was replaced
        self._calls = 0
        self._index: dict[str, SessionRow] = {}
        self._recent: OrderedDict[str, AskSession] = OrderedDict()
        self._undeleted: set[str] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._pruned_at = 0.0
        self._fault = ""

    async def open(self) -> None:
        """Open the store, drop what is too old, read the index. A store that fails is a warning."""
        await self._prune()
        rows = await self._try(SessionStore.rows)
        self._index = {row.id: row for row in reversed(rows or [])}

    def set_limits(self, limits: AskConfig) -> None:
        """The limits of the next prune."""
        self._limits = limits

    def infos(self) -> list[SessionInfo]:
        """Every session known, newest first."""
        rows = sorted(self._index.values(), key=lambda row: row.updated_at, reverse=True)
        return [SessionInfo(row.id, row.title, rfc3339(row.created_at), rfc3339(row.updated_at)) for row in rows]

    def create(self, session_id: str) -> None:
        """Make an empty session, or mark an existing one as used now; it reaches the disk in the background."""
        now = self._clock()
        row = self._index.pop(session_id, None)
        if row is not None:
            self._index[session_id] = msgspec.structs.replace(row, updated_at=now)
            return
        session = self._new(session_id, now)
        self._remember(session)
        if len(self._background) < MAX_CALLS // 4:
            task = asyncio.get_running_loop().create_task(self._persist(session))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def load(self, session_id: str) -> AskSession:
        """The session as last saved; a new one, not yet listed, when there is none.

        Raises:
            StoreError: it is stored and cannot be read now.
        """
        session = self._recent.get(session_id)
        if session is None and session_id in self._index:
            session = await self._call(lambda store: store.load(session_id))
        return session or self._new(session_id, self._clock())

    async def save(self, session: AskSession) -> None:
        """Keep the session: in memory at once, on the disk unless the store fails (a warning)."""
        self._remember(session)
        await self._persist(session)

    async def delete(self, session_id: str) -> bool:
        """Forget the session; False when it was unknown. What the disk refuses now is deleted with the next change."""
        known = session_id in self._index
        self._drop(session_id)
        if known:
            self._undeleted.add(session_id)
            if self._background:
                await asyncio.wait(self._background, timeout=CALL_TIMEOUT_SEC)
            await self._delete_stored()
        return known

    async def aclose(self) -> None:
        """Finish what is being written, close the store and its thread. Idempotent."""
        if self._background:
            await asyncio.wait(self._background, timeout=CALL_TIMEOUT_SEC)
        if self._store is not None:
            await self._try(SessionStore.close)
        self._thread.shutdown(wait=False)

    def _new(self, session_id: str, now: float) -> AskSession:
        return AskSession(id=session_id, created_at=now, updated_at=now)

    def _remember(self, session: AskSession) -> None:
        self._undeleted.discard(session.id)
        self._index.pop(session.id, None)  # the index stays in the order of use
        self._index[session.id] = SessionRow(session.id, session.title, session.created_at, session.updated_at)
        self._recent[session.id] = session
        self._recent.move_to_end(session.id)
        if len(self._recent) > RECENT_SESSIONS:
            self._recent.popitem(last=False)
        while len(self._index) > max(1, self._limits.max_sessions):
            oldest = next(iter(self._index))
            self._drop(oldest)
            self._undeleted.add(oldest)

    def _drop(self, session_id: str) -> None:
        self._index.pop(session_id, None)
        self._recent.pop(session_id, None)

    async def _persist(self, session: AskSession) -> None:
        if self._recent.get(session.id) is session:  # else it was deleted, or a later state is on its way
            await self._try(lambda store: store.save(session))
        await self._delete_stored()
        if self._clock() - self._pruned_at > PRUNE_EVERY_SEC:
            await self._prune()

    async def _delete_stored(self) -> None:
        doomed = sorted(self._undeleted)
        if not doomed:
            return
        if await self._try(lambda store: store.delete(doomed)) is not None:
            self._undeleted.difference_update(doomed)
        elif len(self._undeleted) > MAX_UNDELETED:
            self._undeleted.clear()  # the next prune finds those that are too many or too old

    async def _prune(self) -> None:
        now, limits = self._clock(), self._limits
        self._pruned_at = now
        gone = await self._try(
            lambda store: store.prune(max_sessions=limits.max_sessions, max_age_days=limits.max_age_days, now=now)
        )
        for session_id in gone or ():
            self._drop(session_id)

    async def _try(self, work: Callable[[SessionStore], _T]) -> _T | None:
        """`_call`, with a failure as a warning (once for the same one) and None."""
        try:
            result = await self._call(work)
        except StoreError as error:
            if error.one_line() != self._fault:
                self._fault = error.one_line()
                _log.warning("conversations are kept in memory only: %s", self._fault)
            return None
        self._fault = ""
        return result

    async def _call(self, work: Callable[[SessionStore], _T]) -> _T:
        if self._calls >= MAX_CALLS:
            raise StoreError("the session store is too slow", "look at the disk that holds it")
        loop = asyncio.get_running_loop()
        try:
            future = loop.run_in_executor(self._thread, self._on_thread, work)
        except RuntimeError as error:  # the thread is shut down
            raise StoreError("the session store is closed", "ask again") from error
        self._calls += 1
        future.add_done_callback(self._called)
        await asyncio.wait({future}, timeout=CALL_TIMEOUT_SEC)
        if not future.done():
            raise StoreError("the session store does not answer", "look at the disk that holds it")
        if self._emptied:
            self._emptied = False
            self._index = {each: row for each, row in self._index.items() if each in self._recent}
        return future.result()

    def _called(self, future: asyncio.Future[_T]) -> None:
        self._calls -= 1
        if not future.cancelled():
            future.exception()  # seen, also when nobody waits any more

    def _on_thread(self, work: Callable[[SessionStore], _T]) -> _T:
        store = self._opened()
        try:
            return work(store)
        except StoreCorrupt as error:
            store.close()
            self._store = None
            return work(self._replaced(error))

    def _opened(self) -> SessionStore:
        if self._store is not None:
            return self._store
        if self._opening_failed is not None and time.monotonic() - self._opening_failed[0] < REOPEN_AFTER_SEC:
            raise self._opening_failed[1]
        try:
            self._store = SessionStore(self._directory, busy_timeout=self._busy_timeout)
        except StoreCorrupt as error:
            return self._replaced(error)
        except (StoreError, ConfigError) as error:
            failure = error if isinstance(error, StoreError) else StoreError(error.message, error.hint)
            self._opening_failed = (time.monotonic(), failure)
            raise failure from error
        return self._store

    def _replaced(self, error: StoreCorrupt) -> SessionStore:
        aside = move_aside(self._directory / STORE_FILE)
        _log.warning("%s; moved to %s, a new store is made", error.one_line(), aside)
        self._emptied = True
        try:
            self._store = SessionStore(self._directory, busy_timeout=self._busy_timeout)
        except ConfigError as failure:
            raise StoreError(failure.message, failure.hint) from failure
        return self._store
