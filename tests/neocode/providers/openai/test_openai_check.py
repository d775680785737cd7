"""`check` and `models`: the cheapest real call, and the list, both bounded."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, plays, refuses, sse

from neocode.errors import ProviderError
from neocode.providers.openai.models import MAX_MODELS, model_ids

Check = Callable[..., str]
Models = Callable[..., list[str]]


def test_check_has_one_token_made_and_says_model_host_and_time(server: FakeServer, check: Check) -> None:
    server.script(answers("OK", finish="length"))
    line = check()
    assert re.fullmatch(rf"work: asked-model at 127\.0\.0\.1:{server.port} answered in \d+ ms", line)
    (request,) = server.requests
    assert request.json["max_tokens"] == 1


def test_check_stops_the_model_at_its_first_sign_of_life(server: FakeServer, check: Check) -> None:
    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("OK"), done=False))
        assert connection.wait_for_disconnect()

    server.script(script)
    assert "answered" in check()


@pytest.mark.parametrize(
    "body",
    [
        sse(chunk("", "length")),
        sse(chunk(reasoning_content="hm"), chunk(finish="length")),
        sse(chunk(role="assistant", content=""), chunk(finish="length")),
    ],
)
def test_a_model_that_only_thinks_within_one_token_works(server: FakeServer, check: Check, body: bytes) -> None:
    server.script(plays(body))
    assert "answered" in check()


def test_check_goes_without_a_limit_that_is_too_small_for_a_reasoning_model(server: FakeServer, check: Check) -> None:
    def script(connection: Connection) -> None:
        limited = "max_tokens" in server.requests[-1].json
        message = "Could not finish the message because max_tokens or model output limit was reached."
        (refuses("400 Bad Request", {"error": {"message": message}}) if limited else answers("OK"))(connection)

    server.script(script)
    assert "answered" in check()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (refuses("401 Unauthorized", {"error": {"message": "no"}}), "401"),
        (refuses("429 Too Many", {"error": {"message": "no"}}), "429"),
        (plays(b"<html>"), "web page"),
        (plays(b""), "empty"),
        (plays(sse({"error": {"message": "no GPU"}})), "no GPU"),
    ],
)
def test_check_reports_the_first_fault_without_trying_again(
    server: FakeServer, check: Check, script: Callable[[Connection], None], words: str
) -> None:
    server.script(script)
    with pytest.raises(ProviderError, match=words):
        check(retry_budget_sec=30.0)
    assert len(server.requests) == 1


def test_models_come_in_the_servers_order(server: FakeServer, models: Models) -> None:
    server.script(plays(json.dumps({"data": [{"id": "b"}, {"id": "a"}, {"id": "b"}]}).encode()))
    assert models() == ["b", "a"]
    assert (server.requests[0].method, server.requests[0].target) == ("GET", "/v1/models")


def test_the_models_of_azure_are_asked_of_the_resource(server: FakeServer, models: Models) -> None:
    server.script(plays(b'{"data":[{"id":"gpt"}]}'))
    base = f"http://127.0.0.1:{server.port}/openai/deployments/gpt?api-version=2024-10-21"
    assert models(base_url=base) == ["gpt"]
    assert server.requests[0].target == "/openai/models?api-version=2024-10-21"


def test_models_work_before_a_model_is_configured(server: FakeServer, models: Models) -> None:
    server.script(plays(b'{"data":[{"id":"a"}]}'))
    assert models(model="") == ["a"]


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b'{"data": 3}', b"null", b"[" * 100_000])
def test_a_list_that_is_none_is_an_error(server: FakeServer, models: Models, body: bytes) -> None:
    server.script(plays(body, content_type="application/json"))
    with pytest.raises(ProviderError, match="not its API"):
        models()


def test_an_endless_list_is_an_error(server: FakeServer, models: Models) -> None:
    def script(connection: Connection) -> None:
        connection.head(content_type="application/json")
        try:
            while True:
                connection.send(b" " * 65536)
        except OSError:
            pass

    server.script(script)
    with pytest.raises(ProviderError, match="more than"):
        models()


def test_a_list_that_stalls_ends_at_the_idle_time_out(server: FakeServer, models: Models) -> None:
    def script(connection: Connection) -> None:
        connection.head(content_type="application/json")
        connection.send(b'{"data":[')
        assert connection.wait_for_disconnect()

    server.script(script)
    with pytest.raises(ProviderError) as caught:
        models(idle_timeout_sec=0.2)
    assert caught.value.code == "TIMEOUT"


def test_models_of_a_server_that_does_not_run(models: Models) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ProviderError) as caught:
        models(base_url=f"http://127.0.0.1:{port}/v1")
    assert "ollama serve" in caught.value.hint


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        ({"models": [{"name": "qwen3:latest"}]}, ["qwen3:latest"]),
        (["a", {"model": "b"}, 3, {}, {"id": 4}], ["a", "b"]),
        ({"data": [{"id": "evil\x1b[2J\nname"}]}, ["evil [2J name"]),
        ({"data": [{"id": str(n)} for n in range(MAX_MODELS + 5)]}, [str(n) for n in range(MAX_MODELS)]),
    ],
)
def test_lists_of_all_shapes_become_bounded_printable_ids(body: Any, ids: list[str]) -> None:
    assert model_ids(json.dumps(body).encode()) == ids


def test_importing_the_provider_loads_neither_the_sdk_nor_its_http_client() -> None:
    code = (
        "import sys, neocode.providers.openai.provider as p, neocode.config as c;"
        "p.OpenAIProvider('work', c.ProviderConfig());"
        "print(sorted({'openai', 'httpx2', 'pydantic', 'anyio', 'ssl'} & set(sys.modules) - before))"
    )
    code = "import sys, asyncio; before = set(sys.modules);" + code
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert out.stdout.strip() == "[]"
