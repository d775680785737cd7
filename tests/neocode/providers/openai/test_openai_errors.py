"""Each fault is one line that says what happened and what to do, with the wire's code."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, plays, refuses
from hypothesis import given
from hypothesis import strategies as st

from neocode.providers.openai.errors import Caller, from_detail, read_detail
from neocode.providers.openai.text import KEY_WINDOW, MAX_MESSAGE_CHARS, mask_key, one_line

Ask = Callable[..., Any]
MODELS = json.dumps({"data": [{"id": f"model-{n}"} for n in range(7)]}).encode()

STATUSES = {
    "401": (401, {"error": {"message": "Incorrect API key provided"}}, "PROVIDER_ERROR", "key", "--api-key-env"),
    "403": (403, {"error": {"message": "Country not supported"}}, "PROVIDER_ERROR", "Country", "--api-key-env"),
    "429": (429, {"error": {"message": "slow down"}}, "RATE_LIMITED", "slow down", "later"),
    "quota (TheR1D/shell_gpt#17)": (
        429,
        {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        "PROVIDER_ERROR",
        "quota",
        "credit",
    ),
    "504": (504, {"message": "upstream timed out"}, "TIMEOUT", "upstream timed out", "later"),
    "500 without JSON": (500, None, "PROVIDER_ERROR", "(500)", "later"),
    "404": (404, {"detail": "Not Found"}, "PROVIDER_ERROR", "404", "/v1"),
    "context (OpenAI)": (
        400,
        {"error": {"message": "too long", "code": "context_length_exceeded"}},
        "PROVIDER_ERROR",
        "context of asked-model",
        "send less",
    ),
    "context (llama.cpp)": (
        400,
        {"error": {"code": 400, "message": "exceeds the available context", "type": "exceed_context_size_error"}},
        "PROVIDER_ERROR",
        "context of asked-model",
        "send less",
    ),
    "content filter (Azure)": (
        400,
        {"error": {"message": "filtered", "code": "content_filter"}},
        "PROVIDER_ERROR",
        "content filter",
        "without",
    ),
    "a list of validation errors": (
        422,
        {"detail": [{"loc": ["body", "messages"], "msg": "bad role"}]},
        "PROVIDER_ERROR",
        "bad role",
        "",
    ),
    "an error in a list (Gemini)": (
        400,
        [{"error": {"code": 400, "message": "Bad model state", "status": "FAILED_PRECONDITION"}}],
        "PROVIDER_ERROR",
        "Bad model state",
        "",
    ),
    "418": (418, "short and stout", "PROVIDER_ERROR", "short and stout", ""),
}


@pytest.mark.parametrize(("status", "body", "code", "words", "hint"), STATUSES.values(), ids=STATUSES)
def test_an_error_response_becomes_one_clear_line(
    server: FakeServer, ask: Ask, status: int, body: Any, code: str, words: str, hint: str
) -> None:
    server.script(refuses(f"{status} Whatever", b"" if body is None else body))
    error = ask().failed
    assert error.code == code
    assert words in error.message
    assert hint in error.hint
    assert error.message.startswith("work: 127.0.0.1:")
    assert not error.partial
    assert "\n" not in error.one_line()
    assert error.__context__ is None, "the exception behind it holds the request"


def test_an_unknown_model_is_reported_with_some_that_exist(server: FakeServer, ask: Ask) -> None:
    missing = {"error": {"message": 'model "asked-model" not found, try pulling it first', "type": "not_found_error"}}
    server.script(refuses("404 Not Found", missing), plays(MODELS, content_type="application/json"))
    error = ask().failed
    assert "asked-model is unknown there" in error.message
    assert "model-0, model-1, model-2, model-3, model-4, ..." in error.hint
    assert server.requests[1].target == "/v1/models"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, {"message": "The model `x` does not exist", "code": "model_not_found"}),
        (400, {"message": "x is not a valid model ID", "code": 400}),
        (400, {"message": "Model Not Exist", "type": "invalid_request_error"}),
        (404, {"message": "No such deployment", "code": "DeploymentNotFound"}),
    ],
)
def test_unknown_models_are_recognised_in_the_words_of_several_vendors(status: int, error: dict[str, Any]) -> None:
    judged = from_detail(Caller("work", "host", "x"), status, read_detail(json.dumps({"error": error})))
    assert (judged.kind, judged.retry) == ("model", False)


def test_a_model_list_that_fails_does_not_hide_the_first_error(server: FakeServer, ask: Ask) -> None:
    server.script(refuses("404 Not Found", {"error": {"code": "model_not_found"}}), refuses("500 No", b""))
    error = ask().failed
    assert ("unknown there" in error.message, error.hint) == (True, "see `neocode model list`")


def test_a_web_page_as_error_shows_its_title_only(server: FakeServer, ask: Ask) -> None:
    page = b"<html><head><title>502 Bad\r\nGateway</title></head><body>" + b"x" * 100_000
    server.script(plays(page, "502 Bad Gateway", "text/html"))
    assert ask().failed.message.endswith("(502): 502 Bad Gateway")


def test_an_endless_error_page_is_not_read_to_its_end(server: FakeServer, ask: Ask) -> None:
    def script(connection: Connection) -> None:
        connection.head("500 Internal Server Error", "text/plain")
        try:
            while True:
                connection.send(b"no " * 10_000)
        except OSError:
            pass

    server.script(script)
    message = ask().failed.message
    assert len(message) < MAX_MESSAGE_CHARS + 100


def test_an_unknown_host_is_called_so(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_args: Any, **_kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    error = ask(base_url="https://models.example/v1", retry_budget_sec=30.0).failed
    assert "cannot find models.example: no such host name" in error.message
    assert "DNS" in error.hint


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://host/v1",
        "127.0.0.1:11434",
        "http://",
        "http://h:99999/v1",
        "http://a b/",
        "http://h\x00/",
        "http://ü.de/v1",
    ],
)
def test_a_base_url_that_is_none_is_refused_without_a_traceback(ask: Ask, base_url: str) -> None:
    assert "base_url" in ask(base_url=base_url).failed.message


def test_a_password_in_the_base_url_is_refused_and_not_repeated(ask: Ask) -> None:
    error = ask(base_url="https://me:hunter2@host/v1").failed
    assert "user name or password" in error.message
    assert "hunter2" not in error.one_line()


def test_after_aclose_calls_are_refused_and_a_second_aclose_is_nothing(server: FakeServer, config: Any) -> None:
    import asyncio

    from neocode.errors import ProviderError
    from neocode.providers.openai.provider import OpenAIProvider

    async def main() -> None:
        provider = OpenAIProvider("work", config())
        await provider.check()
        await provider.aclose()
        await provider.aclose()
        with pytest.raises(ProviderError, match="closed"):
            await provider.check()

    server.script(answers("Hello"))
    asyncio.run(main())


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_error_body_is_an_exception(raw: bytes | str) -> None:
    text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    for status in (0, 400, 404, 429, 500):
        assert "\n" not in from_detail(Caller("work", "host"), status, read_detail(text)).error.one_line()


KEYS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=KEY_WINDOW, max_size=40)


@given(st.text(max_size=50), KEYS, st.text(max_size=50), st.integers(0, 40), st.booleans())
def test_no_piece_of_the_key_survives_in_a_message(before: str, key: str, after: str, start: int, upper: bool) -> None:
    piece = key[min(start, len(key) - KEY_WINDOW) :]
    shown = one_line(f"{before} {piece.upper() if upper else piece} {after}", key).lower()
    low = key.lower()
    windows = {low[i : i + KEY_WINDOW] for i in range(len(low) - KEY_WINDOW + 1)}
    assert not [window for window in windows if window in shown and window not in "[key]"]


@given(st.text(max_size=2000))
def test_a_message_is_one_short_printable_line(text: str) -> None:
    line = one_line(text)
    assert len(line) <= MAX_MESSAGE_CHARS
    assert line.isprintable()


def test_a_short_key_is_masked_whole() -> None:
    assert mask_key("bad key: abc1", "abc1") == "bad key: [key]"
