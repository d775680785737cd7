"""Where our files live: everything under one home directory that belongs to the user alone.

Invariant: `ensure_private_dir` never follows a symlink into someone else's directory and never widens a mode.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from neocode.errors import ConfigError

PRIVATE_DIR_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
HOME_ENV = "NEOCODE_HOME"


def home() -> Path:
    """`~/.neocode`, or `$NEOCODE_HOME`. Raises ConfigError when no home directory is known."""
    override = os.environ.get(HOME_ENV)
    if override:
        return Path(override)
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
    return Path(base) / ".neocode"


def config_file() -> Path:
    """The user's configuration."""
    return home() / "config.yaml"


def auth_file() -> Path:
    """The gateway's token."""
    return home() / "auth.json"


def run_dir() -> Path:
    """Sockets and locks."""
    return home() / "run"


def log_dir() -> Path:
    """The daemon's log."""
    return home() / "logs"


def state_dir() -> Path:
    """Ask sessions and histories."""
    return home() / "state"


def user_skills_dir() -> Path:
    """The user's own skills, which win over the bundled ones."""
    return home() / "skills"


def ensure_private_dir(path: Path) -> Path:
    """Make `path` (and its parents) a 0700 directory of ours and return it.

    Raises:
        ConfigError: it cannot be made, is no directory, is a symlink, or belongs to someone else.
    """
    try:
        path.parent.mkdir(mode=PRIVATE_DIR_MODE, parents=True, exist_ok=True)
        try:
            os.mkdir(path, PRIVATE_DIR_MODE)
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
    return path


if sys.platform == "win32":

    def _require_ours(path: Path, info: os.stat_result) -> None:
        """Under the user's profile the inherited ACL is the owner's already."""

else:

    def _require_ours(path: Path, info: os.stat_result) -> None:
        if info.st_uid != os.geteuid():
            raise ConfigError(f"{path} belongs to another user", f"set {HOME_ENV} to a directory of yours")
        if info.st_mode & 0o077:
            os.chmod(path, PRIVATE_DIR_MODE)
