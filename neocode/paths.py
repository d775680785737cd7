"""Where our files live: everything under one home directory that belongs to the user alone.

Invariant: `ensure_private_dir` never follows a symlink into someone else's directory and never widens a mode.
"""

from __future__ import annotations

import os
from pathlib import Path

from neocode import userdir

PRIVATE_FILE_MODE = 0o600
PRIVATE_DIR_MODE = userdir.PRIVATE_DIR_MODE
HOME_ENV = userdir.HOME_ENV


def home() -> Path:
    """`~/.neocode`, or `$NEOCODE_HOME`. Raises ConfigError when no home directory is known."""
    return Path(userdir.locate())


def config_file() -> Path:
    """The user's configuration."""
    return home() / userdir.CONFIG


def auth_file() -> Path:
    """The gateway's token."""
    return home() / "auth.json"


def run_dir() -> Path:
    """Sockets and locks."""
    return home() / userdir.RUN


def log_dir() -> Path:
    """The daemon's log."""
    return home() / "logs"


def state_dir() -> Path:
    """Ask sessions and histories."""
    return home() / userdir.STATE


def user_skills_dir() -> Path:
    """The user's own skills, which win over the bundled ones."""
    return home() / "skills"


def ensure_private_dir(path: Path) -> Path:
    """Make `path` (and its parents) a 0700 directory of ours and return it.

    Raises:
        ConfigError: it cannot be made, is no directory, is a symlink, or belongs to someone else.
    """
    userdir.make_private(os.fspath(path))
    return path
