"""What curl, wget and openssl really print against servers of this test on 127.0.0.1."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any

import pytest


class _Server(http.server.ThreadingHTTPServer):
    """Says nothing about clients that hang up, which the tools here do on purpose."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


class _Quiet(http.server.BaseHTTPRequestHandler):
    """Answers 404 to everything."""

    def do_GET(self) -> None:
        self.send_error(404, "File not found")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def http_port() -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def https_port(tools: Any) -> Iterator[int]:
    """A server with a self-signed certificate for localhost."""
    tools.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=localhost".split()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tools.directory / "cert.pem", tools.directory / "key.pem")
    server = _Server(("127.0.0.1", 0), _Quiet)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hang_up_port() -> Iterator[int]:
    """A server that takes one connection, reads, and closes it without a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(30)

    def serve() -> None:
        with listener.accept()[0] as connection:
            connection.recv(4096)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


def test_a_closed_port_is_told_by_curl(tools: Any, closed_port: int) -> None:
    fault = tools.expect("curl-refused", ["curl", f"http://127.0.0.1:{closed_port}/"])
    assert f"sudo ss -ltnp sport = :{closed_port}" in fault.check


def test_a_scheme_that_does_not_exist_is_told_by_curl(tools: Any) -> None:
    tools.expect("curl-bad-url", ["curl", "htps://127.0.0.1/"])


def test_a_404_is_told_by_curl_and_wget(tools: Any, http_port: int) -> None:
    url = f"http://127.0.0.1:{http_port}/nope"
    assert "404" in tools.expect("curl-http-error", ["curl", "-f", url]).cause
    assert "404" in tools.expect("wget-http-error", ["wget", "-O-", url]).cause


def test_https_to_a_plain_port_is_told_by_curl(tools: Any, http_port: int) -> None:
    tools.expect("curl-tls", ["curl", f"https://127.0.0.1:{http_port}/"])


def test_a_self_signed_certificate_is_told_by_curl_and_wget(tools: Any, https_port: int) -> None:
    url = f"https://localhost:{https_port}/"
    fault = tools.expect("curl-certificate", ["curl", url])
    assert "self" in fault.cause
    assert not any("-k" in line.split() or "--insecure" in line for line in fault.fix)
    tools.expect("wget-certificate", ["wget", "-O-", url])


def test_an_empty_answer_is_told_by_curl(tools: Any, hang_up_port: int) -> None:
    tools.expect("curl-empty-reply", ["curl", f"http://127.0.0.1:{hang_up_port}/"])


def test_a_closed_port_is_told_by_wget(tools: Any, closed_port: int) -> None:
    tools.expect("wget-failed", ["wget", "--tries=1", "-O-", f"http://127.0.0.1:{closed_port}/"])


def test_a_file_of_another_kind_is_told_by_openssl(tools: Any) -> None:
    tools.write({"key.pem": "not a certificate\n"})
    tools.expect("openssl-unreadable", ["openssl", "x509", "-in", "key.pem"])


def test_a_self_signed_certificate_does_not_verify(tools: Any, https_port: int) -> None:
    tools.expect("openssl-verify", ["openssl", "verify", "cert.pem"])
