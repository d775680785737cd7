"""What is sent, and what is left out for endpoints that refuse it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, refuses

from neocode.config import ProviderConfig
from neocode.providers.base import AskContext, AskRequest, Message
from neocode.providers.openai.endpoint import parse_endpoint
from neocode.providers.openai.provider import OpenAIProvider
from neocode.providers.openai.request import build_body, first_shape

Ask = Callable[..., Any]
TURNS = (
    Message("system", "Be brief."),
    Message("user", "why?"),
    Message("assistant", "Because.", reasoning="I think."),
    Message("user", "and 你?"),
)


def picky(*refused: str, status: str = "400 Bad Request", body: Callable[[str], Any]) -> Callable[[Connection], None]:
    """An endpoint that refuses requests in which one of the names occurs, and answers others."""

    def script(connection: Connection) -> None:
        request = script.server.requests[-1]  # type: ignore[attr-defined]
        name = next((name for name in refused if f'"{name}"'.encode() in request.body), "")
        (refuses(status, body(name)) if name else answers("Hello"))(connection)

    return script


def serve(server: FakeServer, script: Any) -> None:
    script.server = server
    server.script(script)


def test_the_conversation_goes_out_as_chat_turns_without_tools(server: FakeServer, ask: Ask) -> None:
    server.script(answers("Hello"))
    ask(TURNS)
    request = server.requests[0]
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.json == {
        "model": "asked-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "why?"},
            {"role": "assistant", "content": "Because.", "reasoning_content": "I think."},
            {"role": "user", "content": "and 你?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tool_choice": "none",
        "max_tokens": 64,
    }


def test_the_request_says_nothing_about_the_machine(server: FakeServer, ask: Ask) -> None:
    server.script(answers("Hello"))
    ask()
    names = set(server.requests[0].headers)
    assert names == {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}


def test_openai_itself_gets_no_tool_choice_and_the_new_name_of_the_limit() -> None:
    """It answers 400 to tool_choice without tools, and its reasoning models refuse max_tokens."""
    body = build_body(first_shape(parse_endpoint("")), "gpt", TURNS, 64)
    assert "tool_choice" not in body
    assert (body.get("max_tokens"), body.get("max_completion_tokens")) == (None, 64)
    assert "reasoning_content" not in body["messages"][2]


REFUSALS = {
    "tool_choice without tools (OpenAI)": (
        ["tool_choice"],
        "400 Bad Request",
        lambda name: {
            "error": {
                "message": "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
                "type": "invalid_request_error",
                "param": "tool_choice",
                "code": None,
            }
        },
        {"tool_choice"},
    ),
    "unknown fields (Mistral)": (
        ["stream_options"],
        "422 Unprocessable Entity",
        lambda name: {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs"}]},
        {"stream_options"},
    ),
    "one unknown field after the other": (
        ["tool_choice", "stream_options"],
        "400 Bad Request",
        lambda name: {"error": {"message": f"Unrecognized request argument supplied: {name}"}},
        {"tool_choice", "stream_options"},
    ),
    "max_tokens of a reasoning model": (
        ["max_tokens"],
        "400 Bad Request",
        lambda name: {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        },
        {"max_tokens"},
    ),
    "both names of the limit": (
        ["max_tokens", "max_completion_tokens"],
        "400 Bad Request",
        lambda name: {"error": {"message": f"unknown field {name}", "param": name}},
        {"max_tokens", "max_completion_tokens"},
    ),
    "a limit too large for the context (vLLM)": (
        ["max_tokens", "max_completion_tokens"],
        "400 Bad Request",
        lambda name: {
            "object": "error",
            "message": "'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum context "
            "length is 4096 tokens and your request has 3000 input tokens.",
        },
        {"max_tokens", "max_completion_tokens"},
    ),
    "reasoning_content of another endpoint's turn": (
        ["reasoning_content"],
        "400 Bad Request",
        lambda name: {"error": {"message": "Unknown parameter: 'messages[2].reasoning_content'."}},
        {"reasoning_content"},
    ),
    "something, it does not say what": (
        ["tool_choice", "stream_options"],
        "400 Bad Request",
        lambda name: {"error": "bad request"},
        {"tool_choice", "stream_options", "reasoning_content"},
    ),
}


@pytest.mark.parametrize(("refused", "status", "body", "dropped"), REFUSALS.values(), ids=REFUSALS)
def test_a_refused_part_is_left_out_and_the_answer_comes(
    server: FakeServer, ask: Ask, refused: list[str], status: str, body: Callable[[str], Any], dropped: set[str]
) -> None:
    serve(server, picky(*refused, status=status, body=body))
    outcome = ask(TURNS)
    assert (outcome.text, outcome.error) == ("Hello", None)
    last = server.requests[-1].body.decode()
    optional = {"tool_choice", "stream_options", "max_tokens", "max_completion_tokens", "reasoning_content"}
    sent = {name for name in optional if f'"{name}"' in last}
    assert not sent & dropped
    kept = {"tool_choice", "stream_options", "reasoning_content"} - dropped
    assert kept <= sent
    assert len(server.requests) <= 3


def test_a_refusal_is_remembered_for_the_next_ask(server: FakeServer, config: Callable[..., ProviderConfig]) -> None:
    serve(server, picky("tool_choice", body=lambda name: {"error": {"message": "no tool_choice", "param": name}}))

    async def main() -> None:
        provider = OpenAIProvider("work", config())
        for _ in range(2):
            _ = [item async for item in provider.stream(AskRequest(TURNS, AskContext()))]
        await provider.aclose()

    asyncio.run(main())
    assert ["tool_choice" in request.json for request in server.requests] == [True, False, False]


def test_a_real_fault_of_the_request_is_reported_with_the_servers_words(server: FakeServer, ask: Ask) -> None:
    server.script(refuses("400 Bad Request", {"error": {"message": "messages: roles must alternate"}}))
    error = ask().failed
    assert "roles must alternate" in error.message
    assert len(server.requests) == 2


def test_azure_gets_its_query_and_its_own_key_header(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORK_KEY", "azure-secret-0123456789")
    server.script(answers("Hello"))
    base = f"http://127.0.0.1:{server.port}/openai/deployments/gpt?api-version=2024-10-21"
    assert ask(base_url=base, api_key_env="WORK_KEY").text == "Hello"
    request = server.requests[0]
    assert request.target == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "azure-secret-0123456789"
    assert "authorization" not in request.headers


def test_a_base_url_with_the_whole_path_or_a_slash_means_the_same(server: FakeServer, ask: Ask) -> None:
    server.script(answers("Hello"))
    for tail in ("", "/", "/chat/completions", "/chat/completions/"):
        ask(base_url=server.url + tail)
    assert {request.target for request in server.requests} == {"/v1/chat/completions"}


def test_without_a_model_nothing_is_sent(ask: Ask) -> None:
    error = ask(model="").failed
    assert "no model" in error.message
    assert "neocode model list" in error.hint
