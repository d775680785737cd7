"""The assistant on a real gateway with the built-in rules: diagnoses, state, notifications, a gateway that dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cli import NeoHome

from neocode.gateway.client import GatewayClient
from neocode.gateway.endpoint import resolve_endpoint
from neocode.gateway.link import GatewayLink
from neocode.shell.assistant import ShellAssistant
from ptyproxy.ports import AssistantError, Finding, NothingSaid
from ptyproxy.records import CommandRecord, Output

MakeFinding = Callable[..., Finding]
Until = Callable[..., Awaitable[None]]
Notes = list[tuple[str, Mapping[str, object]]]
TOKEN = "ghp_" + "a1B2" * 9
GIT = b"fatal: not a git repository (or any of the parent directories): .git\r\n"


@asynccontextmanager
async def bound(session_id: str = "shell-1-1-0000000a", **state: object) -> AsyncIterator[tuple[ShellAssistant, Notes]]:
    """An assistant that runs as a shell, and the notifications that it got."""
    notes: Notes = []
    assistant = ShellAssistant(resolve_endpoint(), literals=("f00d" * 8,))
    running = asyncio.create_task(assistant.run(session_id, lambda action, payload: notes.append((action, payload))))
    try:
        await assistant.publish({"auto_enabled": True, "busy": False, "pid": 1, "shell": "bash", **state})
        yield assistant, notes
    finally:
        running.cancel()
        await asyncio.wait([running])
        await assistant.close()
        assert running.cancelled()


async def rpc(method: str) -> dict[str, Any]:
    async with await GatewayClient.open(resolve_endpoint()) as client:
        return await client.call(f"gateway.{method}", {})


async def shells() -> dict[str, dict[str, Any]]:
    return {shell["session_id"]: shell for shell in (await rpc("listShells"))["shells"]}


async def eventually(check: Callable[[], Awaitable[object]]) -> None:
    for _ in range(600):
        if await check():
            return
        await asyncio.sleep(0.03)
    raise AssertionError("it never came")


def test_a_diagnosis_starts_the_daemon_and_shows_blocks(home: NeoHome, finding: MakeFinding) -> None:
    blocks: list[str] = []

    async def diagnose() -> None:
        async with bound() as (assistant, _):
            answer = await assistant.diagnose(finding("git status", GIT, exit_code=128, automatic=True), blocks.append)
            assert "Git repository" in answer.root_cause or "git" in answer.root_cause.lower()
            assert answer.closing.startswith("provider offline (rules)")
            assert "\x1b" not in answer.closing
            assert answer.fixes
            assert set(answer.fixes) <= set(answer.suggested)

            async def forgotten() -> bool:
                return (await rpc("listSessions"))["sessions"] == []

            await eventually(forgotten)

    asyncio.run(diagnose())
    assert len(blocks) > 2
    assert all(block.endswith("\n") for block in blocks)
    assert "\x1b[1mCause\x1b[0m" in "".join(blocks)


def test_a_finding_whose_text_says_nothing_of_a_failure_reaches_no_gateway(home: NeoHome, finding: MakeFinding) -> None:
    """CMD tells no exit code: the offline rules decide whether there is anything to ask about."""
    shown: list[str] = []

    async def diagnose() -> None:
        async with bound(shell="cmd") as (assistant, _):
            copied = finding("copy a b", b"        1 file(s) copied.\r\n", automatic=True)._replace(unsure=True)
            with pytest.raises(NothingSaid):
                await assistant.diagnose(copied, shown.append)
            assert not gateway_listens()
            missing = b"'gti' is not recognized as an internal or external command,\r\n"
            failed = finding("gti", missing, automatic=True)._replace(unsure=True, shell="cmd")
            assert "gti" in (await assistant.diagnose(failed, shown.append)).root_cause

    asyncio.run(diagnose())
    assert shown


def test_a_killed_program_without_output_is_diagnosed(home: NeoHome, finding: MakeFinding) -> None:
    async def diagnose() -> None:
        async with bound() as (assistant, _):
            answer = await assistant.diagnose(finding("python train.py", b"", exit_code=137), lambda text: None)
            assert "137" in answer.root_cause or "killed" in answer.root_cause.lower()

    asyncio.run(diagnose())


def test_the_recent_screen_is_diagnosed_where_no_command_is_known(home: NeoHome, finding: MakeFinding) -> None:
    async def diagnose() -> None:
        async with bound() as (assistant, _):
            answer = await assistant.diagnose(
                finding(None, b"$ gti\r\nbash: gti: command not found\r\n"), lambda _: None
            )
            assert answer.closing

    asyncio.run(diagnose())


def test_waiting_in_the_background_starts_no_daemon_and_goes_on_when_one_comes(home: NeoHome) -> None:
    async def wait() -> None:
        async with bound(cwd="/tmp"):
            await asyncio.sleep(0.5)
            assert not gateway_listens()
            daemon = await asyncio.to_thread(home.start, "gateway", "run")
            try:

                async def there() -> bool:
                    return gateway_listens() and "shell-1-1-0000000a" in await shells()

                await eventually(there)
            finally:
                daemon.terminate()
                await asyncio.to_thread(daemon.communicate)

    asyncio.run(wait())


def gateway_listens() -> bool:
    return Path(resolve_endpoint().address).exists()


def test_what_is_published_is_redacted_and_the_newest_wins(home: NeoHome) -> None:
    async def publish() -> None:
        home.run("gateway", "restart")
        async with bound() as (assistant, _):
            for n in range(50):
                await assistant.publish({"busy": n % 2 == 0, "last_command": f"echo {n}", "last_exit": n})
            await assistant.publish(
                {"busy": True, "cwd": f"/srv/{TOKEN}", "last_command": f"curl -u me:{TOKEN} x", "last_exit": 7}
            )
            seen: list[dict[str, Any]] = []

            async def complete() -> bool:
                if "shell-1-1-0000000a" not in await shells():
                    return False
                seen.append((await shells())["shell-1-1-0000000a"])
                return bool(seen[-1].get("last_command")) and seen[-1]["last_exit"] == 7

            await eventually(complete)
            assert TOKEN not in repr(seen)
            assert "[redacted:" in seen[-1]["last_command"]
            assert seen[-1]["cwd"] == "/srv/[redacted:github-token]"
            assert seen[-1]["busy"] is True

    asyncio.run(publish())


def test_being_busy_is_known_at_once_although_the_command_is_still_being_redacted(
    home: NeoHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(job: object) -> object:
        await asyncio.sleep(60)
        raise AssertionError

    async def publish() -> None:
        home.run("gateway", "restart")
        async with bound() as (assistant, _):
            await assistant.publish({"busy": True, "last_command": "ls", "last_exit": 1})

            async def busy() -> bool:
                state = (await shells()).get("shell-1-1-0000000a", {})
                assert not state.get("last_command")
                return state.get("busy") is True and state["last_exit"] == 1

            await eventually(busy)

    monkeypatch.setattr("neocode.shell.publisher.extract", never)
    asyncio.run(publish())


def test_two_shells_on_one_gateway_get_what_is_theirs(home: NeoHome, finding: MakeFinding, until: Until) -> None:
    async def both() -> None:
        home.run("gateway", "restart")
        async with bound("shell-1-1-0000000a") as (one, ones), bound("shell-2-1-0000000b") as (two, twos):
            first, second = await asyncio.gather(
                one.diagnose(finding("git status", GIT, exit_code=128), lambda _: None),
                two.diagnose(finding("python t.py", b"", exit_code=137), lambda _: None),
            )
            assert first.root_cause != second.root_cause

            async def known() -> bool:
                return len(await shells()) == 2

            await eventually(known)
            done = await asyncio.to_thread(home.run, "diag", "-i", "--session", "shell-2-1-0000000b")
            assert done.returncode == 0, done.stderr
            await until(lambda: twos)
            assert twos == [("idm_enter", {})]
            several = await asyncio.to_thread(home.run, "diag")
            assert several.returncode == 3
            assert "shell-1-1-0000000a" in several.stderr
            assert ones == []

    asyncio.run(both())


def test_diag_in_another_terminal_reaches_the_shell(home: NeoHome, until: Until) -> None:
    async def trigger() -> None:
        home.run("gateway", "restart")
        async with bound(cwd="/tmp", last_command="make", last_exit=2) as (assistant, notes):

            async def known() -> bool:
                return bool((await shells()).get("shell-1-1-0000000a", {}).get("cwd"))

            await eventually(known)

            async def neocode(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
                return await asyncio.to_thread(home.run, *arguments, env=env)

            done = await neocode("diag")
            assert done.stdout == "delivered to shell-1-1-0000000a (bash, /tmp)\n"
            assert (await neocode("diag", "-i")).returncode == 0
            assert (await neocode("diag", "auto", "status")).stdout == "automatic diagnosis: on\n"
            assert (await neocode("diag", "auto", "off")).stdout == "automatic diagnosis: off\n"
            await until(lambda: len(notes) == 3)
            assert [action for action, _ in notes] == ["diagnose", "idm_enter", "auto_off"]
            await assistant.publish({"auto_enabled": False, "busy": True, "shell": "bash", "cwd": "/tmp"})

            async def off() -> bool:
                return (await neocode("diag", "auto", "status")).stdout == "automatic diagnosis: off\n"

            await eventually(off)
            busy = await neocode("diag", NEOCODE_SHELL_SESSION="shell-1-1-0000000a")
            assert busy.returncode == 3
            assert "busy" in busy.stderr
            wrong = await neocode("diag", "--session", "shell-9-9-99999999")
            assert wrong.returncode == 3
            assert "no active shell for session shell-9-9-99999999" in wrong.stderr
            assert len(notes) == 3

    asyncio.run(trigger())


def test_a_gateway_that_is_killed_is_forgotten_and_the_next_diagnosis_starts_another(
    home: NeoHome, finding: MakeFinding
) -> None:
    async def killed() -> None:
        home.run("gateway", "restart")
        async with bound() as (assistant, _):
            await assistant.diagnose(finding(), lambda _: None)
            pid = int(str((await asyncio.to_thread(home.status))["pid"]))
            os.kill(pid, signal.SIGKILL)
            with suppress(AssistantError):  # the connection may or may not be known to be gone
                await assistant.diagnose(finding(), lambda _: None)
            await assistant.diagnose(finding(), lambda _: None)
            assert (await asyncio.to_thread(home.status))["pid"] != pid

            async def again() -> bool:
                return "shell-1-1-0000000a" in await shells()

            await eventually(again)

    asyncio.run(killed())


def test_a_gateway_that_cannot_be_started_is_one_line(home: NeoHome, finding: MakeFinding) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "run").write_text("no directory")

    async def diagnose() -> None:
        assistant = ShellAssistant(resolve_endpoint())
        with pytest.raises(AssistantError) as caught:
            await assistant.diagnose(finding(), lambda _: None)
        assert "run" in str(caught.value)
        assert "\n" not in str(caught.value)
        await assistant.close()
        await assistant.close()

    asyncio.run(diagnose())
    (home.dir / "run").unlink()


def test_a_broken_config_is_one_line(home: NeoHome, finding: MakeFinding) -> None:
    home.run("gateway", "restart")
    (home.dir / "config.yaml").write_text("redact:\n  patterns: ['(']\n")

    async def diagnose() -> None:
        async with bound() as (assistant, _):
            with pytest.raises(AssistantError, match=r"redact\.patterns"):
                await assistant.diagnose(finding(), lambda _: None)

    asyncio.run(diagnose())


def test_an_answer_that_does_not_come_in_time_is_one_line(
    home: NeoHome, finding: MakeFinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late() -> None:
        assistant = ShellAssistant(resolve_endpoint(), auto_sec=0.01, manual_sec=0.02)
        for automatic in (True, False):
            with pytest.raises(AssistantError, match="no complete answer within"):
                await assistant.diagnose(finding(automatic=automatic), lambda _: None)
        await assistant.close()

    asyncio.run(late())


def test_talks_that_nobody_knows_are_forgotten_without_a_word(home: NeoHome) -> None:
    async def forget() -> None:
        async with bound() as (assistant, _):
            await assistant.end_talk("idm-1-1-00000000")

    asyncio.run(forget())


def test_turns_with_the_rules_tell_of_what_was_run(
    home: NeoHome, finding: MakeFinding, record: Callable[[str, int], CommandRecord]
) -> None:
    async def talk() -> None:
        async with bound() as (assistant, _):
            near = ((record("make", 2), Output(b"", 0, b"make: *** No rule\r\n")),)
            answer = await assistant.turn(
                "idm-1-1-0000000a", "why?", finding("git status", GIT, exit_code=128, near=near), lambda _: None
            )
            assert "git" in answer.root_cause.lower()
            assert [each["id"] for each in (await rpc("listSessions"))["sessions"]] == ["idm-1-1-0000000a"]
            await assistant.end_talk("idm-1-1-0000000a")
            assert (await rpc("listSessions"))["sessions"] == []

    asyncio.run(talk())


def test_importing_it_brings_nothing_heavy() -> None:
    code = (
        "import sys, neocode.shell.assistant; heavy = ('openai', 'prompt_toolkit', 'rich', 'markdown_it', 'pyte',"
        " 'ruamel', 'wcwidth', 'psutil', 'httpx'); print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_link_is_the_only_way_out() -> None:
    """A second connection would be a second shell for the gateway."""
    assert isinstance(ShellAssistant(resolve_endpoint("/tmp/x"))._link, GatewayLink)
