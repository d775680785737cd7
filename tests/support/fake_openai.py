"""A real HTTP server on a free port of 127.0.0.1 that plays scripted bytes, for what real endpoints do wrong.

A script is one function per request; it gets the connection after the request was read and does what it likes with
it. The last function answers all further requests. What a script raises fails the test when the server is closed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

DEADLINE_SEC = 10.0  # nothing here takes longer unless something hangs


class Request(NamedTuple):
    """What a client sent; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """The server's end of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._file = sock.makefile("rb")

    def read_request(self) -> Request | None:
        """The next request, None when the client went away."""
        first = self._file.readline().decode("latin-1").split()
        if len(first) < 2:
            return None
        headers: dict[str, str] = {}
        while line := self._file.readline().strip().decode("latin-1"):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self._file.read(int(headers.get("content-length", 0)))
        return Request(first[0], first[1], headers, body)

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def head(self, status: str = "200 OK", content_type: str = "text/event-stream", **headers: str) -> None:
        """Status line and headers of a response whose body ends with the connection."""
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def wait_for_disconnect(self) -> bool:
        """Whether the client goes away before the deadline."""
        self.sock.settimeout(DEADLINE_SEC)
        try:
            return self._file.read(1) == b""
        except ConnectionError:
            return True
        except OSError:
            return False

    def reset(self) -> None:
        """Break the connection off, as a crash would."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        self._file.close()
        self.sock.close()


Script = Callable[[Connection], None]


class FakeServer:
    """Plays `script`; `requests` is what came in so far."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self._scripts: list[Script] = []
        self._problems: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._tls = tls
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}/v1"
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def script(self, *scripts: Script) -> None:
        """Say how to answer from now on."""
        with self._lock:
            self._scripts = list(scripts)

    def close(self) -> None:
        """Stop; raise what a script raised."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(DEADLINE_SEC)
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(DEADLINE_SEC)
            assert not thread.is_alive(), "a script hangs"
        if self._problems:
            raise self._problems[0]

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.settimeout(DEADLINE_SEC)
                plain = sock if self._tls is None else self._tls.wrap_socket(sock, server_side=True)
                self._sockets.append(plain)
                with plain:
                    connection = Connection(plain)
                    request = connection.read_request()
                    if request is not None:
                        self._next_script(request)(connection)
                        with contextlib.suppress(OSError):
                            plain.shutdown(socket.SHUT_WR)
            except (ConnectionError, ssl.SSLError):
                pass  # clients that go away are what many tests are about
            except BaseException as problem:
                self._problems.append(problem)

    def _next_script(self, request: Request) -> Script:
        with self._lock:
            self.requests.append(request)
            assert self._scripts, f"no script for {request.method} {request.target}"
            return self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]


@contextlib.contextmanager
def fake_server(tls: ssl.SSLContext | None = None) -> Iterator[FakeServer]:
    """A running server, closed at the end."""
    server = FakeServer(tls)
    try:
        yield server
    finally:
        server.close()


def chunk(content: str | None = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One event of a streamed completion."""
    if content is not None:
        delta["content"] = content
    return {"model": "served-model", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """The event that `stream_options.include_usage` asks for."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def sse(*events: dict[str, Any] | str, done: bool = True) -> bytes:
    """Events as the bytes of a stream; a string is put after `data:` as it is."""
    lines = [event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events]
    return "".join(f"data: {line}\n\n" for line in [*lines, *(["[DONE]"] if done else [])]).encode("utf-8")


def plays(body: bytes, status: str = "200 OK", content_type: str = "text/event-stream", **headers: str) -> Script:
    """Answer with exactly this body."""

    def script(connection: Connection) -> None:
        connection.head(status, content_type, **headers)
        connection.send(body)

    return script


def answers(*texts: str, finish: str = "stop") -> Script:
    """A regular streamed answer."""
    return plays(sse(chunk("", role="assistant"), *map(chunk, texts), chunk(finish=finish), usage(7, len(texts))))


def refuses(status: str, body: Any, **headers: str) -> Script:
    """An error response with a JSON body, or a text one."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8")
    return plays(raw, status, "application/json", Content_Length=str(len(raw)), **headers)
