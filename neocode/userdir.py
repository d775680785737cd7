"""The one directory that everything of ours is in, as plain strings: the user's first prompt waits for this, and
pathlib would cost it 5 ms. Everybody else uses `paths`.

Invariant: `make_private` never follows a symlink into someone else's directory and never widens a mode.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys

from neocode.errors import ConfigError

PRIVATE_DIR_MODE = 0o700
HOME_ENV = "NEOCODE_HOME"
RUN, STATE, CONFIG = "run", "state", "config.yaml"


def locate() -> str:
    """`~/.neocode`, or `$NEOCODE_HOME`. Raises ConfigError when no home directory is known."""
    override = os.environ.get(HOME_ENV)
    if override:
        return override
    base = os.environ.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
    if not base:
        try:
            base = os.path.expanduser("~")
        except (KeyError, RuntimeError):
            base = "~"
        if base.startswith("~"):
            raise ConfigError("no home directory is known", f"set HOME or {HOME_ENV}")
    if not os.path.isabs(base):
        raise ConfigError(f"the home directory {base!r} is not an absolute path", f"set HOME or {HOME_ENV}")
    return os.path.join(base, ".neocode")


def make_private(path: str) -> None:
    """Make `path` (and its parents) a 0700 directory of ours.

    Raises:
        ConfigError: it cannot be made, is no directory, is a symlink, or belongs to someone else.
    """
    try:
        parent = os.path.dirname(path)
        if parent and not os.path.isdir(parent):
            os.makedirs(os.path.dirname(parent) or parent, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                _make(parent)
        try:
            _make(path)
        except FileExistsError:
            pass
        info = os.lstat(path)
    except OSError as error:
        raise ConfigError(
            f"cannot make the directory {path}: {error.strerror}",
            f"check its owner and mode, or set {HOME_ENV}",
        ) from error
    if not stat.S_ISDIR(info.st_mode):
        raise ConfigError(f"{path} is not a directory", f"move it away, or set {HOME_ENV}")
    _require_ours(path, info)


if sys.platform == "win32":

    def _make(path: str) -> None:
        from conpty import security

        security.make_directory(path)

    def _require_ours(path: str, info: os.stat_result) -> None:
        from conpty import security

        try:
            if security.is_foreign(path):
                raise ConfigError(f"{path} belongs to another user", f"set {HOME_ENV} to a directory of yours")
            if security.strangers(path):
                security.restrict(path)
        except OSError as error:
            raise ConfigError(
                f"{path} is open to others: {error.strerror}", f"set {HOME_ENV} to a directory on your own NTFS disk"
            ) from error

else:

    def _make(path: str) -> None:
        os.mkdir(path, PRIVATE_DIR_MODE)

    def _require_ours(path: str, info: os.stat_result) -> None:
        if info.st_uid != os.geteuid():
            raise ConfigError(f"{path} belongs to another user", f"set {HOME_ENV} to a directory of yours")
        if info.st_mode & 0o077:
            try:
                os.chmod(path, PRIVATE_DIR_MODE)
            except OSError as error:
                raise ConfigError(f"{path} is open to others: {error.strerror}", f"chmod 700 {path}") from error
