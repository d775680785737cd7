"""What an exception of the SDK or its HTTP client means. Imports the SDK, so it is loaded on the first call only.

Invariant: the exceptions hold the request with the key in it, so none of them is ever chained to what leaves here.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
import httpx2
from openai import APIStatusError, OpenAIError

from neocode.providers.openai.endpoint import Endpoint
from neocode.providers.openai.errors import Caller, from_detail, read_detail
from neocode.providers.openai.failure import Failure, failure
from neocode.providers.openai.retry import parse_retry_after
from neocode.providers.openai.stream import BASE_URL_HINT

# What the client raises while a body is read; the last two escape it unmapped (the SDK catches them too).
BODY_ERRORS = (httpx2.RequestError, httpx2.StreamError, ssl.SSLError, anyio.EndOfStream)
CALL_ERRORS = (OpenAIError, *BODY_ERRORS)


def of_exception(error: Exception, who: Caller, endpoint: Endpoint) -> Failure:
    """Judge anything of CALL_ERRORS."""
    if isinstance(error, APIStatusError):
        return _of_status(error, who)
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return _of_dns(cause, who, endpoint)
        if isinstance(cause, ssl.SSLError):
            return _of_tls(cause, who)
        if isinstance(cause, httpx2.ProxyError):
            return failure(
                f"{who.name}: {_proxy(endpoint)} refused the connection: {who.clean(str(cause))}", PROXY_HINT
            )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return _of_refusal(who, endpoint)
    if any(isinstance(cause, httpx2.DecodingError) for cause in causes):
        return failure(f"{who.name}: {who.where} sent a compressed answer that cannot be unpacked", "ask again")
    if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
        what = f"no connection to {who.where}{_through(endpoint)}: {_reason(causes, who)}"
        return failure(f"{who.name}: {what}", "check the network and base_url", retry=not endpoint.loopback)
    if any(isinstance(cause, httpx2.TimeoutException) for cause in causes):
        return failure(f"{who.name}: {who.where} fell silent", "try again", code="TIMEOUT", kind="timeout", retry=True)
    return failure(f"{who.name}: the connection to {who.where} broke: {_reason(causes, who)}", "ask again", retry=True)


PROXY_HINT = "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the gateway daemon's environment"


def _of_status(error: APIStatusError, who: Caller) -> Failure:
    status, headers = error.status_code, error.response.headers
    if 300 <= status < 400:
        return _of_redirect(headers.get("location", ""), status, who)
    raw = error.response.content.decode("utf-8", "replace")
    judged = from_detail(who, status, read_detail(raw), parse_retry_after(headers))
    if headers.get("x-should-retry", "").lower() == "false":
        judged.retry = False
    return judged


def _of_redirect(location: str, status: int, who: Caller) -> Failure:
    try:
        target = urlsplit(location)
        shown = f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}" if target.netloc else target.path
    except ValueError:
        shown = "an address that is no URL"
    return failure(
        f"{who.name}: {who.where} redirects ({status}) to {who.clean(shown)}, where neither key nor prompt is sent",
        "if that is right, make it the base_url",
    )


def _of_dns(cause: socket.gaierror, who: Caller, endpoint: Endpoint) -> Failure:
    host = _proxy(endpoint) if _proxy_url(endpoint) else who.where
    again = cause.errno == socket.EAI_AGAIN
    what = "the name server does not answer" if again else "no such host name"
    return failure(f"{who.name}: cannot find {host}: {what}", "check base_url, the network and DNS", retry=again)


def _of_tls(cause: ssl.SSLError, who: Caller) -> Failure:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return failure(
            f"{who.name}: the TLS certificate of {who.where} is not trusted: {who.clean(cause.verify_message)}",
            "set SSL_CERT_FILE to your organisation's CA bundle and run `neocode gateway restart`",
        )
    reason = who.clean(str(cause.reason or cause).replace("_", " ").lower())
    return failure(f"{who.name}: no TLS connection to {who.where}: {reason}", "does it speak https? check base_url")


def _of_refusal(who: Caller, endpoint: Endpoint) -> Failure:
    if endpoint.loopback:
        return failure(
            f"{who.name}: nothing listens on {who.where} (connection refused)",
            "is the local server running? e.g. `ollama serve`",
        )
    via = _through(endpoint)
    hint = PROXY_HINT if via else "check base_url and whether the server runs"
    return failure(f"{who.name}: {who.where} refused the connection{via}", hint, retry=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error`, what it was raised from, and the members of groups on the way, each once."""
    todo: list[BaseException] = [error]
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        yield at
        todo.extend(cause for cause in (at.__context__, at.__cause__) if cause is not None)
        todo.extend(getattr(at, "exceptions", ()))


def _reason(causes: list[BaseException], who: Caller) -> str:
    """The operating system's words if there are any, else the HTTP client's."""
    for cause in causes:
        if isinstance(cause, OSError) and cause.strerror:
            return who.clean(cause.strerror.lower())
    texts = [str(cause) for cause in causes if isinstance(cause, httpx2.HTTPError) and str(cause)]
    return who.clean(texts[0]) if texts else "it ended early"


def _proxy_url(endpoint: Endpoint) -> str:
    """The proxy in the environment that a request to `endpoint` takes, or nothing."""
    if endpoint.loopback or proxy_bypass(endpoint.host):
        return ""
    proxies = getproxies()
    return proxies.get(endpoint.scheme) or proxies.get("all") or ""


def _proxy(endpoint: Endpoint) -> str:
    """The proxy's host and port, without the password that its URL may hold."""
    return f"the proxy {_proxy_url(endpoint).rpartition('@')[2].rpartition('//')[2].rstrip('/')}"


def _through(endpoint: Endpoint) -> str:
    return f" through {_proxy(endpoint)}" if _proxy_url(endpoint) else ""


def not_an_api(who: Caller) -> Failure:
    """The body of an answer with status 200 is not what the API sends."""
    return failure(f"{who.name}: {who.where} answered with something that is not its API", BASE_URL_HINT)
