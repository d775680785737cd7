"""Secrets that show by where they stand: HTTP headers, credentials in URLs, arguments of well-known commands.
Invariant: what tells the reader where the secret was (the scheme, the user, the host) stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptyproxy.redact.finder import FILLER, Span, compiled

_OPEN = r"\\{0,4}[\"'`]?\]?[ \t]*[:=][ \t]*(?:b?\\{0,4}[\"'`]|\[)?[ \t]*"
_AUTHORIZATION = (
    rf"(?:proxy-)?authorization{_OPEN}"
    r"(?:(?P<many>digest|aws4-hmac-sha256|oauth|hawk|hmac\w*|signature)[ \t]+(?P<rest>[^\n`]+)"
    r"|(?:bearer|basic|token|negotiate|ntlm|api-?key|key|bot|sso-key|splunk|dpop|github-bearer)[ \t]+"
    r"(?P<one>[^\s\"'`\]\\,;]+)"
    r"|(?P<bare>[^\s\"'`\]\\,;]+))"
)
_COOKIE = rf"(?:set-)?cookie2?{_OPEN}(?P<value>[^\s=\"'`;,]{{1,80}}=[^\n\"'`\]\\]+)"
# user:password@ of a URL; a `:port/` with an @ further on (scoped npm packages) is none
_URL = (
    r"://(?P<user>[^\s/:@?#\"'<>`]{0,200}):(?!\d{1,5}(?:/|$))"
    r"(?P<password>[^\s\"'<>`@]{1,500}(?:@[^\s\"'<>`@/:?]+(?=@))*)@"
)
_URL_TOKEN = r"://(?P<token>[A-Za-z0-9_-]{20,200})@"

# One command each: a word that the text holds, and the pattern whose group `value` is the secret.
_ARG = r"(?:\"[^\"\n]+\"|'[^'\n]+'|[^\s\"';|&]+)"
_COMMANDS = (
    (
        "curl",
        r"\bcurl\b[^\n|;]{0,400}?\s(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']+)",
    ),
    ("http", r"\bhttps?\b[^\n|;]{0,400}?\s(?:-a|--auth)[ =]?[\"']?[^\s:\"']{1,100}:(?P<value>[^\s\"']+)"),
    ("wget", rf"\bwget\b[^\n|;]{{0,400}}?\s--(?:http-|ftp-)?password[ =](?P<value>{_ARG})"),
    ("mysql", rf"\bmysql\w*\b[^\n|;]{{0,400}}?\s-p(?P<value>{_ARG})"),
    ("mariadb", rf"\bmariadb[\w-]*\b[^\n|;]{{0,400}}?\s-p(?P<value>{_ARG})"),
    ("sshpass", rf"\bsshpass\b[^\n|;]{{0,40}}?\s-p ?(?P<value>{_ARG})"),
    ("redis-cli", rf"\bredis-cli\b[^\n|;]{{0,400}}?\s-a (?P<value>{_ARG})"),
    ("login", rf"\b(?:docker|podman|helm|oc|az)\b[^\n|;]{{0,60}} login\b[^\n|;]{{0,400}}?\s-p[ =]?(?P<value>{_ARG})"),
    ("7z", rf"\b7za?\b[^\n|;]{{0,400}}?\s-p(?P<value>{_ARG})"),
    ("zip", rf"\b(?:un)?zip\b[^\n|;]{{0,400}}?\s-P ?(?P<value>{_ARG})"),
    ("openssl", rf"\bopenssl\b[^\n|;]{{0,400}}?\bpass:(?P<value>{_ARG})"),
    ("convertto-securestring", rf"(?i)\bConvertTo-SecureString\s+(?:-String\s+)?(?!-|\$)(?P<value>{_ARG})"),
    ("login", r"(?i)\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<value>\S+)"),
    ("identified", r"(?i)\bidentified\s+(?:with\s+\S+\s+)?by\s+(?:password\s+)?(?P<value>'[^'\n]+'|\"[^\"\n]+\")"),
    ("@tcp(", r"(?<![\w/])[\w.-]{1,64}:(?P<value>[^\s@:/\"']{1,200})@tcp\("),
)
_SQL_PASSWORD = r"(?i)\b(?:user|role|login|with|encrypted)\s[^\n;]{0,80}?\bpassword\s+(?P<value>'[^'\n]+')"
_BEARER = r"\bbearer\s+(?P<value>[a-z0-9._~+/=-]{16,})"

_PLACEHOLDER = (
    r"<[^<>]*>|\$\{[^{}]*\}?|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+(?:->\w+)*|\$\(.*|\$env:\w+|%[A-Za-z_]\w*%"
    r"|\{\{?[^{}]*\}?\}|\[[A-Za-z _-]+\]?|\([A-Za-z _-]+\)?"
    r"|[A-Z_]*(?:PASSWORD|PASSWD|PASS|TOKEN|SECRET|KEY)"
    r"|(?:your|my|the|insert|enter|replace)[-_ ]?\w*[-_ ](?:here|token|key|password|secret)[\w-]*"
    r"|(?i:redacted|hidden|masked|filtered)"
    r"|(?i:null|nil|none|undefined|true|false|yes|no|n/a|basic|bearer|not[-_ ]set|unset|empty)"
)


def find(text: str) -> Iterator[Span]:
    """Spans of what stands in such a place and is not a placeholder."""
    low = ascii_lower(text)
    for start, end, kind in _candidates(text, low):
        if not is_placeholder(text[start:end].strip("\"'")):
            yield start, end, kind


def ascii_lower(text: str) -> str:
    """`text` in lower case with every character where it was (full lower-casing may lengthen a text)."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if c.isascii() else c for c in text)


def is_placeholder(value: str) -> bool:
    """Whether `value` stands for a secret and is none: masked, a variable, `<token>`, `xxxx`."""
    if not value.strip(FILLER + "*xX.•-_+ \t"):
        return True
    if "***" in value or "•••" in value:
        return True
    return bool(compiled(_PLACEHOLDER).fullmatch(value.strip()))


def _candidates(text: str, low: str) -> Iterator[Span]:
    if "authorization" in low:
        for match in compiled(_AUTHORIZATION).finditer(low):
            yield from _authorization(match)
    if "bearer" in low:
        for match in compiled(_BEARER).finditer(low):
            if compiled(r"\d").search(match.group("value")):
                yield *match.span("value"), "bearer-token"
    if "cookie" in low:
        for match in compiled(_COOKIE).finditer(low):
            yield *match.span("value"), "cookie"
    if "://" in text and "@" in text:
        for match in compiled(_URL).finditer(text):
            yield *match.span("password"), "url-password"
        for match in compiled(_URL_TOKEN).finditer(text):
            if compiled(r"\d").search(match.group("token")):
                yield *match.span("token"), "url-token"
    for word, pattern in _COMMANDS:
        if word in low:
            for match in compiled(pattern).finditer(text):
                yield *match.span("value"), "password"
    if "password" in low:
        for match in compiled(_SQL_PASSWORD).finditer(text):
            yield *match.span("value"), "password"


def _authorization(match: re.Match[str]) -> Iterator[Span]:
    if match.group("many"):
        yield *match.span("rest"), "authorization"
    elif match.group("one"):
        yield *match.span("one"), "authorization"
    elif (
        len(match.group("bare")) >= 8
        and "[" not in match.group("bare")
        and compiled(r"\d|[a-z]+[^a-z\s]+[a-z]").search(match.group("bare"))
    ):
        yield *match.span("bare"), "authorization"
