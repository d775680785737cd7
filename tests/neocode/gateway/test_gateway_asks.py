"""Asks through a real gateway: who hears what, in which order, and what ends them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from neocode.ask.types import AskEvent, SessionInfo
from neocode.gateway.endpoint import Endpoint
from neocode.gateway.limits import Limits


def inner(params: dict[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = params["payload"]["payload"]
    return payload


def test_the_ack_comes_before_the_first_event_and_the_deltas_make_the_response(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            params = {"user_query": "a 你好 \U0001f600", "session_id": "diag-ask-1"}
            raw.send({"jsonrpc": "2.0", "id": "q", "method": "gateway.ask", "params": params})
            ack = (await raw.recv())["result"]
            assert (ack["action"], ack["payload"], ack["session_id"]) == (
                "ask",
                {"message": "ask accepted"},
                "diag-ask-1",
            )
            events: list[dict[str, Any]] = []
            while not events or events[-1]["event"] == "ask_chunk":
                message = await raw.recv()
                assert set(message) == {"jsonrpc", "method", "params"}
                events.append(message["params"])
            assert events[0] == {
                "type": "event", "event": "ask_chunk", "action": "run", "run_id": ack["run_id"],
                "session_id": "diag-ask-1",
                "payload": {"event_type": "ask_chunk", "payload": {"session_id": "diag-ask-1", "delta": "a"}},
            }  # fmt: skip
            done = inner(events[-1])
            assert done["full_response"] == "".join(inner(event)["delta"] for event in events[:-1])
            assert done["usage"] == {"input_tokens": 1, "output_tokens": 2}

    gw.run(main())


def test_an_ask_without_a_session_gets_one_and_the_caller_is_bound_to_it(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            ack = (await raw.call("gateway.ask", {"user_query": "hello"}))["result"]
            assert ack["session_id"].startswith("ask-")
            event = await raw.event()
            assert (event["session_id"], event["run_id"]) == (ack["session_id"], ack["run_id"])

    gw.run(main())


def test_events_go_to_every_connection_bound_to_that_session_and_to_no_other(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            asker, listener, stranger = [await gw.Raw.connect(endpoint) for _ in range(3)]
            await listener.call("gateway.bindStream", {"session_id": "talk"})
            await stranger.call("gateway.bindStream", {"session_id": "Talk"})
            await asker.call("gateway.ask", {"user_query": "one", "session_id": "talk"})
            for raw in (asker, listener):
                assert [(await raw.event())["event"] for _ in range(2)] == ["ask_chunk", "ask_done"]
            stranger.send({"jsonrpc": "2.0", "id": "x", "method": "gateway.ping"})
            assert (await stranger.recv())["id"] == "x"

    gw.run(main())


def test_an_ask_on_a_shells_own_session_keeps_its_role_and_state(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint):
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.bindStream", {"session_id": "sh", "role": "shell", "state": {"pid": 3}})
            await raw.call("gateway.ask", {"user_query": "one", "session_id": "sh"})
            shells = (await raw.call("gateway.listShells"))["result"]["payload"]["shells"]
            assert shells == [{"pid": 3, "session_id": "sh"}]

    gw.run(main())


def test_cancel_stops_the_run_itself(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            run_id = (await raw.call("gateway.ask", {"user_query": "hang", "session_id": "s"}))["result"]["run_id"]
            assert (await raw.event())["event"] == "ask_chunk"
            raw.send({"jsonrpc": "2.0", "id": "c", "method": "gateway.cancel", "params": {"run_id": run_id}})
            event = await raw.event()
            assert (event["event"], inner(event)["code"]) == ("ask_error", "CANCELED")
            assert (await raw.recv())["result"]["payload"] == {"canceled": True}
            assert running.ask.cancelled == [run_id]

    gw.run(main())


def test_deleting_a_session_cancels_its_ask_first(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.ask", {"user_query": "hang", "session_id": "s"})
            raw.send({"jsonrpc": "2.0", "id": "d", "method": "gateway.deleteAskSession", "params": {"session_id": "s"}})
            assert (await raw.event())["event"] == "ask_chunk"
            assert inner(await raw.event())["code"] == "CANCELED"
            assert (await raw.recv())["result"]["payload"]["deleted"] is True
            assert not running.server.relay.is_bound("s")

    gw.run(main())


def test_a_delete_is_carried_out_although_its_client_leaves_at_once(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.ask", {"user_query": "hang", "session_id": "diag-ask-1"})
            raw.send(
                {
                    "jsonrpc": "2.0",
                    "id": "d",
                    "method": "gateway.deleteAskSession",
                    "params": {"session_id": "diag-ask-1"},
                }
            )
            raw.close()
            await gw.until(lambda: not running.ask.stored and not running.ask.running())

    gw.run(main())


def test_an_ask_that_nobody_listens_to_is_cancelled_and_a_reconnect_in_time_saves_it(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint, Limits(orphan_sec=0.3)) as running:
            first = await gw.Raw.connect(endpoint)
            await first.call("gateway.ask", {"user_query": "hang", "session_id": "kept"})
            await first.call("gateway.ask", {"user_query": "hang", "session_id": "lost"})
            first.close()
            await gw.until(lambda: running.server.connection_count() == 0)
            second = await gw.Raw.connect(endpoint)
            await second.call("gateway.bindStream", {"session_id": "kept"})
            await gw.until(lambda: running.ask.cancelled)
            assert list(running.ask.running().values()) == ["kept"]

    gw.run(main())


def test_only_throw_away_sessions_are_removed_and_only_after_their_time(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        ask = gw.FakeAsk()
        now = datetime.now(timezone.utc)
        for name, age in (("diag-ask-old", 3600), ("diag-ask-young", 0), ("mine", 3600)):
            stamp = (now - timedelta(seconds=age)).isoformat()
            ask.stored[name] = SessionInfo(name, "", stamp, stamp)
        async with gw.serve(endpoint, Limits(abandoned_sec=900, sweep_sec=0.05), ask):
            await gw.until(lambda: set(ask.stored) == {"diag-ask-young", "mine"})

    gw.run(main())


def test_a_talk_whose_client_is_connected_outlives_its_last_answer(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint, Limits(abandoned_sec=0.1, sweep_sec=0.03)) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.ask", {"user_query": "one", "session_id": "idm-1"})
            while (await raw.event())["event"] != "ask_done":
                pass
            await asyncio.sleep(0.3)
            assert "idm-1" in running.ask.stored
            raw.close()
            await gw.until(lambda: "idm-1" not in running.ask.stored)

    gw.run(main())


def test_waiting_pieces_of_one_answer_are_merged_for_a_slow_reader_and_nothing_is_lost(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            slow = await gw.Raw.connect(endpoint)
            slow.writer.transport.pause_reading()
            for name in ("a", "b"):
                params = {"user_query": "stream 3000 300", "session_id": f"talk-{name}"}
                slow.send({"jsonrpc": "2.0", "id": name, "method": "gateway.ask", "params": params})
            await gw.until(lambda: len(running.ask.asked) == 2 and not running.ask.running())
            slow.writer.transport.resume_reading()
            texts: dict[str, str] = {"talk-a": "", "talk-b": ""}
            chunks, done = 0, 0
            while done < 2:
                event = await slow.event()
                if event["event"] == "ask_chunk":
                    chunks += 1
                    texts[event["session_id"]] += inner(event)["delta"]
                else:
                    assert inner(event)["full_response"] == texts[event["session_id"]]
                    done += 1
            assert len(texts["talk-a"]) == len(texts["talk-b"]) == 900_000
            assert chunks < 3000

    gw.run(main())


def test_who_never_reads_is_dropped_and_nobody_else_waits(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            deaf, healthy = await gw.Raw.connect(endpoint), await gw.Raw.connect(endpoint)
            deaf.writer.transport.pause_reading()
            for raw in (deaf, healthy):
                raw.send(
                    {"jsonrpc": "2.0", "id": "b", "method": "gateway.bindStream", "params": {"session_id": "talk"}}
                )
            assert (await healthy.recv())["id"] == "b"
            text = "x" * 60_000
            sent = 0
            while running.server.connection_count() == 2:
                running.server.emit(AskEvent("ask_chunk", "talk", f"r{sent}", {"delta": text}))
                sent += 1
                assert inner(await healthy.event())["delta"] == text
                assert sent < 400
            assert sent * 60_000 >= 8 << 20

    gw.run(main())


def test_more_than_256_waiting_messages_drop_the_reader(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            deaf, healthy = await gw.Raw.connect(endpoint), await gw.Raw.connect(endpoint)
            deaf.writer.transport.pause_reading()
            deaf.send({"jsonrpc": "2.0", "id": "b", "method": "gateway.bindStream", "params": {"session_id": "talk"}})
            await gw.until(lambda: running.server.relay.is_bound("talk"))
            payload = {"full_response": "y" * 1000, "compacted": False, "usage": {}}
            for number in range(5000):
                running.server.emit(AskEvent("ask_done", "talk", f"r{number}", payload))
                if running.server.connection_count() == 1:
                    break
                await asyncio.sleep(0)
            assert 256 < number < 4999
            assert (await healthy.call("gateway.ping"))["result"]["payload"]["message"] == "pong"

    gw.run(main())


def test_a_piece_larger_than_a_frame_comes_in_several_and_a_response_that_fits_in_none_ends_in_an_error(
    gw: SimpleNamespace, endpoint: Endpoint
) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.bindStream", {"session_id": "talk"})
            text = "\u0001é" * 300_000
            running.server.emit(AskEvent("ask_chunk", "talk", "r", {"delta": text}))
            running.server.emit(AskEvent("ask_done", "talk", "r", {"full_response": text}))
            got = ""
            while (event := await raw.event())["event"] == "ask_chunk":
                got += inner(event)["delta"]
            assert got == text
            assert (event["event"], inner(event)["code"]) == ("ask_error", "INTERNAL_ERROR")

    gw.run(main())


def test_shutdown_cancels_asks_tells_their_clients_and_then_closes(gw: SimpleNamespace, endpoint: Endpoint) -> None:
    async def main() -> None:
        async with gw.serve(endpoint) as running:
            raw = await gw.Raw.connect(endpoint)
            await raw.call("gateway.ask", {"user_query": "hang", "session_id": "s"})
            assert (await raw.event())["event"] == "ask_chunk"
            assert (await raw.call("gateway.shutdown"))["result"]["payload"] == {"message": "shutting down"}
            assert running.server.stop_requested.is_set()
            await running.server.shutdown()
            assert inner(await raw.event())["code"] == "CANCELED"
            assert await raw.at_end()
            assert running.ask.closed

    gw.run(main())
