"""The assistant with a model endpoint: what is sent, what is shown, how it is stopped, and who must agree first."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable

import pytest
from cli import NeoHome
from fake_openai import Connection, FakeServer, answers, chunk, refuses, sse

from neocode.gateway.endpoint import resolve_endpoint
from neocode.shell.assistant import ShellAssistant
from ptyproxy.ports import Answer, AssistantError, ConsentNeeded, Finding
from ptyproxy.records import CommandRecord, Output

MakeFinding = Callable[..., Finding]
Until = Callable[..., Awaitable[None]]
TOKEN = "ghp_" + "a1B2" * 9
NONCE = "f00d" * 8
ANSWER = (
    "## Cause\nThe port is taken.\n\n## Fix\n```sh\nkill 42\nrm -rf ./cache\n```\n\n"
    "## Check\n```sh\nss -ltnp\n```\n\n## Confidence\nhigh\n"
)


def made() -> ShellAssistant:
    return ShellAssistant(resolve_endpoint(), literals=(NONCE,))


async def diagnosed(finding: Finding, show: Callable[[str], None] = lambda text: None) -> Answer:
    assistant = made()
    try:
        return await assistant.diagnose(finding, show)
    finally:
        await assistant.close()


def prompt(server: FakeServer, index: int = -1) -> str:
    return "\n".join(message["content"] for message in server.requests[index].json["messages"])


def test_the_prompt_holds_what_was_seen_and_no_secret(model: NeoHome, server: FakeServer, finding: MakeFinding) -> None:
    server.script(answers(*(ANSWER[at : at + 9] for at in range(0, len(ANSWER), 9))))
    blocks: list[str] = []
    raw = f"\x1b[2K10%\r\x1b[31mOSError\x1b[0m: [Errno 98] {TOKEN} {NONCE}\r\n".encode()
    answer = asyncio.run(diagnosed(finding(f"serve --token {TOKEN}", raw, exit_code=1, automatic=True), blocks.append))
    assert answer.root_cause == "The port is taken."
    assert answer.fixes == ("kill 42",)
    assert answer.suggested == ("kill 42", "rm -rf ./cache")
    assert "3 secrets masked" in answer.closing
    text = prompt(server)
    assert TOKEN not in text
    assert NONCE not in text
    assert "\x1b" not in text
    for part in ("OSError: [Errno 98] [redacted:github-token]", "serve --token", "exit code: 1", "/srv/project"):
        assert part in text
    assert "duration: 1.5 s" in text
    assert "destructive: shown only" in "".join(blocks)
    assert "\x1b[36mrm -rf ./cache" in "".join(blocks)


def test_what_a_model_sends_never_reaches_the_terminal_raw(
    model: NeoHome, server: FakeServer, finding: MakeFinding
) -> None:
    server.script(answers("before\x1b]52;c;SGVsbG8=\x07\x9b2Jafter\u202e\r\x1b[2J"))
    blocks: list[str] = []
    asyncio.run(diagnosed(finding(), blocks.append))
    for forbidden in ("\x1b]", "\x9b", "\x07", "\u202e", "\x1b[2J", "\r"):
        assert forbidden not in "".join(blocks)


def hangs(gone: threading.Event) -> Callable[[Connection], None]:
    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("## Cause\nHalf a cause.\n\n"), done=False))
        if connection.wait_for_disconnect():
            gone.set()

    return script


def test_cancelling_ends_the_call_at_the_provider(
    model: NeoHome, server: FakeServer, finding: MakeFinding, until: Until
) -> None:
    gone = threading.Event()
    server.script(hangs(gone))

    async def cancelled() -> None:
        blocks: list[str] = []
        assistant = made()
        task = asyncio.create_task(assistant.diagnose(finding(), blocks.append))
        await until(lambda: blocks, task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 0.5)
        await until(gone.is_set)
        server.script(answers(ANSWER))
        assert (await assistant.diagnose(finding(), blocks.append)).root_cause == "The port is taken."
        await assistant.close()

    asyncio.run(cancelled())


def test_a_time_out_ends_the_call_at_the_provider(
    model: NeoHome, server: FakeServer, finding: MakeFinding, until: Until
) -> None:
    gone = threading.Event()
    server.script(answers(ANSWER), hangs(gone))

    async def late() -> None:
        await diagnosed(finding())  # the daemon runs from now on
        assistant = ShellAssistant(resolve_endpoint(), manual_sec=4.0)
        with pytest.raises(AssistantError, match="no complete answer within 4 s"):
            await assistant.diagnose(finding(), lambda _: None)
        assert len(server.requests) == 2
        await until(gone.is_set)
        await assistant.close()

    asyncio.run(late())


def test_closing_ends_the_call_at_the_provider_too(
    model: NeoHome, server: FakeServer, finding: MakeFinding, until: Until
) -> None:
    gone = threading.Event()
    server.script(hangs(gone))

    async def closed() -> None:
        blocks: list[str] = []
        assistant = made()
        task = asyncio.create_task(assistant.diagnose(finding(), blocks.append))
        await until(lambda: blocks, task)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.wait_for(assistant.close(), 1.0)
        await until(gone.is_set)

    asyncio.run(closed())


def test_a_gateway_killed_mid_answer_is_one_line_after_what_came(
    model: NeoHome, server: FakeServer, finding: MakeFinding, until: Until
) -> None:
    server.script(hangs(threading.Event()))

    async def killed() -> None:
        blocks: list[str] = []
        assistant = made()
        task = asyncio.create_task(assistant.diagnose(finding(), blocks.append))
        await until(lambda: blocks, task)
        os.kill(int(str((await asyncio.to_thread(model.status))["pid"])), signal.SIGKILL)
        with pytest.raises(AssistantError) as caught:
            await asyncio.wait_for(task, 10)
        assert "gateway" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "Half a cause." in "".join(blocks)
        server.script(answers(ANSWER))
        assert (await assistant.diagnose(finding(), blocks.append)).fixes == ("kill 42",)
        await assistant.close()

    asyncio.run(killed())


def test_a_refusal_is_one_line_with_what_to_do(model: NeoHome, server: FakeServer, finding: MakeFinding) -> None:
    server.script(refuses("401 Unauthorized", {"error": {"message": "bad\x1b[31m\nkey", "code": "invalid_api_key"}}))
    with pytest.raises(AssistantError) as caught:
        asyncio.run(diagnosed(finding()))
    assert str(caught.value).isprintable()
    assert ";" in str(caught.value)


def test_a_talk_carries_the_recent_commands_first_and_then_what_happened_since(
    model: NeoHome, server: FakeServer, finding: MakeFinding, record: Callable[[str, int], CommandRecord]
) -> None:
    server.script(answers("Because."))
    near = (
        (record(f"export KEY={TOKEN}", 0), Output(b"", 0, b"")),
        (record("make lib", 2), Output(b"", 0, f"cc: {TOKEN}\r\n".encode())),
    )

    async def talk() -> None:
        assistant = made()
        try:
            first = finding("make", b"\x1b[31mError 2\x1b[0m\r\n", near=near)
            await assistant.turn("idm-1-1-0000000a", f"why does {TOKEN} not work?", first, lambda _: None)
            await assistant.turn("idm-1-1-0000000a", "and now?", None, lambda _: None)
            since = finding("ls", f"a {NONCE} b\r\n".encode(), exit_code=0)
            await assistant.turn("idm-1-1-0000000a", "what of that?", since, lambda _: None)
            await assistant.end_talk("idm-1-1-0000000a")
            await assistant.turn("idm-1-1-0000000a", "who are you?", None, lambda _: None)
        finally:
            await assistant.close()

    asyncio.run(talk())
    texts = [prompt(server, index) for index in range(4)]
    assert all(TOKEN not in text and NONCE not in text for text in texts)
    for part in ("$ make lib\ncc: [redacted:github-token]\n[exit code 2]", "$ make\nError 2", "why does [redacted:"):
        assert part in texts[0]
    assert texts[0].index("$ export KEY=") < texts[0].index("$ make lib") < texts[0].index("$ make\n")
    assert [each["role"] for each in server.requests[1].json["messages"]] == ["system", "user", "assistant", "user"]
    assert server.requests[1].json["messages"][-1]["content"] == "and now?"
    assert "a [redacted:known-secret] b" in texts[2]
    assert "command: ls" in texts[2]
    assert "make lib" not in texts[3]
    assert "who are you?" in texts[3]
    assert "Cause" in texts[3]  # the skill is there although nothing was run


def test_a_remote_provider_is_not_asked_by_itself_until_it_was_allowed(
    remote: NeoHome, server: FakeServer, finding: MakeFinding, until: Until
) -> None:
    server.script(answers(ANSWER))
    automatic = finding(automatic=True)

    async def ask() -> None:
        assistant = made()
        with pytest.raises(ConsentNeeded) as caught:
            await assistant.diagnose(automatic, lambda _: None)
        line = str(caught.value)
        assert "neocode diag auto on" in line
        assert "work (http://0.0.0.0:" in line
        assert line.isprintable()
        assert server.requests == []
        assert (await assistant.diagnose(finding(), lambda _: None)).fixes  # somebody asked
        await assistant.allow_automatic(True)
        assert (await assistant.diagnose(automatic, lambda _: None)).fixes
        state = remote.dir / "state" / "automatic.json"
        await until(state.exists)
        assert [each.split()[0] for each in json.loads(state.read_text())["allowed"]] == ["work"]
        await assistant.close()
        other = made()  # another shell, later
        assert (await other.diagnose(automatic, lambda _: None)).fixes
        await other.allow_automatic(False)
        with pytest.raises(ConsentNeeded):
            await other.diagnose(automatic, lambda _: None)
        await until(lambda: json.loads(state.read_text())["allowed"] == [])
        await other.close()

    asyncio.run(ask())
    assert len(server.requests) == 3


def test_what_the_gateway_uses_counts_and_not_what_the_file_says_by_now(
    remote: NeoHome, server: FakeServer, finding: MakeFinding
) -> None:
    server.script(answers(ANSWER))

    async def ask() -> None:
        assistant = made()
        await assistant.diagnose(finding(), lambda _: None)  # the gateway runs, with the remote provider
        config = remote.dir / "config.yaml"
        config.write_text(config.read_text().replace("0.0.0.0", "127.0.0.1"))
        with pytest.raises(ConsentNeeded):
            await assistant.diagnose(finding(automatic=True), lambda _: None)
        await assistant.close()

    asyncio.run(ask())
    assert len(server.requests) == 1


def test_allowing_is_remembered_without_a_diagnosis(remote: NeoHome, until: Until) -> None:
    async def allow() -> None:
        assistant = made()
        await assistant.allow_automatic(True)
        await until((remote.dir / "state" / "automatic.json").exists)
        await assistant.close()

    asyncio.run(allow())


def test_a_provider_on_this_machine_needs_no_consent(model: NeoHome, server: FakeServer, finding: MakeFinding) -> None:
    server.script(answers(ANSWER))
    assert asyncio.run(diagnosed(finding(automatic=True))).fixes == ("kill 42",)
