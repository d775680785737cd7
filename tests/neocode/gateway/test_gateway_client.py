"""The client and the link that comes back, against real gateways."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from neocode.ask.types import AskEvent, AskParams
from neocode.errors import ConfigError, GatewayUnreachable, ShellTargetError
from neocode.gateway import transport
from neocode.gateway.answers import MAX_WAITING_CHARS, AskStream
from neocode.gateway.client import GatewayAbsent, GatewayClient
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.link import GatewayLink
from neocode.gateway.protocol import RpcError
from neocode.providers.base import AskContext

FAST = (0.01, 0.05)


def test_a_client_authenticates_asks_and_knows_the_servers_version(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running, await GatewayClient.open(endpoint) as client:
            assert client.server_version == "1.0.0"
            context = AskContext(log="E: 你好", exit_code=1, near_commands=("git",))
            params = AskParams("what is it", skills=("terminal-diagnosis",), workdir="/w", context=context)
            stream = await client.ask(params)
            events = [event async for event in stream]
            assert [event.event_type for event in events] == ["ask_chunk"] * 3 + ["ask_done"]
            assert {(event.session_id, event.run_id) for event in events} == {(stream.session_id, stream.run_id)}
            assert running.ask.asked == [params]

    gw.run(main())


def test_no_event_is_lost_that_comes_in_the_same_read_as_the_ack(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint), await GatewayClient.open(endpoint) as client:
            assert client._transport is not None
            client._transport.pause_reading()
            asking = asyncio.ensure_future(client.ask(AskParams("a b c d")))
            await asyncio.sleep(0.1)
            client._transport.resume_reading()
            assert len([event async for event in await asking]) == 5

    gw.run(main())


def test_a_cancelled_ask_ends_with_canceled_and_a_left_one_is_cancelled(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running, await GatewayClient.open(endpoint) as client:
            stream = await client.ask(AskParams("hang"))
            await stream.__anext__()
            await stream.cancel()
            last = [event async for event in stream][-1]
            assert (last.event_type, last.payload["code"]) == ("ask_error", "CANCELED")
            await stream.cancel()
            async with await client.ask(AskParams("hang")) as left:
                await left.__anext__()
            assert running.ask.cancelled == [stream.run_id, left.run_id]

    gw.run(main())


def test_an_ask_whose_client_stopped_waiting_is_cancelled_when_its_ack_comes(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running, await GatewayClient.open(endpoint) as client:
            assert client._transport is not None
            client._transport.pause_reading()
            with pytest.raises(GatewayUnreachable, match="did not answer"):
                await client.ask(AskParams("hang"), timeout=0.1)
            client._transport.resume_reading()
            await gw.until(lambda: running.ask.cancelled)
            with pytest.raises(RpcError, match="longer than 1 MiB"):
                await client.ask(AskParams("x" * (1 << 20)))
            assert client.connected

    gw.run(main())


def test_errors_are_typed_and_carry_code_data_and_hint(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint), await GatewayClient.open(endpoint) as client:
            with pytest.raises(RpcError) as refused:
                await client.ask(AskParams("refuse"))
            assert refused.value.one_line() == "unknown skill 'x'; known: terminal-diagnosis; name a known one"
            with pytest.raises(RpcError) as failed:
                await client.call("gateway.testProvider", {"name": "bad"})
            assert (failed.value.code, failed.value.gateway_code) == (-32603, "internal_error")
            assert failed.value.data == {"hint": "check the key", "code": "PROVIDER_ERROR"}
            with pytest.raises(GatewayUnreachable, match=r"did not answer gateway.testProvider within 0.05 s"):
                await client.call("gateway.testProvider", {"name": "slow"}, timeout=0.05)

    gw.run(main())


def test_trigger_maps_the_shell_errors(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint), await GatewayClient.open(endpoint) as cli:
            with pytest.raises(RpcError, match="requires cli/tui role"):
                await cli.trigger("diagnose")
            await cli.bind("cli-1", role="cli")
            with pytest.raises(ShellTargetError, match="no active shell"):
                await cli.trigger("diagnose", "nowhere")
            async with await GatewayClient.open(endpoint) as shell, await GatewayClient.open(endpoint) as other:
                await shell.bind("sh-1", role="shell", state={"last_command": "x" * 20_000})
                answer = await cli.trigger("diagnose", payload={"n": 1})
                assert (answer["message"], answer["session_id"]) == ("delivered", "sh-1")
                note = await asyncio.wait_for(shell.notification(), 10)
                assert (note.action, note.source_session_id, note.payload) == ("diagnose", "cli-1", {"n": 1})
                with pytest.raises(ShellTargetError, match="shell busy"):
                    await cli.trigger("diagnose")
                await other.bind("sh-2", role="shell")
                with pytest.raises(ShellTargetError, match="multiple") as several:
                    await cli.trigger("diagnose")
                cause = several.value.__cause__
                assert isinstance(cause, RpcError)
                assert [shell["session_id"] for shell in cause.data["shells"]] == ["sh-1", "sh-2"]
            with pytest.raises(RpcError, match="unknown action"):
                await cli.trigger("reboot")

    gw.run(main())


def test_when_the_gateway_goes_asks_and_calls_end_with_a_clear_error(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            client = await GatewayClient.open(endpoint)
            stream = await client.ask(AskParams("hang"))
            await stream.__anext__()
            calling = asyncio.ensure_future(client.call("gateway.testProvider", {"name": "slow"}))
            waiting = asyncio.ensure_future(client.notification())
            await asyncio.sleep(0.05)
            for connection in list(running.server._connections):
                connection.abort()
            last = [event async for event in stream][-1]
            assert last.event_type == "ask_error"
            assert last.payload["message"] == "the connection to the gateway broke before the answer was complete"
            for pending in (calling, waiting):
                with pytest.raises(GatewayUnreachable, match="broke"):
                    await pending
            with pytest.raises(GatewayUnreachable):
                await client.call("gateway.ping", {})
            await client.wait_closed()
            await client.close()

    gw.run(main())


def test_a_server_that_speaks_nonsense_breaks_the_connection(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        class Liar(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                transport.write(b"\x00nonsense\n")  # type: ignore[attr-defined]

        async with gw.serve(endpoint):
            pass
        listener = await transport.listen(endpoint.address, Liar)
        with pytest.raises(GatewayUnreachable, match="not in its protocol"):
            await GatewayClient.open(endpoint)
        listener.close()

    gw.run(main())


def test_a_mute_server_is_given_up_after_the_deadline(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            pass
        listener = await transport.listen(endpoint.address, asyncio.Protocol)
        with pytest.raises(GatewayUnreachable, match="did not answer"):
            await GatewayClient.open(endpoint, timeout=0.2)
        listener.close()

    gw.run(main())


def test_nobody_there_is_absent_and_a_wrong_token_is_named(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        with pytest.raises(GatewayAbsent, match="no gateway is running"):
            await GatewayClient.open(endpoint)
        async with gw.serve(endpoint) as running:
            running.server.token = "b" * 43
            with pytest.raises(ConfigError, match="does not accept the token"):
                await GatewayClient.open(endpoint)

    gw.run(main())


def test_a_token_made_anew_meanwhile_is_read_again(
    gw: SimpleNamespace, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            content = json.loads(endpoint.token_file.read_text())
            old, running.server.token = running.server.token, "n" * 43
            handle = running.server.handle

            def renewing(connection: Any, request: Any) -> Any:
                endpoint.token_file.write_text(json.dumps({**content, "token": "n" * 43}))
                return handle(connection, request)

            monkeypatch.setattr(running.server, "handle", renewing)
            async with await GatewayClient.open(endpoint) as client:
                assert client.connected
            assert old != running.server.token

    gw.run(main())


def test_an_unread_stream_is_bounded_and_loses_nothing_below_the_bound() -> None:
    async def main() -> None:
        async def cancel(stream: AskStream) -> None:
            pass

        stream = AskStream(cancel)
        for number in range(20_000):
            assert not stream.push(AskEvent("ask_chunk", "s", "r", {"delta": f"{number},"}))
        assert stream.push(AskEvent("ask_done", "s", "r", {"full_response": ""}))
        assert stream.push(AskEvent("ask_chunk", "s", "r", {"delta": "late"}))
        events = [event async for event in stream]
        assert "".join(str(event.payload.get("delta", "")) for event in events) == "".join(
            f"{number}," for number in range(20_000)
        )
        assert len(events) < 200
        flooded = AskStream(cancel)
        while not flooded.push(AskEvent("ask_chunk", "s", "r", {"delta": "x" * 100_000})):
            pass
        assert sum(len(str(e.payload.get("delta", ""))) for e in [e async for e in flooded]) <= MAX_WAITING_CHARS

    asyncio.run(main())


def test_a_link_connects_when_a_gateway_appears_and_binds_with_the_newest_state(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        link = GatewayLink(endpoint, delays=FAST)
        link.start()
        assert await link.bind("sh-1", role="shell", state={"last_exit": 0}) is False
        for exit_code in (1, 2):
            async with gw.serve(endpoint) as running:
                await gw.until(lambda: link.connected)
                shells = running.server.relay.shells()
                assert [(shell.session_id, shell.role) for shell in shells] == [("sh-1", "shell")]
                assert shells[0].state == {"last_exit": exit_code - 1}
                assert await link.bind("sh-1", role="shell", state={"last_exit": 9}) is True
            await gw.until(lambda: not link.connected)
            assert await link.bind("sh-1", role="shell", state={"last_exit": exit_code}) is False
        await link.close()

    gw.run(main())


def test_a_links_running_ask_ends_when_the_gateway_goes_and_notifications_resume(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        link = GatewayLink(endpoint, delays=FAST)
        await link.bind("sh-1", role="shell")
        waiting = asyncio.ensure_future(link.notification())
        async with gw.serve(endpoint) as running:
            link.start()
            await gw.until(lambda: link.connected)
            stream = await link.ask(AskParams("hang", session_id="idm-1"))
            await stream.__anext__()
            for connection in list(running.server._connections):
                connection.abort()
            assert [event.event_type async for event in stream] == ["ask_error"]
            await gw.until(lambda: running.server.relay.is_bound("idm-1") and running.server.relay.shells())
            async with await GatewayClient.open(endpoint) as cli:
                await cli.bind("cli-1", role="cli")
                await cli.trigger("idm_enter")
            assert (await waiting).action == "idm_enter"
            assert await link.delete_session("idm-1") is True
            assert "idm-1" not in link._sessions
        await link.close()

    gw.run(main())


def test_a_links_background_never_starts_a_daemon_and_a_need_does(endpoint: Endpoint, gw: SimpleNamespace) -> None:
    async def main() -> None:
        wanted: list[bool] = []

        async def connect(start: bool) -> GatewayClient:
            wanted.append(start)
            raise GatewayAbsent(endpoint.address)

        link = GatewayLink(endpoint, connect=connect, delays=FAST)
        link.start()
        await gw.until(lambda: len(wanted) >= 5)
        assert set(wanted) == {False}
        with pytest.raises(GatewayAbsent):
            await link.ask(AskParams("now"))
        assert True in wanted
        await link.close()

    gw.run(main())


def test_the_delays_of_a_link_double_up_to_their_longest(
    endpoint: Endpoint, gw: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        pauses: list[float] = []

        async def connect(start: bool) -> GatewayClient:
            raise GatewayAbsent(endpoint.address)

        async def pause(self: GatewayLink, delay: float) -> None:
            pauses.append(delay)
            await asyncio.sleep(0)

        monkeypatch.setattr(GatewayLink, "_pause", pause)
        link = GatewayLink(endpoint, connect=connect)
        link.start()
        await gw.until(lambda: len(pauses) >= 8)
        await link.close()
        assert pauses[:8] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]

    gw.run(main())


def test_the_client_is_light_to_import() -> None:
    code = (
        "import sys, neocode.gateway.lifecycle, neocode.gateway.link;"
        "print([m for m in ('openai', 'ruamel', 'rich', 'subprocess', 'sqlite3', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert set(json.loads(done.stdout.replace("'", '"'))) <= {"subprocess"}
