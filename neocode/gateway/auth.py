"""The gateway's token file. Invariants: 0600, one link, no symlink, ours; written whole or not at all; the token is
never in a message.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import stat
import sys
import time
from pathlib import Path

import msgspec

from neocode.errors import ConfigError
from neocode.gateway import transport
from neocode.gateway.places import ensure_parent

VERSION = 1
TOKEN_BYTES = 32
TOKEN_CHARS = 43  # base64url of 32 bytes without padding
MAX_FILE_BYTES = 4096  # ours has 200
POLL_SEC = 0.02
LOCK_WAIT_SEC = 5.0  # another daemon holds the lock for one small write


class TokenMissing(ConfigError):
    """There is no token file (yet)."""


class _AuthFile(msgspec.Struct, frozen=True):
    version: int
    token: str
    created_at: str
    updated_at: str


def read_token(path: Path) -> str:
    """The token in `path`.

    Raises:
        TokenMissing: no such file.
        ConfigError: a symlink, a file with several links, not ours, open to others, unreadable, or not a token file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise TokenMissing(f"the token file {path} is missing", "neocode gateway restart makes a new one") from None
    except OSError as error:
        if os.path.islink(path):
            raise ConfigError(f"the token file {path} is a symlink", "replace it by a file of your own") from None
        raise ConfigError(f"cannot read the token file {path}: {error.strerror}", "check its mode") from error
    try:
        _check(path, os.fstat(fd))
        raw = os.read(fd, MAX_FILE_BYTES)
    finally:
        os.close(fd)
    try:
        content = msgspec.json.decode(raw, type=_AuthFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        content = None
    if content is None or content.version != VERSION or len(content.token) != TOKEN_CHARS:
        raise ConfigError(f"{path} is not a gateway token file", "remove it, then run neocode gateway restart")
    return content.token


async def wait_for_token(path: Path, timeout: float) -> str:
    """`read_token`, waiting up to `timeout` seconds for a file that a starting daemon is about to make."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return read_token(path)
        except TokenMissing:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(POLL_SEC)


async def load_or_create_token(path: Path) -> str:
    """The token in `path`, made first if there is none. Two daemons that share the file get the same one.

    Raises:
        ConfigError: as `read_token`, or the file cannot be made.
    """
    ensure_parent(path)
    try:
        return read_token(path)
    except TokenMissing:
        pass
    lock = await _lock(path)
    try:
        return read_token(path)
    except TokenMissing:
        return _create(path)
    finally:
        lock.release()


def tokens_equal(given: str, expected: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


async def _lock(path: Path) -> transport.Lock:
    deadline = time.monotonic() + LOCK_WAIT_SEC
    while True:
        lock = transport.acquire_lock(str(path))
        if lock is not None:
            return lock
        if time.monotonic() >= deadline:
            raise ConfigError(f"another program holds {path}.lock", "stop it, or name another token file")
        await asyncio.sleep(POLL_SEC)


def _create(path: Path) -> str:
    # only the daemon makes tokens; clients count milliseconds
    import secrets

    from neocode.filewrite import replace_file
    from neocode.timestamps import rfc3339

    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = rfc3339(time.time())
    replace_file(path, msgspec.json.encode(_AuthFile(VERSION, token, now, now)) + b"\n")
    return token


if sys.platform == "win32":
    _NOFOLLOW = 0

    def _check(path: Path, info: os.stat_result) -> None:
        if not stat.S_ISREG(info.st_mode) or path.is_symlink():
            raise ConfigError(f"the token file {path} is not a regular file", "replace it by a file of your own")
        if info.st_nlink > 1:
            raise ConfigError(f"the token file {path} has more than one hard link", "remove it")
        from conpty import security

        try:
            foreign, strangers = security.is_foreign(str(path)), security.strangers(str(path))
        except OSError as error:
            raise ConfigError(f"cannot tell who may read {path}: {error.strerror}", "check its owner") from error
        if foreign:
            raise ConfigError(f"the token file {path} belongs to another user", "name another with --token-file")
        if strangers:
            raise ConfigError(
                f"the token file {path} is open to other users ({', '.join(strangers)})",
                "remove it, then run neocode gateway restart",
            )

else:
    _NOFOLLOW = os.O_NOFOLLOW

    def _check(path: Path, info: os.stat_result) -> None:
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError(f"the token file {path} is not a regular file", "replace it by a file of your own")
        if info.st_nlink > 1:
            raise ConfigError(f"the token file {path} has more than one hard link", "remove it")
        if info.st_uid != os.geteuid():
            raise ConfigError(f"the token file {path} belongs to another user", "name another with --token-file")
        if info.st_mode & 0o077:
            raise ConfigError(f"the token file {path} is open to other users", f"chmod 600 {path}")
