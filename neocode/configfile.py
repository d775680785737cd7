"""config.yaml on disk: read with limits, written whole or not at all, comments and unknown keys kept.

Invariants: an absent file costs no YAML import; a write is lock, edit, validate, temporary file, fsync, rename;
a file that fails to validate is never written.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from neocode.config import LoadedConfig

Mutate = Callable[[MutableMapping[str, Any]], None]


def load(path: Path | None = None) -> LoadedConfig:
    """The configuration at `path` (default `~/.neocode/config.yaml`); all defaults when there is none.

    Raises:
        ConfigError: unreadable, not ours, too big, not YAML (file and line named), a wrong value (key named).
    """
    raise NotImplementedError


def update(mutate: Mutate, path: Path | None = None) -> LoadedConfig:
    """Apply `mutate` to the file's mapping and replace the file; returns the new configuration.

    Raises:
        ConfigError: as `load`, or the file cannot be written; the old file is then as it was.
    """
    raise NotImplementedError
