"""Where the key and the prompt never go: other hosts, plain networks, proxies of loopback, logs and errors."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeServer, answers, fake_server, refuses

from neocode.providers.openai.endpoint import UNKNOWN_ORIGIN, is_loopback, origin_of, parse_endpoint

Ask = Callable[..., Any]
KEY = "sk-test-0123456789abcdef"
TLS = Path(__file__).parent / "tls"


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("WORK_KEY", KEY)
    return {"api_key_env": "WORK_KEY"}


@pytest.fixture
def other() -> Iterator[FakeServer]:
    with fake_server() as running:
        running.script(answers("stolen"))
        yield running


@pytest.fixture
def secure() -> Iterator[FakeServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem")
    with fake_server(context) as running:
        running.script(answers("Hello"))
        yield running


@pytest.mark.parametrize("host", ["192.168.1.5", "10.0.0.1", "models.example", "[fd00::1]", "0.0.0.0", "127.1"])
def test_a_key_is_not_sent_over_plain_http_to_another_machine(ask: Ask, keyed: dict[str, str], host: str) -> None:
    error = ask(base_url=f"http://{host}:9/v1", **keyed).failed
    assert "plain http" in error.message
    assert "https://" in error.hint


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1"])
def test_a_key_is_sent_over_plain_http_to_this_machine(
    server: FakeServer, ask: Ask, keyed: dict[str, str], host: str
) -> None:
    server.script(answers("Hello"))
    assert ask(base_url=f"http://{host}:{server.port}/v1", **keyed).text == "Hello"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["localhost.example", "127.0.0.1.example", "128.0.0.1", "::2", "", "2130706433"])
def test_what_only_looks_like_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_to_another_host_gets_neither_key_nor_prompt(
    server: FakeServer, other: FakeServer, ask: Ask, keyed: dict[str, str], status: str
) -> None:
    server.script(refuses(status, b"", Location=f"http://localhost:{other.port}/v1/chat/completions"))
    error = ask(**keyed).failed
    assert f"localhost:{other.port}" in error.message
    assert "base_url" in error.hint
    assert other.requests == []


def test_a_redirect_from_https_down_to_http_is_not_followed(
    secure: FakeServer, other: FakeServer, ask: Ask, keyed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    secure.script(refuses("307 Temporary", b"", Location=f"http://127.0.0.1:{secure.port}/v1/chat/completions"))
    assert "redirects (307)" in ask(base_url=secure.url, **keyed).failed.message


def test_a_redirect_within_the_origin_is_followed_with_body_and_key(
    server: FakeServer, ask: Ask, keyed: dict[str, str]
) -> None:
    server.script(refuses("307 Temporary", b"", Location="/v1/chat/completions/"), answers("Hello"))
    assert ask(**keyed).text == "Hello"
    first, second = server.requests
    assert (second.target, second.json) == ("/v1/chat/completions/", first.json)
    assert second.headers["authorization"] == f"Bearer {KEY}"


def test_a_redirect_in_a_circle_ends(server: FakeServer, ask: Ask) -> None:
    server.script(refuses("307 Temporary", b"", Location="/v1/chat/completions"))
    assert "redirects" in ask().failed.message
    assert len(server.requests) < 6


def test_without_a_configured_key_nothing_of_the_sdks_environment_is_sent(
    server: FakeServer, other: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET"):
        monkeypatch.setenv(name, "leaked-value")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "Authorization: leaked-value\nAPI-Key: leaked-value\nX-Any: leaked-value"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", other.url)
    server.script(answers("Hello"))
    assert ask().text == "Hello"
    request = server.requests[0]
    assert "leaked-value" not in repr(request)
    assert not {"authorization", "api-key"} & set(request.headers)
    assert other.requests == []


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_loopback_is_never_reached_through_a_proxy(
    server: FakeServer, other: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, f"http://127.0.0.1:{other.port}")
    server.script(answers("Hello"))
    assert ask().text == "Hello"
    assert other.requests == []


def test_other_machines_are_reached_through_the_proxy_of_the_environment(
    ask: Ask, other: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TheR1D/shell_gpt#79: a corporate proxy. Plain http is fine as long as there is no key."""
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{other.port}")
    other.script(answers("Hello"))
    assert ask(base_url="http://models.example/v1").text == "Hello"
    assert other.requests[0].target == "http://models.example/v1/chat/completions"


