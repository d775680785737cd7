"""Every wait ends: three separate time-outs, and cancelling closes the connection at once."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from fake_openai import Connection, FakeServer, answers, chunk, sse

from neocode.config import ProviderConfig
from neocode.errors import ProviderError
from neocode.providers.base import AskContext, AskRequest, Message
from neocode.providers.openai import reply
from neocode.providers.openai.provider import OpenAIProvider

Ask = Callable[..., Any]
Config = Callable[..., ProviderConfig]
REQUEST = AskRequest((Message("user", "why?"),), AskContext())
SOON = 0.2
NEVER = 30.0


def timed(ask: Ask, **changes: Any) -> tuple[Any, float]:
    started = time.monotonic()
    outcome = ask(**changes)
    return outcome, time.monotonic() - started


def test_a_connection_that_is_never_completed_ends_at_the_connect_time_out(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts by its backlog, and never speaks TLS
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        outcome, took = timed(ask, base_url=url, connect_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", False)
    assert "no connection" in outcome.failed.message
    assert took < 5


@pytest.mark.parametrize("proxied", [False, True])
def test_a_connect_time_out_leaves_no_socket_behind(
    server: FakeServer, config: Config, monkeypatch: pytest.MonkeyPatch, proxied: bool
) -> None:
    """A TLS start that is cancelled leaves its socket open in the HTTP client."""
    gone = threading.Event()

    def tunnel_to_silence(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        assert connection.sock.recv(1), "no TLS was begun"
        while connection.sock.recv(65536):
            pass
        gone.set()

    def silence(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.settimeout(10)
        with connection:
            while connection.recv(65536):
                pass
        gone.set()

    async def main(base_url: str) -> None:
        provider = OpenAIProvider("work", config(base_url=base_url, connect_timeout_sec=SOON))
        with pytest.raises(ProviderError, match="no connection"):
            await provider.check()
        assert await asyncio.to_thread(gone.wait, 5), "the socket is still open"
        await provider.aclose()

    if proxied:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{server.port}")
        server.script(tunnel_to_silence)
        asyncio.run(main("https://models.example/v1"))
        return
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=silence, args=(listener,), daemon=True)
        thread.start()
        asyncio.run(main(f"https://127.0.0.1:{listener.getsockname()[1]}/v1"))
        thread.join(10)


def silent_after_accept(connection: Connection) -> None:
    assert connection.wait_for_disconnect()


def silent_after_head(connection: Connection) -> None:
    connection.head()
    assert connection.wait_for_disconnect()


def one_header_byte_at_a_time(connection: Connection) -> None:
    connection.send(b"HTTP/1.1 200 OK\r\n")
    try:
        while True:
            connection.send(b"X: y\r\n")
            time.sleep(0.02)  # the pace of a slow server, not a wait for something
    except OSError:
        pass


@pytest.mark.parametrize("script", [silent_after_accept, silent_after_head, one_header_byte_at_a_time])
def test_a_silent_server_ends_at_the_first_byte_time_out(
    server: FakeServer, ask: Ask, script: Callable[[Connection], None]
) -> None:
    """can1357/oh-my-pi#2177: the first event may take long, but not for ever."""
    server.script(script)
    outcome, took = timed(ask, first_byte_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", False)
    assert "sent nothing for 0.2 s" in outcome.failed.message
    assert took < 5
    assert len(server.requests) == 1


def test_silence_in_the_middle_ends_at_the_idle_time_out_and_keeps_the_text(server: FakeServer, ask: Ask) -> None:
    def script(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("Hello"), done=False))
        assert connection.wait_for_disconnect()

    server.script(script)
    outcome, took = timed(ask, idle_timeout_sec=SOON, retry_budget_sec=NEVER)
    assert outcome.text == "Hello"
    assert (outcome.failed.code, outcome.failed.partial) == ("TIMEOUT", True)
    assert took < 5


def test_the_time_outs_do_not_stand_in_for_each_other(server: FakeServer, ask: Ask) -> None:
    """A slow first byte passes a short connect and idle time-out."""

    def script(connection: Connection) -> None:
        time.sleep(0.6)  # the pace of a slow server, not a wait for something
        answers("Hello")(connection)

    server.script(script)
    assert ask(connect_timeout_sec=0.3, idle_timeout_sec=0.3, first_byte_timeout_sec=8.0).text == "Hello"


def test_keep_alives_hold_a_call_but_not_for_ever(
    server: FakeServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "PROGRESS_LIMIT_SEC", 0.6)

    def script(connection: Connection) -> None:
        connection.head()
        try:
            while True:
                connection.send(b": OPENROUTER PROCESSING\n\n")
                time.sleep(0.02)  # the pace of a slow server, not a wait for something
        except OSError:
            pass

    server.script(script)
    outcome, took = timed(ask, idle_timeout_sec=0.3)
    assert outcome.failed.code == "TIMEOUT"
    assert 0.5 < took < 5
