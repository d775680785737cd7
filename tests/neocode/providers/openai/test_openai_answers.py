"""What endpoints put into a stream, each case played by a real server: text, usage, end, and all their oddities."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, plays, sse, usage

from neocode.ask.answer import Answer
from neocode.config import ProviderConfig
from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message, Usage
from neocode.providers.openai import http, reply, stream
from neocode.providers.openai.provider import OpenAIProvider

Ask = Callable[..., Any]
Config = Callable[..., ProviderConfig]
OK = sse(chunk("Hello"), chunk(" world"), chunk(finish="stop"), usage(3, 2))


def test_text_usage_and_the_serving_model_come_through(server: FakeServer, ask: Ask) -> None:
    server.script(answers("Hello", " world"))
    outcome = ask()
    assert outcome.text == "Hello world"
    assert outcome.finish == Finish(Usage(7, 2), "stop", "served-model")


def test_a_delta_is_passed_on_while_the_server_still_holds_back_the_next(server: FakeServer, config: Config) -> None:
    seen = threading.Event()

    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("first"), done=False))
        assert seen.wait(10), "the first delta was held back"
        connection.send(sse(chunk(" last", "stop")))

    async def main() -> None:
        provider = OpenAIProvider("work", config())
        answer = provider.stream(AskRequest((Message("user", "why?"),), AskContext()))
        assert await anext(answer) == Delta("first")
        seen.set()
        assert await anext(answer) == Delta(" last")
        assert isinstance(await anext(answer), Finish)
        assert await anext(answer, None) is None
        await provider.aclose()

    server.script(script)
    asyncio.run(main())


GOOD = {
    "empty choices in the first chunk (pydantic/pydantic-ai#164)": sse(
        {"choices": [], "prompt_filter_results": []}, chunk("Hello world", "stop")
    ),
    "delta is null (bagofwords1/bagofwords#742)": sse(
        {"choices": [{"index": 0, "delta": None}]}, chunk("Hello world"), chunk(finish="stop")
    ),
    "content is null (Oaklight/llm-rosetta#356)": sse(
        {"choices": [{"delta": {"role": "assistant", "content": None, "reasoning_content": ""}}]},
        chunk("Hello world", "stop"),
    ),
    "choices is null": sse({"choices": None}, chunk("Hello world", "stop")),
    "keep-alive comments (mnfst/llm-gateway#2053)": b": OPENROUTER PROCESSING\n\n" * 3 + OK,
    "comments sent as data (openai/openai-go#227)": b"data: : OPENROUTER PROCESSING\n\n" + OK,
    "a comment sent as data between the words": sse(chunk("Hello"), ": PROCESSING", chunk(" world", "stop")),
    "an undecodable line before the first word (docker/docker-agent#2349)": b'data: {"choi\n\n' + OK,
    "a heartbeat that is no JSON between the words": sse(chunk("Hello"), "ping", "null", chunk(" world", "stop")),
    "CRLF": OK.replace(b"\n", b"\r\n"),
    "lone CR": OK.replace(b"\n", b"\r"),
    "no space after the colon": OK.replace(b"data: ", b"data:"),
    "a byte order mark": b"\xef\xbb\xbf" + OK,
    "no blank line between events": OK.replace(b"\n\n", b"\n"),
    "no [DONE]": sse(chunk("Hello world", "stop"), done=False),
    "no newline at the end": sse(chunk("Hello world", "stop"), done=False).rstrip(),
    "data after [DONE]": OK + sse(chunk(" and more")) + b"data: {broken\n\n",
    "text after the finish_reason": sse(chunk("Hello world", "stop"), chunk("!"), usage(1, 1)),
    "an error after the finish_reason": sse(chunk("Hello world", "stop"), {"error": {"message": "late"}}),
    "one object over several data lines": b'data: {"choices":[{"delta":\ndata: {"content":"Hello world"},\n'
    b'data: "finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    "event and id fields": b"event: message\nid: 1\nretry: 10\n" + OK,
    "several choices": sse(
        {"choices": [{"delta": {"content": "Hello world"}}, {"delta": {"content": "no"}}]}, chunk(finish="stop")
    ),
    "content as parts": sse(chunk(content=[{"type": "text", "text": "Hello world"}], finish="stop")),  # type: ignore[arg-type]
    "an empty finish_reason in every chunk": sse(chunk("Hello", ""), chunk(" world", "stop")),
    "an unknown finish_reason": sse(chunk("Hello world", "eos")),
    "a long line": sse({**chunk("Hello world", "stop"), "padding": "x" * 500_000}),
    "NaN, which is no JSON": sse(
        '{"choices":[{"delta":{"content":"Hello world"},"logprob":NaN}]}', chunk(finish="stop")
    ),
    "one JSON object, not streamed": json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": "Hello world"}, "finish_reason": "stop"}]}
    ).encode(),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD)
def test_an_odd_but_complete_stream_is_an_answer(server: FakeServer, ask: Ask, body: bytes) -> None:
    """Each id names what is odd and, where there is one, the public issue that met it."""
    server.script(plays(body))
    outcome = ask()
    assert (outcome.text, outcome.error) == ("Hello world", None)
    assert outcome.finish.reason == "stop"


BAD = {
    "an empty body": (b"", "empty answer"),
    "only [DONE]": (sse(), "empty answer"),
    "only a role": (sse(chunk(role="assistant", content=""), chunk(finish="stop")), "empty answer"),
    "only undecodable lines": (b"data: {nonsense\n\ndata: {more\n\n", "cannot be read"),
    "a web page (datawhalechina/hello-agents#517)": (b"<!DOCTYPE html><html><body>Login</body></html>", "web page"),
    "JSON that is no completion": (b'{"hello": "world"}', "empty answer"),
    "an error inside the stream": (sse({"error": {"message": "no GPU left", "code": 500}}), "no GPU left"),
    "an error as text": (sse({"error": "no GPU left"}), "no GPU left"),
    "an error event": (b'event: error\ndata: {"message":"no GPU left"}\n\n', "no GPU left"),
    "an error without data:": (b'{"error":{"message":"no GPU left"}}\n', "no GPU left"),
    "only thinking (lmstudio-ai/lmstudio-bug-tracker#378)": (
        sse(chunk(reasoning_content="hm"), chunk(finish="stop")),
        "gave no answer",
    ),
    "thinking up to the limit": (sse(chunk(reasoning="hm"), chunk(finish="length")), "output limit (64 tokens)"),
    "a tool call": (sse(chunk(tool_calls=[{"index": 0}]), chunk(finish="tool_calls")), "tool"),
    "content filter": (sse(chunk(finish="content_filter")), "withheld"),
    "an endless line": (b"data: " + b"x" * 3_000_000, "more than an answer"),
    "an endless event": (b'data: {"a":\n' * 300_000, "cannot be read"),
}


@pytest.mark.parametrize(("body", "words"), BAD.values(), ids=BAD)
def test_what_is_no_answer_is_an_error(server: FakeServer, ask: Ask, body: bytes, words: str) -> None:
    """An error inside a stream or an empty stream must never pass as a success (BerriAI/litellm#32159)."""
    server.script(plays(body))
    outcome = ask()
    assert words in outcome.failed.one_line()
    assert (outcome.failed.code, outcome.failed.partial, outcome.text) == ("PROVIDER_ERROR", False, "")
    assert "\n" not in outcome.failed.message


CUT = {
    "no finish_reason and no [DONE]": sse(chunk("Hello"), done=False),
    "no finish_reason": sse(chunk("Hello")),
    "an error after text": sse(chunk("Hello"), {"error": {"message": "overloaded", "code": 529}}),
    "a damaged event after text": sse(chunk("Hello"))[:-14] + b'data: {"choices":[{"del\n\n' + OK,
    "content filter after text": sse(chunk("Hello"), chunk(finish="content_filter")),
    "the server gave up (finish_reason error)": sse(chunk("Hello"), chunk(finish="error")),
    "an endless line after text": sse(chunk("Hello"), done=False) + b"data: " + b"x" * 3_000_000,
}


@pytest.mark.parametrize("body", CUT.values(), ids=CUT)
def test_a_cut_answer_keeps_its_text_and_is_a_partial_error(server: FakeServer, ask: Ask, body: bytes) -> None:
    """CommandCodeAI/command-code#785: a stream that just ends is not a complete answer."""
    server.script(plays(body))
    outcome = ask(retry_budget_sec=5.0)
    assert outcome.text == "Hello"
    assert (outcome.failed.code, outcome.failed.partial) == ("PROVIDER_ERROR", True)
    assert len(server.requests) == 1, "it was tried again after text had been shown"


def test_a_broken_connection_after_text_is_a_partial_error(server: FakeServer, ask: Ask) -> None:
    def script(connection: Connection) -> None:
        connection.head(Content_Length="100000")
        connection.send(sse(chunk("Hello"), done=False))

    server.script(script)
    outcome = ask(retry_budget_sec=5.0)
    assert (outcome.text, outcome.failed.partial, len(server.requests)) == ("Hello", True, 1)


def test_an_answer_at_the_output_limit_is_finished_as_length(server: FakeServer, ask: Ask) -> None:
    server.script(answers("Hello", finish="length"))
    assert ask().finish.reason == "length"


def test_usage_is_zero_when_the_server_reports_none(server: FakeServer, ask: Ask) -> None:
    server.script(plays(sse({**chunk("Hello", "stop"), "usage": None})))
    assert ask().finish.usage == Usage(0, 0)


def test_thinking_is_kept_apart_from_the_answer(server: FakeServer, ask: Ask) -> None:
    """DeepSeek's and Qwen's reasoning_content; pollinations/pollinations#1895."""
    server.script(plays(sse(chunk(reasoning_content="Let me "), chunk(reasoning="see."), chunk("It is full.", "stop"))))
    outcome = ask()
    assert outcome.text == "It is full."
    assert "".join(delta.reasoning for delta in outcome.deltas) == "Let me see."


def test_characters_cut_by_the_network_stay_whole(server: FakeServer, ask: Ask) -> None:
    """api7/aisix#111, danielmiessler/Fabric#2203: every byte of the body in a network write of its own."""

    def script(connection: Connection) -> None:
        connection.head()
        for byte in sse(chunk("你好世界 🌍 北", "stop")):
            connection.send(bytes([byte]))

    server.script(script)
    assert ask().text == "你好世界 🌍 北"


def test_an_emoji_cut_between_two_chunks_is_one_character_again(server: FakeServer, ask: Ask) -> None:
    """api7/aisix#111: it became two replacement characters."""
    halves = ('{"content":"a\\ud83c"},"finish_reason":null', '{"content":"\\udf0db"},"finish_reason":"stop"')
    server.script(plays(sse(*(f'{{"choices":[{{"delta":{half}}}]}}' for half in halves))))
    assert Answer().add(ask().text) == "a🌍b"


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_stream_is_unpacked(
    server: FakeServer, ask: Ask, name: str, pack: Callable[[bytes], bytes]
) -> None:
    server.script(plays(pack(OK), Content_Encoding=name))
    assert ask().text == "Hello world"
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_a_compressed_stream_that_is_broken_is_called_so(server: FakeServer, ask: Ask) -> None:
    server.script(plays(b"\x1f\x8bnonsense" * 20, Content_Encoding="gzip"))
    assert "cannot be unpacked" in ask(retry_budget_sec=5.0).failed.message


def test_an_unasked_compression_is_named(server: FakeServer, ask: Ask) -> None:
    server.script(plays(b"\x8b\x00", Content_Encoding="br"))
    assert "compresses with br" in ask().failed.message


def test_a_stream_that_never_ends_is_cut_at_the_size_limit(server: FakeServer, ask: Ask) -> None:
    gone = threading.Event()

    def script(connection: Connection) -> None:
        connection.head()
        piece = sse(chunk("x" * 1000), done=False) * 64
        try:
            while True:
                connection.send(piece)
        except OSError:
            gone.set()

    server.script(script)
    outcome = ask()
    assert (len(outcome.text), outcome.finish.reason) == (stream.MAX_ANSWER_CHARS, "length")
    assert gone.wait(10), "the connection was kept open"


def test_endless_keep_alives_end_at_the_byte_limit(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 300_000)
    server.script(plays(b": PROCESSING\n\n" * 50_000))
    assert "more than an answer" in ask().failed.message


def test_a_complete_answer_does_not_wait_for_a_server_that_never_closes(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "TAIL_GRACE_SEC", 0.1)

    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("Hello", "stop"), done=False))
        assert connection.wait_for_disconnect()

    server.script(script)
    assert ask().finish.reason == "stop"