def test_no_proxy_is_honoured(ask: Ask, other: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(*_args: Any, **_kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{other.port}")
    monkeypatch.setenv("NO_PROXY", "models.example")
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert "cannot find models.example" in ask(base_url="http://models.example/v1").failed.message
    assert other.requests == []


def test_a_proxy_sees_neither_key_nor_prompt_of_an_https_call_and_its_refusal_is_named(
    ask: Ask, other: FakeServer, keyed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:hunter2@127.0.0.1:{other.port}")
    other.script(refuses("407 Proxy Authentication Required", b""))
    error = ask(base_url="https://models.example/v1", **keyed).failed
    assert f"proxy 127.0.0.1:{other.port}" in error.message
    assert "407" in error.message
    assert "HTTPS_PROXY" in error.hint
    assert "hunter2" not in error.one_line()
    (connect,) = other.requests
    assert (connect.method, connect.target) == ("CONNECT", "models.example:443")
    assert KEY not in repr(connect)
    assert connect.body == b""


def test_a_proxy_that_is_down_is_named(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    error = ask(base_url="https://models.example/v1").failed
    assert f"through the proxy 127.0.0.1:{port}" in error.message
    assert "HTTPS_PROXY" in error.hint


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "nonsense://x", "http://[bad"])
def test_a_proxy_setting_that_cannot_be_used_is_one_line(ask: Ask, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    assert "proxy" in ask(base_url="https://models.example/v1").failed.message


def test_a_private_authority_is_trusted_by_ssl_cert_file(
    secure: FakeServer, ask: Ask, keyed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    assert ask(base_url=secure.url, **keyed).text == "Hello"
    assert secure.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_an_unknown_authority_is_refused_before_anything_is_sent(
    secure: FakeServer, ask: Ask, keyed: dict[str, str]
) -> None:
    error = ask(base_url=secure.url, retry_budget_sec=30.0, **keyed).failed
    assert "certificate" in error.message
    assert "SSL_CERT_FILE" in error.hint
    assert secure.requests == []


def test_an_unreadable_ca_bundle_is_one_line(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
    assert "SSL_CERT_FILE" in ask(base_url="https://127.0.0.1:9/v1").failed.hint


def test_https_to_a_server_that_speaks_http_says_so(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def not_tls() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=not_tls, daemon=True)
        thread.start()
        error = ask(base_url=f"https://127.0.0.1:{listener.getsockname()[1]}/v1").failed
        thread.join(10)
    assert "TLS" in error.message
    assert "https" in error.hint


@pytest.mark.parametrize("status", ["401 Unauthorized", "400 Bad Request", "500 Internal Server Error"])
def test_a_key_echoed_by_the_server_is_in_no_error_and_no_log(
    server: FakeServer, ask: Ask, keyed: dict[str, str], caplog: pytest.LogCaptureFixture, status: str
) -> None:
    """TheR1D/shell_gpt#17 printed a traceback with prompt and key for an HTTP error."""
    caplog.set_level(logging.DEBUG)
    echo = f"key {KEY} and {KEY[:14]}... and {KEY.upper()} \x1b[31m\n\u202e is wrong"
    server.script(refuses(status, {"error": {"message": echo}, "key": KEY}))
    error = ask(**keyed).failed
    shown = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
    assert KEY[:10] not in shown
    assert "[key]" in error.message
    assert error.one_line().isprintable()


def test_the_key_is_not_in_the_answers_log_either(
    server: FakeServer, ask: Ask, keyed: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.script(answers("Hello"))
    ask(**keyed)
    assert KEY not in caplog.text
    assert "why?" not in caplog.text


def test_a_backslash_cannot_smuggle_in_another_host() -> None:
    from neocode.errors import ProviderError

    for url in ("http://127.0.0.1\\@evil.example/v1", "http://127.0.0.1@evil.example/v1"):
        with pytest.raises(ProviderError):
            parse_endpoint(url)


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("http://localhost:1234/v1", ""),
        ("http://[::1]:1/v1", ""),
        ("https://api.example.com/v1", "https://api.example.com"),
        ("http://192.168.0.7:8080/v1", "http://192.168.0.7:8080"),
        ("http://127.0.0.1.example.com/v1", "http://127.0.0.1.example.com"),
        ("", "https://api.openai.com"),
        ("localhost:1234", UNKNOWN_ORIGIN),
    ],
)
def test_only_this_machine_itself_counts_as_near(base_url: str, origin: str) -> None:
    assert origin_of(base_url) == origin
