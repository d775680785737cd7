"""The API key: read at the time of the call, from a 0600 file or the environment of this process.

Invariant: a key that others could have read or planted, or that could break out of a header, is never used; the key
itself is in no message and in no repr.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from pathlib import Path

from neocode import paths
from neocode.config import ProviderConfig
from neocode.errors import ConfigError, ProviderError

MAX_KEY_FILE_BYTES = 16 * 1024  # real keys are under 2 KiB; a bigger file is some other file
HEADER_SAFE = re.compile(r"[\x21-\x7e]+")


class ApiKey:
    """A secret that does not show itself in logs and tracebacks. `source` says where it is from, for messages."""

    __slots__ = ("_value", "source")

    def __init__(self, value: str, source: str) -> None:
        self._value = value
        self.source = source

    def reveal(self) -> str:
        """The key itself, for the request header and for scrubbing."""
        return self._value

    def __repr__(self) -> str:
        return f"ApiKey(*** from {self.source})"


def read_key(config: ProviderConfig) -> ApiKey | None:
    """The configured key, None when none is configured; the file wins over the variable. Raises ProviderError."""
    if config.api_key_file:
        return _from_file(config.api_key_file)
    if config.api_key_env:
        return _from_env(config.api_key_env)
    return None


def _from_env(name: str) -> ApiKey:
    value = os.environ.get(name, "").strip()
    if not value:
        raise _refused(
            f"the variable {name} with the API key is not set in the gateway daemon's environment",
            "run `neocode gateway restart` from a shell that has it, or use --api-key-file",
        )
    return _checked(value, f"the variable {name}", f"set {name} again and run `neocode gateway restart`")


def _from_file(configured: str) -> ApiKey:
    path = _resolved(configured)
    source = f"the key file {path}"
    try:
        raw = _read_private(path)
    except OSError as error:
        raise _refused(f"cannot read {source}: {error.strerror or 'unreadable'}", "check api_key_file") from None
    if len(raw) > MAX_KEY_FILE_BYTES:
        raise _refused(f"{source} is too big to be a key", "put the key alone into the file")
    value = _decoded(raw).strip()
    if not value:
        raise _refused(f"{source} is empty", "put the key into it")
    return _checked(value, source, "put the key alone into the file, on one line")


def _resolved(configured: str) -> Path:
    """`~` and paths relative to our own home; the daemon's working directory means nothing to the user."""
    try:
        path = Path(os.path.expanduser(configured))
        return path if path.is_absolute() else paths.home() / path
    except ConfigError as error:
        raise _refused(error.message, error.hint) from None


def _read_private(path: Path) -> bytes:
    """At most one byte more than a key may have. O_NONBLOCK so that a pipe put there cannot hold the daemon."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    try:
        _require_private(path, os.fstat(descriptor))
        return os.read(descriptor, MAX_KEY_FILE_BYTES + 1)
    finally:
        os.close(descriptor)


def _require_private(path: Path, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise _refused(f"the key file {path} is not a regular file", "check api_key_file")
    _require_owner(path, info)


if sys.platform == "win32":

    def _require_owner(path: Path, info: os.stat_result) -> None:
        from conpty import security

        if security.is_foreign(str(path)):
            raise _refused(f"the key file {path} belongs to another user", "use a file of your own")
        readers = security.strangers(str(path))
        if readers:
            raise _refused(
                f"the key file {path} can be read by others ({', '.join(readers)})",
                f'run `icacls "{path}" /inheritance:r /grant:r "%USERNAME%:F"`',
            )

else:

    def _require_owner(path: Path, info: os.stat_result) -> None:
        if info.st_uid != os.geteuid():
            raise _refused(f"the key file {path} belongs to another user", "use a file of your own")
        if info.st_mode & 0o077:
            raise _refused(f"the key file {path} can be read by others", f"run `chmod 600 {path}`")


def _decoded(raw: bytes) -> str:
    """UTF-8, or what a byte order mark says: PowerShell 5.1's `>` writes UTF-16."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace")
    return raw.decode("utf-8-sig", "replace")


def _checked(value: str, source: str, hint: str) -> ApiKey:
    if not HEADER_SAFE.fullmatch(value):
        raise _refused(f"{source} holds spaces, control or non-ASCII characters, so it is no API key", hint)
    return ApiKey(value, source)


def _refused(message: str, hint: str) -> ProviderError:
    return ProviderError("PROVIDER_ERROR", message, hint)
