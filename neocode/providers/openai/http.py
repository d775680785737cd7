"""The SDK's client as we use it: its requests and connections, none of its environment, redirects or retries.

Imports the SDK (half a second), so it is loaded on the first call only. Invariants: every request passes `_guard`,
which drops all headers but a few and sets the key itself, and only for the configured origin; the bytes read of any
response are bounded.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import anyio
import httpx2
import msgspec
from openai import APIStatusError, AsyncOpenAI, AsyncStream

import neocode
from neocode.errors import ProviderError
from neocode.providers.openai.endpoint import Endpoint
from neocode.providers.openai.failure import OversizeError
from neocode.providers.openai.keys import ApiKey

MAX_CONNECTIONS = 64  # eight calls run at once; the rest is room for checks
KEEPALIVE_SEC = 30.0
MAX_ERROR_BYTES = 64 * 1024  # of an error page; what matters stands at its start
MAX_BODY_BYTES = 64 * 1024 * 1024  # a token is a chunk of some 250 bytes, and 256 Ki characters are the longest answer
MAX_REDIRECTS = 3
KEPT_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "transfer-encoding"}
)
NO_KEY = "none"  # the SDK wants some key, or takes OPENAI_API_KEY from the environment; `_guard` drops it


class Outgoing(msgspec.Struct, frozen=True):
    """What the request in hand needs besides its body: the key, and who wants to know that it is being sent."""

    key: ApiKey | None
    on_sending: Callable[[], None]


_outgoing: ContextVar[Outgoing] = ContextVar("neocode_openai_outgoing")


class Link:
    """The connections to one endpoint. Made in a worker thread, since it reads the CA bundle."""

    def __init__(self, endpoint: Endpoint, connect_timeout: float, read_timeout: float) -> None:
        self._endpoint = endpoint
        timeout = httpx2.Timeout(read_timeout, connect=connect_timeout, pool=connect_timeout)
        try:
            self._http = httpx2.AsyncClient(
                verify=_tls_context(endpoint),
                trust_env=not endpoint.loopback,  # proxies, and they never see what goes to this machine
                follow_redirects=False,
                timeout=timeout,
                limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEPALIVE_SEC),
                event_hooks={"request": [self._guard], "response": [_bound]},
            )
        except (ImportError, ValueError):  # SOCKS without its package, or no URL; the text may hold a password
            raise ProviderError(
                "PROVIDER_ERROR",
                "the proxy in the gateway daemon's environment is none that can be used",
                "give HTTPS_PROXY as http://host:port and run `neocode gateway restart`",
            ) from None
        self._sdk = AsyncOpenAI(
            api_key=NO_KEY,
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=endpoint.base_url,
            default_query=endpoint.query,
            max_retries=0,
            http_client=self._http,
        )
        for name in ("openai", "httpx2", "httpcore2"):  # OPENAI_LOG turns on debug output; addresses are private
            logging.getLogger(name).setLevel(logging.WARNING)

    async def open(self, path: str, body: dict[str, Any] | None, outgoing: Outgoing) -> httpx2.Response:
        """POST `body` (GET without one); return the response with its body unread, for the caller to close.

        Raises what the SDK and its client raise, and ProviderError when the request may not be sent.
        """
        token = _outgoing.set(outgoing)
        try:
            for _ in range(MAX_REDIRECTS):
                try:
                    return await self._send(path, body)
                except APIStatusError as error:
                    path = self._redirected(error)
                    if not path:
                        raise
            return await self._send(path, body)
        finally:
            _outgoing.reset(token)

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        await self._http.aclose()

    async def _send(self, path: str, body: dict[str, Any] | None) -> httpx2.Response:
        response: httpx2.Response
        if body is None:
            response = await self._sdk.get(path, cast_to=httpx2.Response, stream=True, stream_cls=_RAW)
        else:
            response = await self._sdk.post(path, cast_to=httpx2.Response, body=body, stream=True, stream_cls=_RAW)
        return response

    def _redirected(self, error: APIStatusError) -> str:
        """Where a 307 or 308 within the origin leads; a 301, 302 or 303 would turn the POST into a GET."""
        following = error.response.next_request
        if error.status_code not in (307, 308) or following is None:
            return ""
        url = following.url
        return str(url) if self._endpoint.may_send(url.scheme, url.host, url.port) else ""

    async def _guard(self, request: httpx2.Request) -> None:
        outgoing = _outgoing.get()
        url = request.url
        if not self._endpoint.may_send(url.scheme, url.host, url.port):
            raise ProviderError(
                "PROVIDER_ERROR", f"a request to {self._endpoint.where} would have gone elsewhere", "check base_url"
            )
        for name in list(request.headers):
            if name not in KEPT_HEADERS:
                del request.headers[name]
        request.headers["user-agent"] = f"neocode-shell/{neocode.__version__}"
        request.headers["accept-encoding"] = "identity"  # a compressor may hold back tokens
        if outgoing.key is not None:
            self._endpoint.refuse_key_in_the_clear()
            name, value = self._endpoint.auth_header(outgoing.key.reveal())
            request.headers[name] = value

        request.extensions = {**request.extensions, "trace": _tracer(outgoing.on_sending)}


def _tracer(on_sending: Callable[[], None]) -> Callable[[str, dict[str, Any]], Awaitable[None]]:
    """httpcore's trace hook: tells when the request goes out, and closes a connection whose TLS start was cancelled,
    which httpcore forgets (it does so on errors only).
    """
    connection: Any = None

    async def trace(event: str, info: dict[str, Any]) -> None:
        nonlocal connection
        if event == "connection.connect_tcp.complete":
            connection = info["return_value"]
        elif event.endswith(".start_tls.failed") and connection is not None:
            with anyio.CancelScope(shield=True):
                await connection.aclose()
        elif event == "http11.send_request_headers.started" and info["request"].method != b"CONNECT":
            on_sending()

    return trace


_RAW: Any = AsyncStream[Any]  # asked for by the SDK's signature, unused when the response itself is wanted


def _tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """The system's trust, or SSL_CERT_FILE / SSL_CERT_DIR. Raises ProviderError when those cannot be read."""
    if endpoint.loopback and endpoint.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used; trusting nobody takes no 50 ms to set up
    try:
        return httpx2.create_ssl_context(trust_env=True)
    except (OSError, ssl.SSLError) as error:
        reason = " ".join(str(error).split())
        raise ProviderError(
            "PROVIDER_ERROR", f"the CA bundle cannot be used: {reason}", "check SSL_CERT_FILE and SSL_CERT_DIR"
        ) from None


class _Bounded(httpx2.AsyncByteStream):
    """A response's raw bytes up to a limit; then they end, or, when `strict`, raise OversizeError."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, strict: bool) -> None:
        self._inner = inner
        self._left = limit
        self._strict = strict

    async def __aiter__(self) -> AsyncIterator[bytes]:
        source: Any = self._inner.__aiter__()
        async with contextlib.AsyncExitStack() as stack:
            if hasattr(source, "aclose"):
                stack.push_async_callback(source.aclose)
            async for piece in source:
                if len(piece) > self._left:
                    if self._strict:
                        raise OversizeError
                    yield piece[: self._left]
                    return
                self._left -= len(piece)
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Put a limit on what is read of any response. The SDK reads error bodies whole."""
    inner = response.stream
    assert isinstance(inner, httpx2.AsyncByteStream)
    ok = response.status_code < 300
    response.stream = _Bounded(inner, MAX_BODY_BYTES if ok else MAX_ERROR_BYTES, strict=ok)
