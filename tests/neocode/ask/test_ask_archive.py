"""Sessions across restarts and failing disks: the answer is always given, the loop never waits for the disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neocode.ask.archive import RECENT_SESSIONS, SessionArchive
from neocode.ask.session import AskSession
from neocode.ask.store import ASIDE_SUFFIX, STORE_FILE
from neocode.ask.turn import Turn
from neocode.config import AskConfig, Config
from neocode.providers.base import AskContext

DAY = 86400.0


def session(name: str, answer: str = "a", updated: float = 0.0) -> AskSession:
    return AskSession(id=name, created_at=0, updated_at=updated, title=name, turns=(Turn("q", answer=answer),))


@contextlib.contextmanager
def tiny_disk(directory: Path, *options: str) -> Iterator[Path]:
    """A file system of its own on `directory`; needs the right to mount."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(["size=256k", *options]), "tmpfs", str(directory)]
    if sys.platform != "linux" or not shutil.which("mount") or subprocess.run(mount, check=False).returncode:
        pytest.skip("no right to mount a file system")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_conversation_goes_on_after_a_restart(opened: Any, scripted: Any, answering: Any) -> None:
    async def main() -> None:
        provider = scripted(answering("first answer"))
        async with opened(provider) as caller:
            await caller.ask("first question", skills=("terminal-diagnosis",))
        async with opened(provider) as caller:
            (info,) = caller.service.sessions()
            assert (info.id, info.title) == ("s-1", "first question")
            await caller.ask("second question")
        messages = provider.requests[1].messages
        assert [message.content for message in messages[2:]] == ["first answer", "second question"]
        assert "first question" in messages[1].content
        assert "# Terminal diagnosis" in messages[0].content

    asyncio.run(main())


def test_a_session_made_empty_is_listed_and_survives(opened: Any, scripted: Any) -> None:
    async def main() -> None:
        now = [1000.0]
        async with opened(scripted(), clock=lambda: now[0]) as caller:
            assert caller.service.create("mine") == "mine"
            made = caller.service.create("")
            assert made.startswith("ask-")
            now[0] = 2000.0
            assert caller.service.create("mine") == "mine"
            assert [info.id for info in caller.service.sessions()] == ["mine", made]
            assert caller.service.sessions()[0].created_at == "1970-01-01T00:16:40Z"
        async with opened(scripted(), clock=lambda: now[0]) as caller:
            assert {info.id for info in caller.service.sessions()} == {"mine", made}
            assert await caller.service.delete("mine")
            assert not await caller.service.delete("never")
        async with opened(scripted(), clock=lambda: now[0]) as caller:
            assert [info.id for info in caller.service.sessions()] == [made]

    asyncio.run(main())


def test_more_sessions_than_allowed_drop_the_oldest(tmp_path: Path) -> None:
    async def main() -> None:
        archive = SessionArchive(tmp_path, AskConfig(max_sessions=3), clock=lambda: 1000.0)
        await archive.open()
        for number in range(6):
            await archive.save(session(f"s-{number}", updated=float(number)))
        await archive.save(session("s-3", updated=9.0))
        await archive.save(session("s-6", updated=10.0))
        assert [info.id for info in archive.infos()] == ["s-6", "s-3", "s-5"]
        await archive.aclose()
        archive = SessionArchive(tmp_path, AskConfig(max_sessions=2), clock=lambda: 1000.0)
        await archive.open()
        assert [info.id for info in archive.infos()] == ["s-6", "s-3"]
        await archive.aclose()

    asyncio.run(main())


def test_a_session_older_than_allowed_is_gone_within_the_hour(tmp_path: Path) -> None:
    async def main() -> None:
        now = [100 * DAY]
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: now[0])
        await archive.open()
        await archive.save(session("old", updated=now[0]))
        now[0] += 31 * DAY
        await archive.save(session("new", updated=now[0]))
        assert [info.id for info in archive.infos()] == ["new"]
        await archive.aclose()

    asyncio.run(main())


def test_only_the_last_conversations_are_kept_in_memory_and_the_others_are_read_again(tmp_path: Path) -> None:
    async def main() -> None:
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: 1.0)
        await archive.open()
        for number in range(RECENT_SESSIONS + 8):
            await archive.save(session(f"s-{number}", answer=f"answer {number}"))
        assert len(archive._recent) == RECENT_SESSIONS
        assert (await archive.load("s-0")).turns[0].answer == "answer 0"
        await archive.aclose()

    asyncio.run(main())


