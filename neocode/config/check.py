"""What a configuration's values may be beyond their types.

Invariant: no message repeats a value that may be a secret.
"""

from __future__ import annotations

import re

from neocode.config import OFFLINE, Config, ProviderConfig
from neocode.errors import ConfigError

KEY_HINT = "name the variable with --api-key-env NAME, or the 0600 file that holds the key with --api-key-file PATH"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
_KEY_PREFIX = re.compile(r"(?:(?:sk|gsk|xai|hf|r8|pplx|nvapi|ghp|gho|github_pat|glpat)[-_]|AIza|eyJ)")
_API_VERSION = re.compile(r"api-version=[0-9A-Za-z.-]{1,32}")
KEY_MIN_CHARS = 20  # no vendor's key is shorter; few variable names without an underscore are longer


def check(config: Config, source: str) -> None:
    """Raise ConfigError, naming `source` and the dotted key, for a value that cannot work."""
    for name, provider in config.providers.items():
        where = f"{source}: providers.{name}"
        problem = name_problem(name)
        if problem:
            raise ConfigError(f"{where}: {problem}")
        check_provider(provider, where)
    if config.provider != OFFLINE and config.provider not in config.providers:
        known = ", ".join([OFFLINE, *sorted(config.providers)])
        raise ConfigError(f"{source}: provider: no provider is named {config.provider!r}", f"known: {known}")
    for index, pattern in enumerate(config.redact.patterns):
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            where = f"{source}: redact.patterns: number {index + 1}"
            raise ConfigError(f"{where} is no regular expression: {error}") from None


def name_problem(name: str) -> str:
    """Why `name` cannot name a provider; empty when it can."""
    if name == OFFLINE:
        return "the name offline is reserved for the built-in provider"
    if not _NAME.fullmatch(name):
        return "a provider's name is 1 to 64 letters, digits, dots, dashes or underscores"
    return ""


def check_provider(provider: ProviderConfig, where: str) -> None:
    """Raise ConfigError for an endpoint that cannot be called; `where` names the file and the entry."""
    for key in ("base_url", "model"):
        if not getattr(provider, key).strip():
            raise ConfigError(f"{where}.{key}: missing")
    problem = url_problem(provider.base_url)
    if problem:
        raise ConfigError(f"{where}.base_url: {problem}")
    for key in ("api_key_env", "api_key_file"):
        if looks_like_key(getattr(provider, key), path=key == "api_key_file"):
            message = "this looks like a key itself, and keys do not belong into the config"
            raise ConfigError(f"{where}.{key}: {message}", KEY_HINT)
    if provider.api_key_env and not _ENV_NAME.fullmatch(provider.api_key_env):
        raise ConfigError(f"{where}.api_key_env: not the name of an environment variable", KEY_HINT)


def looks_like_key(value: str, *, path: bool) -> bool:
    """Whether `value` is a secret pasted in place of a variable's name or (`path`) a file's."""
    if value.startswith(("sk-", "gsk-", "xai-", "pplx-", "nvapi-", "glpat-")):
        return True
    mixed = any(c.isdigit() for c in value) and any(c.islower() for c in value)
    if len(value) < KEY_MIN_CHARS or not mixed:
        return False
    return _KEY_PREFIX.match(value) is not None or not (path or "_" in value)


def url_problem(url: str) -> str:
    """Why `url` cannot be an endpoint's base URL; empty when it can."""
    from urllib.parse import urlsplit  # 2 ms, only where there are providers

    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "a URL holds no spaces, backslashes, control or non-ASCII characters"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "not a URL"
    if parts.scheme not in ("http", "https") or not host:
        return "expected http://HOST... or https://HOST..."
    if parts.username is not None or parts.password is not None:
        return f"holds credentials; {KEY_HINT}"
    if parts.fragment or not _is_api_version(parts.query):
        return f"ends before ? and # (but for Azure's api-version); if that was a key, {KEY_HINT}"
    return ""


def _is_api_version(query: str) -> bool:
    """Whether `query` is empty or nothing but the version that Azure wants with each request."""
    return not query or _API_VERSION.fullmatch(query) is not None
