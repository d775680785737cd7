"""What is tried again, after how long, and what is not."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, plays, refuses, sse
from hypothesis import given
from hypothesis import strategies as st

from neocode.providers.openai.retry import MAX_DELAY_SEC, Backoff, parse_retry_after

Ask = Callable[..., Any]
BUSY = {"error": {"message": "Too many requests", "type": "requests", "code": "rate_limit_exceeded"}}


def breaks(connection: Connection) -> None:
    connection.reset()


def cut_head(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\nContent-")


def cut_body(connection: Connection) -> None:
    connection.head(Content_Length="5000")
    connection.send(b": OPENROUTER PROCESSING\n\n")


TRANSIENT = {
    "429": refuses("429 Too Many Requests", BUSY),
    "429 that only sounds like quota (LibreChat-AI/agents#357)": refuses(
        "429 Too Many Requests",
        {
            "status": 429,
            "error": "INSUFFICIENT QUOTA",
            "message": "You exceeded your current limit of concurrent requests.",
        },
    ),
    "500": refuses("500 Internal Server Error", b"oops"),
    "502 with a page": refuses("502 Bad Gateway", b"<html><head><title>502 Bad Gateway</title></head></html>"),
    "503 while the model loads": refuses(
        "503 Service Unavailable", {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    ),
    "529": refuses("529 Overloaded", {"error": {"type": "overloaded_error"}}),
    "an overload reported inside the stream": plays(sse({"error": {"message": "overloaded", "code": 502}})),
    "a reset connection": breaks,
    "a connection cut in the headers": cut_head,
    "a connection cut before the first word": cut_body,
}


@pytest.mark.parametrize("script", TRANSIENT.values(), ids=TRANSIENT)
def test_a_passing_fault_is_tried_again_and_the_user_sees_only_the_answer(
    server: FakeServer, ask: Ask, script: Callable[[Connection], None]
) -> None:
    server.script(script, answers("Hello"))
    outcome = ask(retry_budget_sec=5.0)
    assert (outcome.text, outcome.error) == ("Hello", None)
    assert len(server.requests) == 2
    assert server.requests[0].json == server.requests[1].json


LASTING = {
    "quota by code (langchain-ai/langchainjs#1929)": (
        refuses(
            "429 Too Many Requests",
            {"error": {"message": "You exceeded", "type": "insufficient_quota", "code": "insufficient_quota"}},
        ),
        "quota",
    ),
    "no balance": (refuses("402 Payment Required", {"error": {"message": "Insufficient Balance"}}), "quota"),
    "the server says not to": (
        refuses("503 Unavailable", {"error": {"message": "gone"}}, x_should_retry="false"),
        "503",
    ),
    "401": (refuses("401 Unauthorized", {"error": {"message": "bad key"}}), "401"),
    "400": (refuses("400 Bad Request", {"error": {"message": "what?", "param": "messages"}}), "400"),
    "an unclassified error inside the stream": (plays(sse({"error": {"message": "nope"}})), "nope"),
    "an empty stream": (plays(b""), "empty"),
}


@pytest.mark.parametrize(("script", "words"), LASTING.values(), ids=LASTING)
def test_a_lasting_fault_is_reported_at_once(
    server: FakeServer, ask: Ask, script: Callable[[Connection], None], words: str
) -> None:
    server.script(script)
    started = time.monotonic()
    outcome = ask(retry_budget_sec=30.0)
    assert words in outcome.failed.message
    assert time.monotonic() - started < 5
    posts = [request for request in server.requests if request.method == "POST"]
    assert len(posts) == (2 if words == "400" else 1), "a bare request is tried once after an unexplained 400"


def test_thinking_already_passed_on_forbids_a_second_attempt(server: FakeServer, ask: Ask) -> None:
    server.script(plays(sse(chunk(reasoning="hm"), {"error": {"message": "busy", "code": 503}})))
    outcome = ask(retry_budget_sec=5.0)
    assert (outcome.failed.partial, len(server.requests)) == (False, 1)


def test_a_wait_beyond_the_budget_is_reported_at_once_with_its_length(server: FakeServer, ask: Ask) -> None:
    """github/copilot-cli#2760, cline/cline#10139: a Retry-After of three hours."""
    server.script(refuses("429 Too Many Requests", BUSY, Retry_After="11180"))
    started = time.monotonic()
    outcome = ask(retry_budget_sec=30.0)
    assert (outcome.failed.code, len(server.requests)) == ("RATE_LIMITED", 1)
    assert "186 min" in outcome.failed.hint
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("form", ["seconds", "milliseconds", "date"])
def test_the_servers_wait_is_a_lower_bound(server: FakeServer, ask: Ask, form: str) -> None:
    at: list[float] = []
    headers = {
        "seconds": {"Retry_After": "1"},
        "milliseconds": {"retry_after_ms": "1000"},
        "date": {"Retry_After": formatdate(2_000_000_001, usegmt=True), "Date": formatdate(2_000_000_000, usegmt=True)},
    }[form]

    def busy(connection: Connection) -> None:
        at.append(time.monotonic())
        refuses("429 Too Many Requests", BUSY, **headers)(connection)

    def well(connection: Connection) -> None:
        at.append(time.monotonic())
        answers("Hello")(connection)

    server.script(busy, well)
    assert ask(retry_budget_sec=5.0).text == "Hello"
    assert 1.0 <= at[1] - at[0] < 4.0


def test_retries_end_with_the_budget(server: FakeServer, ask: Ask) -> None:
    server.script(refuses("503 Service Unavailable", {"error": {"message": "Loading model"}}))
    started = time.monotonic()
    outcome = ask(retry_budget_sec=1.2)
    assert "Loading model" in outcome.failed.message
    assert 1 < len(server.requests) <= 4
    assert time.monotonic() - started < 5


def test_nothing_listening_on_this_machine_is_reported_at_once(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = time.monotonic()
    error = ask(base_url=f"http://127.0.0.1:{port}/v1", retry_budget_sec=30.0).failed
    assert "ollama serve" in error.hint
    assert str(port) in error.message
    assert time.monotonic() - started < 5


@given(st.floats(min_value=0, max_value=60), st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=20))
def test_no_wait_ends_after_the_budget_and_waits_vary(budget: float, dice: list[float]) -> None:
    now = 100.0
    roll = iter(dice * 20)
    backoff = Backoff(budget, clock=lambda: now, rand=lambda: next(roll))
    for _ in range(100):
        delay = backoff.next_delay(None)
        if delay is None:
            break
        assert 0.25 <= delay <= MAX_DELAY_SEC
        now += delay
    assert now <= 100.0 + budget
    assert delay is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:10 GMT"}, 10.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:10 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, now=1445412480.0) == seconds


@given(st.text(max_size=40))
def test_no_retry_after_value_is_an_exception(value: str) -> None:
    seconds = parse_retry_after({"retry-after": value, "retry-after-ms": value, "date": value})
    assert seconds is None or seconds >= 0
