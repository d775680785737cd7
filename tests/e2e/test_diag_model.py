"""`neocode diag` with a model endpoint: what leaves the machine, what comes back, what goes wrong on the way."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator

import pytest
from cli import NeoHome
from fake_openai import Connection, FakeServer, answers, chunk, fake_server, plays, refuses, sse

ANSWER = (
    "## Cause\nThe port is taken.\n\n## Fix\n```sh\nkill 42\n```\n\n"
    "## Check\n```sh\nss -ltnp\n```\n\n## Confidence\nhigh\n"
)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as running:
        yield running


@pytest.fixture
def model(home: NeoHome, server: FakeServer) -> NeoHome:
    """A home whose provider is the scripted server."""
    added = home.run("provider", "add", "work", "--kind", "openai", "--base-url", server.url, "--model", "m1")
    used = home.run("use", "work")
    assert (added.returncode, used.returncode) == (0, 0), added.stderr + used.stderr
    return home


def test_the_answer_of_a_model_is_parsed_and_the_prompt_is_as_designed(model: NeoHome, server: FakeServer) -> None:
    server.script(answers(*(ANSWER[i : i + 7] for i in range(0, len(ANSWER), 7))))
    token = "ghp_" + "a1B2" * 9
    done = model.run("diag", "--json", "--error-log", f"OSError: [Errno 98] {token}", env={"LANG": "de_DE.UTF-8"})
    answer = json.loads(done.stdout)
    assert answer["root_cause"] == "The port is taken."
    assert answer["fix_commands"] == ["kill 42"]
    assert answer["investigation_commands"] == ["ss -ltnp"]
    assert (answer["confidence"], answer["provider"], answer["masked"]) == ("high", "work", 1)
    assert answer["usage"]["input_tokens"] == 7
    body = server.requests[0].json
    assert body["stream"] is True
    assert "tools" not in body
    assert body["model"] == "m1"
    prompt = json.dumps(body["messages"])
    assert token not in prompt
    assert "[redacted:github-token]" in prompt
    assert "de-DE" in prompt
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_an_answer_without_the_form_is_shown_as_it_is(model: NeoHome, server: FakeServer) -> None:
    server.script(answers("Just restart it."))
    shown = model.run("diag", "--error-log", "error: x")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Just restart it.\n")
    answer = json.loads(model.run("diag", "--json", "--error-log", "error: x").stdout)
    assert answer["explanation"] == "Just restart it."
    assert (answer["fix_commands"], answer["confidence"]) == ([], "low")


def test_what_a_model_sends_never_reaches_the_terminal_raw(model: NeoHome, server: FakeServer) -> None:
    server.script(answers("before\x1b]52;c;SGVsbG8=\x07\x9b2Jafter\u202e\r\x1b[2J"))
    done = model.run("diag", "--color", "always", "--error-log", "error: x")
    raw = done.stdout
    for forbidden in ("\x1b]", "\x9b", "\x07", "\u202e", "\x1b[2J"):
        assert forbidden not in raw
    assert "before" in raw


def test_a_stream_that_breaks_off_shows_its_text_and_fails(model: NeoHome, server: FakeServer) -> None:
    server.script(plays(sse(chunk("half an ans"), done=False)))
    done = model.run("diag", "--error-log", "error: x")
    assert done.returncode == 1
    assert "half an ans" in done.stdout
    assert len(done.stderr.splitlines()) == 1


def test_a_refusal_is_one_line_with_what_to_do(model: NeoHome, server: FakeServer) -> None:
    server.script(refuses("401 Unauthorized", {"error": {"message": "bad key", "code": "invalid_api_key"}}))
    done = model.run("diag", "--error-log", "error: x")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "401" in done.stderr or "key" in done.stderr


def test_ctrl_c_ends_the_provider_call_too(model: NeoHome, server: FakeServer) -> None:
    gone = threading.Event()

    def hang(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("thinking"), done=False))
        assert connection.wait_for_disconnect()
        gone.set()

    server.script(hang)
    process = model.start("diag", "--error-log", "error: x", bufsize=0)
    assert process.stdout is not None
    assert process.stdout.read(8) == b"thinking"
    process.send_signal(signal.SIGINT)
    assert gone.wait(10)
    _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (130, b"")


def test_a_gateway_killed_in_the_middle_of_an_answer_is_one_line(model: NeoHome, server: FakeServer) -> None:
    def hang(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("thinking"), done=False))
        connection.wait_for_disconnect()

    server.script(hang)
    process = model.start("diag", "--error-log", "error: x", bufsize=0)
    assert process.stdout is not None
    assert process.stdout.read(8) == b"thinking"
    pid = model.status()["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert len(err.splitlines()) == 1
    server.script(answers("alive again"))
    assert "alive again" in model.run("diag", "--error-log", "error: x").stdout


def test_a_provider_test_runs_in_the_daemon_and_names_the_variable_missing_there(
    home: NeoHome, server: FakeServer
) -> None:
    home.run("gateway", "restart")
    home.run(
        "provider",
        "add",
        "work",
        "--kind",
        "openai",
        "--base-url",
        server.url,
        "--model",
        "m",
        "--api-key-env",
        "MY_KEY",
    )
    done = home.run("provider", "test", "work", env={"MY_KEY": "sk-here-but-not-there"})
    assert done.returncode == 1
    assert "MY_KEY" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert server.requests == []
    server.script(answers("ok"))
    home.run("gateway", "restart", env={"MY_KEY": "sk-now-there"})
    again = home.run("provider", "test", "work")
    assert again.returncode == 0, again.stderr
    assert server.requests[0].headers["authorization"] == "Bearer sk-now-there"
    assert "sk-now-there" not in (home.dir / "logs" / "gateway.log").read_text()


@pytest.mark.model
def test_a_real_model_answers(home: NeoHome) -> None:
    from model_server import model_server

    with model_server() as real:
        home.run("provider", "add", "local", "--kind", "openai", "--base-url", real.base_url, "--model", real.model)
        home.run("config", "set", "providers.local.max_output_tokens", "48")
        home.run("use", "local")
        done = home.run("diag", "--error-log", "bash: gti: command not found")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.split()) > 5
        assert "local" in done.stdout.splitlines()[-1]
        answer = json.loads(home.run("diag", "--json", "--error-log", "bash: gti: command not found").stdout)
        assert answer["usage"]["output_tokens"] > 0
