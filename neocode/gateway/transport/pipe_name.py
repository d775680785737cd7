"""Names of pipes, without Windows. Invariant: no address leads to another machine: opening `\\\\server\\pipe\\x` would
hand that server our credentials.
"""

from __future__ import annotations

import hashlib
import os

from neocode.errors import ConfigError

PREFIX = "\\\\.\\pipe\\"
MAX_NAME_CHARS = 256  # CreateNamedPipeW, of the whole name
HINT = f"name it like {PREFIX}NAME"


def pipe_name(address: str) -> str:
    """The name behind the prefix; "" when `address` is no pipe of this machine."""
    plain = address.replace("/", "\\")
    return plain[len(PREFIX) :] if plain.lower().startswith(PREFIX) else ""


def full_address(address: str) -> str:
    """`\\\\.\\pipe\\NAME` for itself, for the same with slashes, and for a bare `NAME`.

    Raises:
        ConfigError: a path, another machine's pipe, or a name that no pipe can have.
    """
    name = pipe_name(address) or address
    if not name.strip() or any(char in name for char in '\\/:*?"<>|') or not name.isprintable():
        raise ConfigError(f"{address!r} is not the name of a pipe on this machine", HINT)
    if len(PREFIX + name) > MAX_NAME_CHARS:
        raise ConfigError(f"the pipe's name has more than {MAX_NAME_CHARS} characters", HINT)
    return PREFIX + name


def user_address(sid: str, *, elevated: bool, home: str = "") -> str:
    """The address of a user's gateway: `neocode-gateway-<first 16 hex of sha256(SID)>`.

    `home` ($NEOCODE_HOME) and `elevated` make it another one: a home has its own token, and an ordinary process may
    not look at an elevated one to see whose it is.
    """
    parts = [sid, *([os.path.normcase(os.path.abspath(home))] if home else []), *(["elevated"] if elevated else [])]
    return f"{PREFIX}neocode-gateway-{hashlib.sha256('|'.join(parts).encode('utf-8', 'replace')).hexdigest()[:16]}"
