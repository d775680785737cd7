"""Where the gateway's files may lie. Invariant: a directory that other users can write to is refused, and a
directory that the user named himself is never changed, only judged.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from neocode import paths
from neocode.errors import ConfigError


def ensure_parent(path: Path) -> None:
    """Make the directory that `path` lies in fit for a socket, a lock or a token.

    One of our own is made or tightened to 0700; a missing one is made so; any other must belong to the user and
    be writable by nobody else.

    Raises:
        ConfigError: it is none of these.
    """
    parent = path.parent
    if parent in _own_directories() or not os.path.lexists(parent):
        paths.ensure_private_dir(parent)
        return
    try:
        info = os.stat(parent)
    except OSError as error:
        raise ConfigError(f"cannot use the directory {parent}: {error.strerror}", "name another path") from error
    if not stat.S_ISDIR(info.st_mode):
        raise ConfigError(f"{parent} is not a directory", "name another path")
    _require_safe(parent, info)


def _own_directories() -> tuple[Path, ...]:
    try:
        return (paths.home(), paths.run_dir(), paths.log_dir())
    except ConfigError:
        return ()


if sys.platform == "win32":

    def _require_safe(parent: Path, info: os.stat_result) -> None:
        from conpty import sddl, security

        try:
            foreign, writers = security.is_foreign(str(parent)), security.strangers(str(parent), sddl.WRITE)
        except OSError as error:
            raise ConfigError(f"cannot tell who may use {parent}: {error.strerror}", "name another path") from error
        if foreign:
            raise ConfigError(f"the directory {parent} belongs to another user", "name a path in one of yours")
        if writers:
            raise ConfigError(
                f"the directory {parent} can be written to by other users ({', '.join(writers)})",
                "name a path in one of yours",
            )

else:

    def _require_safe(parent: Path, info: os.stat_result) -> None:
        if info.st_uid != os.geteuid():
            raise ConfigError(f"the directory {parent} belongs to another user", "name a path in one of yours")
        if info.st_mode & 0o022:
            raise ConfigError(
                f"the directory {parent} can be written to by other users", f"chmod 700 {parent}, or name another"
            )
