"""A home with the real command line, and an endpoint that answers like an OpenAI-compatible one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cli import NeoHome, neo_home


@pytest.fixture
def home() -> Iterator[NeoHome]:
    with neo_home() as home:
        yield home


class Endpoint(BaseHTTPRequestHandler):
    """Offers two models and one token of chat; wants the key `secret-key`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != "Bearer secret-key":
            self._answer(401, {"error": {"message": "bad key", "code": "invalid_api_key"}})
        elif self.path == "/v1/models":
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in ("small", "large")]
            self._answer(200, {"object": "list", "data": models})
        else:
            self._answer(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        if self.headers.get("Authorization") != "Bearer secret-key":
            self._answer(401, {"error": {"message": "bad key", "code": "invalid_api_key"}})
            return
        head = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "small"}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "ok"}, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        ]
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self._send(200, "text/event-stream", body.encode())

    def _answer(self, status: int, body: object) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    """The base URL of a running endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
