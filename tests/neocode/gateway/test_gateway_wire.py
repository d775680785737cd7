"""The wire protocol over a real socket, word for word."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from neocode.gateway.endpoint import Endpoint
from neocode.gateway.limits import Limits


def error_of(answer: dict[str, Any]) -> tuple[int, str, str]:
    error = answer["error"]
    return error["code"], error["data"]["gateway_code"], error["message"]


def test_a_ping_is_answered_with_a_frame_object_and_our_version(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            raw.send(b'{"jsonrpc":"2.0","id":"p-1","method":"gateway.ping","params":{"anything":1}}\n')
            assert await raw.reader.readline() == (
                b'{"id":"p-1","result":{"type":"ack","action":"ping","request_id":"p-1",'
                b'"payload":{"message":"pong","version":"1.0.0"}},"jsonrpc":"2.0"}\n'
            )

    gw.run(main())


def test_everything_before_authentication_is_unauthorized_and_leaves_the_connection_open(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint, authenticate=False)
            for method in ("gateway.ping", "gateway.ask", "gateway.shutdown", "no.such"):
                assert error_of(await raw.call(method)) == (-32602, "unauthorized", "unauthorized")
            wrong = await raw.call("gateway.authenticate", {"token": "x" * 43})
            assert error_of(wrong) == (-32602, "unauthorized", "unauthorized")
            not_ascii = await raw.call("gateway.authenticate", {"token": "é"})
            assert error_of(not_ascii)[1] == "unauthorized"
            token = json.loads(endpoint.token_file.read_text())["token"]
            answer = await raw.call("gateway.authenticate", {"token": token})
            assert answer["result"]["payload"] == {"message": "authenticated", "subject_id": "local_admin"}
            assert (await raw.call("gateway.ping"))["result"]["payload"]["message"] == "pong"

    gw.run(main())


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"garbage\n", -32700),
        (b"[]\n", -32700),
        (b"{} {}\n", -32700),
        (b'{"jsonrpc":"2.0","id":"1","method":"gateway.ping","params":' + b"[" * 70 + b"]" * 70 + b"}\n", -32700),
        (b"x" * ((1 << 20) + 1), -32600),
        (b'{"jsonrpc":"2.0","id":"1","method":"gateway.ask","params":{"user_query":"\\q"}}\n', -32700),
    ],
)
def test_a_bad_frame_gets_one_error_without_id_and_the_connection_closes(
    gw: SimpleNamespace, endpoint: Endpoint, frame: bytes, code: int
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            raw.send(frame)
            raw.send({"jsonrpc": "2.0", "id": "2", "method": "gateway.ping"})
            answer = await raw.recv()
            assert answer["id"] is None
            assert error_of(answer)[:2] == (code, "invalid_frame")
            assert await raw.at_end()

    gw.run(main())


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("run", {}, "-32601 unsupported_action: unsupported method: gateway.run"),
        ("bindStream", {}, "-32602 missing_required_field: missing required field: params.session_id"),
        ("bindStream", {"session_id": "s", "x": 1}, "-32602 invalid_frame: invalid params for gateway.bindStream"),
        ("bindStream", {"session_id": 1}, "-32602 invalid_frame: invalid params for gateway.bindStream"),
        ("bindStream", {"session_id": "s", "channel": "ws"}, "-32602 invalid_action: invalid field: params.channel"),
        ("bindStream", {"session_id": "s", "role": "root"}, "-32602 invalid_action: invalid field: params.role"),
        ("bindStream", {"session_id": "s", "state": [1]}, "-32602 invalid_frame: invalid field: params.state"),
        ("bindStream", {"session_id": "x" * 129}, "-32602 invalid_action: invalid field: params.session_id"),
        ("bindStream", {"session_id": "a\u001bb"}, "-32602 invalid_action: invalid field: params.session_id"),
        ("ask", {"session_id": "s"}, "-32602 invalid_frame: invalid params for gateway.ask"),
        ("ask", {"user_query": " "}, "-32602 missing_required_field: missing required field: params.user_query"),
        ("ask", {"user_query": "q", "context": {"x": 1}}, "-32602 invalid_frame: invalid params for gateway.ask"),
        ("ask", {"user_query": "refuse"}, "-32602 invalid_action: unknown skill 'x'; known: terminal-diagnosis"),
        ("ask", [1], "-32602 invalid_frame: invalid params for gateway.ask"),
        ("listShells", {"x": 1}, "-32602 invalid_frame: invalid params for gateway.listShells"),
        ("cancel", {}, "-32602 missing_required_field: missing required field: params.run_id"),
        ("deleteAskSession", {}, "-32602 missing_required_field: missing required field: params.session_id"),
        ("testProvider", {"name": "bad"}, "-32603 internal_error: 401 from the endpoint"),
    ],
)
def test_every_refusal_names_its_reason_and_the_connection_goes_on(
    gw: SimpleNamespace, endpoint: Endpoint, method: str, params: Any, expected: str
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            code, gateway_code, message = error_of(await raw.call(f"gateway.{method}", params))
            assert f"{code} {gateway_code}: {message}" == expected
            assert (await raw.call("gateway.ping"))["result"]["payload"]["message"] == "pong"

    gw.run(main())


def test_every_method_answers_as_its_table_says(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)

            async def result(method: str, params: Any = None) -> dict[str, Any]:
                answer: dict[str, Any] = (await raw.call(method, params))["result"]
                assert answer["type"] == "ack"
                return answer

            state = {"auto_enabled": True, "pid": 7}
            bound = await result("gateway.bindStream", {"session_id": "sh-1", "role": "shell", "state": state})
            assert (bound["action"], bound["session_id"]) == ("bind_stream", "sh-1")
            assert bound["payload"] == {
                "message": "stream binding updated", "channel": "all", "role": "shell", "state": state,
            }  # fmt: skip
            assert (await result("gateway.listShells"))["payload"] == {"shells": [{**state, "session_id": "sh-1"}]}
            made = await result("gateway.createSession", {"session_id": "mine"})
            assert made["payload"] == {"session_id": "mine"}
            sessions = (await result("gateway.listSessions"))["payload"]["sessions"]
            assert [sorted(session) for session in sessions] == [["created_at", "id", "title", "updated_at"]]
            gone = await result("gateway.deleteAskSession", {"session_id": "mine"})
            assert gone["payload"] == {"deleted": True, "session_id": "mine"}
            gone = await result("gateway.deleteAskSession", {"session_id": "mine"})
            assert gone["payload"] == {"deleted": False, "session_id": "mine"}
            assert (await result("gateway.cancel", {"run_id": "none"}))["payload"] == {"canceled": False}
            assert (await result("gateway.reloadConfig"))["payload"]["warnings"] == ["unknown key x"]
            tested = (await result("gateway.testProvider", {"name": "offline"}))["payload"]
            assert tested == {"message": "it works", "provider": "offline", "model": "rules"}
            assert (await result("gateway.listModels", {}))["payload"] == {"models": ["m1", "m2"]}
            status = (await result("gateway.status"))["payload"]
            assert {key: status[key] for key in ("connections", "asks", "shells", "provider", "model", "origin")} == {
                "connections": 1, "asks": 0, "shells": 1, "provider": "offline", "model": "rules", "origin": "",
            }  # fmt: skip
            assert (status["version"], status["address"]) == ("1.0.0", endpoint.address)

    gw.run(main())


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no half that can be closed")
def test_a_request_ended_by_the_end_of_the_stream_is_answered(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            raw.send(b'\r\n{"jsonrpc":"2.0","id":9,"method":"gateway.ping"}')
            raw.writer.write_eof()
            answer = await raw.recv()
            assert (answer["id"], answer["result"]["request_id"]) == (9, "9")
            assert await raw.at_end()

    gw.run(main())


def test_requests_of_one_connection_are_answered_in_order_while_others_go_on(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            slow, other = await gw.Raw.connect(endpoint), await gw.Raw.connect(endpoint)
            slow.send({"jsonrpc": "2.0", "id": "a", "method": "gateway.testProvider", "params": {"name": "slow"}})
            slow.send({"jsonrpc": "2.0", "id": "b", "method": "gateway.ping"})
            assert (await other.call("gateway.ping"))["result"]["payload"]["message"] == "pong"
            running.ask.check_gate.set()
            assert [(await slow.recv())["id"], (await slow.recv())["id"]] == ["a", "b"]

    gw.run(main())


def test_a_slow_request_is_no_silence_and_a_vanished_client_ends_it(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint, Limits(silence_sec=0.2)) as running:
            slow = await gw.Raw.connect(endpoint)
            slow.send({"jsonrpc": "2.0", "id": "a", "method": "gateway.testProvider", "params": {"name": "slow"}})
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(slow.reader.readline(), 0.6)
            assert running.server.connection_count() == 1
            slow.close()
            await gw.until(lambda: running.server.connection_count() == 0)

    gw.run(main())


def test_the_silent_and_the_unauthenticated_are_closed_and_pings_keep_a_connection(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint, Limits(silence_sec=0.6, auth_sec=0.3)):
            stranger = await gw.Raw.connect(endpoint, authenticate=False)
            silent = await gw.Raw.connect(endpoint)
            lively = await gw.Raw.connect(endpoint)
            dripping = await gw.Raw.connect(endpoint)
            ended: list[str] = []

            async def watch(name: str, raw: Any) -> None:
                await raw.at_end()
                ended.append(name)

            watchers = [
                asyncio.ensure_future(watch(name, raw))
                for name, raw in (("stranger", stranger), ("silent", silent), ("dripping", dripping))
            ]
            while len(ended) < 3:
                await lively.call("gateway.ping")
                dripping.send(b'{"')  # bytes that never become a frame are silence too
                await asyncio.sleep(0.05)
            assert ended[0] == "stranger"
            await asyncio.gather(*watchers)
            assert (await lively.call("gateway.ping"))["result"]["payload"]["message"] == "pong"

    gw.run(main())


def test_the_connection_after_the_last_allowed_one_is_closed_without_a_byte(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint, Limits(connections=3)) as running:
            held = [await gw.Raw.connect(endpoint) for _ in range(3)]
            extra = await gw.Raw.connect(endpoint, authenticate=False)
            assert await extra.at_end()
            held[0].close()
            await gw.until(lambda: running.server.connection_count() == 2)
            await gw.Raw.connect(endpoint)

    gw.run(main())


def test_a_peer_of_another_user_is_closed_without_a_byte(
    gw: SimpleNamespace, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            monkeypatch.setattr("neocode.gateway.transport.peer_is_ours", lambda transport: False)
            raw = await gw.Raw.connect(endpoint, authenticate=False)
            raw.send({"jsonrpc": "2.0", "id": "1", "method": "gateway.ping"})
            assert await raw.at_end()
            assert running.server.connection_count() == 0

    gw.run(main())


def test_half_a_surrogate_pair_from_a_provider_reaches_the_client_as_a_replacement(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    """Streams cut an emoji's escapes in two; a lone half is no UTF-8 and must not break the line."""

    async def main() -> None:
        from neocode.ask.types import AskEvent

        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.bindStream", {"session_id": "s"})
            running.server.emit(AskEvent("ask_chunk", "s", "r", {"delta": "a\ud83d"}))
            running.server.emit(AskEvent("ask_chunk", "s", "r", {"delta": "\ude00b"}))
            deltas = [(await raw.event())["payload"]["payload"]["delta"] for _ in range(2)]
            assert deltas == ["a\ufffd", "\ufffdb"]

    gw.run(main())
