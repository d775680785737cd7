"""Where a provider's requests go, and whether a key may go there.

Invariant: a key travels over https to the configured origin, or over http to this machine itself, and nowhere else.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qsl, urlsplit

import msgspec

from neocode.errors import ProviderError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_PORTS = {"http": 80, "https": 443}
COMPLETIONS_PATH = "/chat/completions"
UNKNOWN_ORIGIN = "unknown"
AZURE_DOMAINS = (".azure.com", ".azure-api.net", ".azure.us", ".azure.cn")


class Endpoint(msgspec.Struct, frozen=True):
    """A parsed base URL. `base_url` has neither query nor trailing slash; `query` goes on every request."""

    base_url: str
    scheme: str
    host: str
    port: int
    query: dict[str, str]

    @property
    def where(self) -> str:
        """Host, and port unless it is the scheme's own, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine."""
        return is_loopback(self.host)

    @property
    def azure(self) -> bool:
        """Azure OpenAI, which wants the key in a header of its own."""
        return "api-version" in self.query or self.host.endswith(AZURE_DOMAINS)

    @property
    def openai(self) -> bool:
        """OpenAI itself (and Azure, which runs the same service)."""
        return self.azure or self.host == "openai.com" or self.host.endswith(".openai.com")

    @property
    def models_path(self) -> str:
        """Path of the model list below `base_url`; Azure's deployments have theirs at the resource."""
        root, deployments, _ = self.base_url.partition("/deployments/")
        return f"{root}/models" if deployments else "/models"

    def auth_header(self, key: str) -> tuple[str, str]:
        """Name and value of the header that carries `key` here."""
        return ("api-key", key) if self.azure else ("authorization", f"Bearer {key}")

    def may_send(self, scheme: str, host: str, port: int | None) -> bool:
        """Whether a request to this origin is one to this endpoint."""
        host = host.lower().strip("[]")
        return (scheme, host, port or DEFAULT_PORTS.get(scheme)) == (self.scheme, self.host, self.port)

    @property
    def in_the_clear(self) -> bool:
        """Whether what is sent here crosses a network unencrypted."""
        return self.scheme != "https" and not self.loopback

    def refuse_key_in_the_clear(self) -> None:
        """Raise ProviderError when a key sent here would cross a network unencrypted."""
        if self.in_the_clear:
            raise ProviderError(
                "PROVIDER_ERROR",
                f"the API key is not sent to {self.where} over plain http, where others can read it",
                "use an https:// base_url or a tunnel that ends on 127.0.0.1",
            )


def is_loopback(host: str) -> bool:
    """`localhost`, 127.0.0.0/8 and ::1. Private ranges are other machines; so are odd spellings of addresses."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def parse_endpoint(base_url: str) -> Endpoint:
    """Parse a configured base URL; empty means OpenAI. Raises ProviderError, which never repeats the URL."""
    text = base_url.strip() or DEFAULT_BASE_URL
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise _bad("holds characters that do not belong in a URL")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _bad("is not a URL") from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise _bad("does not start with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise _bad("holds a user name or password; keys belong in a variable or a 0600 file")
    path = parts.path.rstrip("/")
    if path.endswith(COMPLETIONS_PATH):
        path = path[: -len(COMPLETIONS_PATH)]
    return Endpoint(
        base_url=f"{parts.scheme}://{parts.netloc}{path}",
        scheme=parts.scheme,
        host=parts.hostname.lower(),
        port=port or DEFAULT_PORTS[parts.scheme],
        query=dict(parse_qsl(parts.query)),
    )


def origin_of(base_url: str) -> str:
    """Where a provider's requests go, as scheme, host and port; empty for this machine.

    An address that cannot be read counts as far away: `UNKNOWN_ORIGIN`.
    """
    try:
        endpoint = parse_endpoint(base_url)
    except ProviderError:
        return UNKNOWN_ORIGIN
    return "" if endpoint.loopback else f"{endpoint.scheme}://{endpoint.where}"


def _bad(what: str) -> ProviderError:
    return ProviderError("PROVIDER_ERROR", f"the provider's base_url {what}", "give it like http://127.0.0.1:11434/v1")