@pytest.mark.parametrize("damage", ["before the start", "while running"])
def test_a_damaged_store_is_moved_aside_and_the_answer_given(
    opened: Any, scripted: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path = tmp_path / "state" / STORE_FILE

    async def main() -> None:
        if damage == "before the start":
            path.parent.mkdir(mode=0o700)
            path.write_bytes(b"this is no database" * 300)
        if damage == "while running":
            async with opened(scripted()) as caller:
                for number in range(5):
                    await caller.ask("one", session_id=f"s-{number}")
        async with opened(scripted()) as caller:
            if damage == "while running":
                spoil(path)
            assert (await caller.ask("two", session_id="s-0")).event_type == "ask_done"
            assert path.with_name(STORE_FILE + ASIDE_SUFFIX).exists()
            assert caplog.text.count("a new store is made") == 1
        async with opened(scripted()) as caller:
            assert [info.id for info in caller.service.sessions()] == ["s-0"]

    asyncio.run(main())


def spoil(path: Path) -> None:
    """Damage every page of a live database, as a broken disk does: in the file and in the write-ahead log."""
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    other.close()
    with open(path, "r+b") as file:
        for start in range(4096, os.fstat(file.fileno()).st_size, 4096):
            file.seek(start)
            file.write(b"\xff" * 2000)


def test_a_full_disk_costs_a_warning_and_not_the_answer(
    opened: Any, scripted: Any, answering: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(directory: Path) -> None:
        provider = scripted(answering("word " * 5000))
        async with opened(provider, state_dir=directory) as caller:
            for number in range(20):
                end = await caller.ask(f"question {number}", session_id=f"s-{number}")
                assert end.event_type == "ask_done"
            assert (await caller.ask("once more", session_id="s-19")).event_type == "ask_done"
        assert len(provider.requests[-1].messages) == 4

    with tiny_disk(tmp_path / "disk") as disk:
        asyncio.run(main(disk / "state"))
        warnings = [record.getMessage() for record in caplog.records if "in memory only" in record.getMessage()]
        assert len(warnings) == 1
        assert "full" in warnings[0] or "disk I/O" in warnings[0]


def test_a_read_only_home_costs_a_warning_and_not_the_answer(
    opened: Any, scripted: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(directory: Path) -> None:
        provider = scripted()
        async with opened(provider, state_dir=directory) as caller:
            await caller.ask("one")
            assert (await caller.ask("two")).event_type == "ask_done"
            assert [info.id for info in caller.service.sessions()] == ["s-1"]
            assert await caller.service.delete("s-1")
        assert len(provider.requests[-1].messages) == 4

    with tiny_disk(tmp_path / "disk", "ro") as disk:
        asyncio.run(main(disk / "state"))
    assert caplog.text.count("in memory only") == 1


def test_a_home_that_cannot_be_a_directory_costs_a_warning_and_not_the_answer(
    opened: Any, scripted: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file")

    async def main() -> None:
        async with opened(scripted()) as caller:
            assert (await caller.ask()).event_type == "ask_done"

    asyncio.run(main())
    assert caplog.text.count("in memory only") == 1


def test_a_locked_store_delays_neither_the_answer_nor_the_loop(tmp_path: Path) -> None:
    async def main() -> None:
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: 1.0, busy_timeout=0.5)
        await archive.open()
        await archive.save(session("a"))
        other = sqlite3.connect(tmp_path / STORE_FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        saving = asyncio.create_task(archive.save(session("b")))
        longest, last = 0.0, time.monotonic()
        while not saving.done():
            await asyncio.sleep(0.01)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        assert longest < 0.4
        assert (await archive.load("b")).turns
        other.execute("ROLLBACK")
        other.close()
        await archive.save(session("c"))
        await archive.aclose()

    asyncio.run(main())


def test_a_deletion_that_the_disk_refused_is_made_up_for(tmp_path: Path) -> None:
    async def main() -> None:
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: 1.0, busy_timeout=0.05)
        await archive.open()
        await archive.save(session("secret", answer="hunter2"))
        other = sqlite3.connect(tmp_path / STORE_FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert await archive.delete("secret")
        assert archive.infos() == []
        other.execute("ROLLBACK")
        other.close()
        await archive.save(session("next"))
        await archive.aclose()

    asyncio.run(main())
    assert [path.name for path in tmp_path.iterdir() if b"hunter2" in path.read_bytes()] == []


def test_a_session_deleted_and_begun_again_is_not_deleted_late(tmp_path: Path) -> None:
    async def main() -> None:
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: 1.0, busy_timeout=0.05)
        await archive.open()
        await archive.save(session("again"))
        other = sqlite3.connect(tmp_path / STORE_FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await archive.delete("again")
        other.execute("ROLLBACK")
        other.close()
        await archive.save(session("again", answer="anew"))
        await archive.save(session("other"))
        await archive.aclose()
        archive = SessionArchive(tmp_path, AskConfig(), clock=lambda: 1.0)
        await archive.open()
        assert (await archive.load("again")).turns[0].answer == "anew"
        await archive.aclose()

    asyncio.run(main())


def test_a_failed_ask_makes_no_session(opened: Any, scripted: Any) -> None:
    async def script(request: object) -> Any:
        for error in [RuntimeError()]:
            raise error
        yield

    async def main() -> None:
        async with opened(scripted(script), Config()) as caller:
            await caller.ask()
            assert caller.service.sessions() == []

    asyncio.run(main())


def test_turn_twelve_still_knows_the_names_of_turn_one_also_after_restarts(
    opened: Any, scripted: Any, answering: Any
) -> None:
    log = "pip: could not install left-pad==1.3.0 from db.internal:5432, see /srv/app/conf.d/site.toml\n"
    names = ("left-pad==1.3.0", "db.internal:5432", "/srv/app/conf.d/site.toml", "requests-oauth")

    async def main() -> None:
        provider = scripted(answering("It depends on the weather. " * 150))
        compacted = []
        for number in range(1, 13):
            async with opened(provider) as caller:
                context = AskContext(log=log, command="pip install requests-oauth") if number == 1 else None
                end = await caller.ask(f"question {number}?", context=context)
                compacted.append(end.payload["compacted"])
        prompt = "".join(message.content for message in provider.requests[-1].messages)
        assert [name for name in names if name not in prompt] == []
        assert compacted[0] is False
        assert compacted.count(True) >= 2
        assert len(provider.requests) == 12
        roles = [message.role for message in provider.requests[-1].messages]
        assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]

    asyncio.run(main())
