"""config.yaml on disk: read with limits, written whole or not at all, comments and unknown keys kept.

Invariants: an absent file costs no YAML import; a write is lock, edit, validate, temporary file, fsync, rename;
what would not load is never written.
"""

from __future__ import annotations

import codecs
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neocode import paths
from neocode.config import Config, LoadedConfig, from_mapping
from neocode.errors import ConfigError

if TYPE_CHECKING:
    from neocode.config.yamledit import Mutate

MAX_CONFIG_BYTES = 64 * 1024  # a hundred times what people write; parsing it takes half a second
LOCK_NAME = "config.lock"
HEADER = "# NeoCode Shell: settings. Keys are never in here, only the names of the variables or files that hold them.\n"


def load_config(path: Path | None = None) -> LoadedConfig:
    """The configuration at `path` (default `~/.neocode/config.yaml`); all defaults when there is none.

    Raises:
        ConfigError: unreadable, not ours, too big, not YAML (file and line named), a wrong value (key named).
    """
    path = path or paths.config_file()
    found = _read(path)
    if found is None:
        dangling = (f"{path} is a symlink to a file that does not exist; using defaults",) if path.is_symlink() else ()
        return LoadedConfig(Config(), dangling)
    text, warnings = found
    return _checked(text, str(path), warnings)


def update_config(mutate: Mutate, path: Path | None = None) -> LoadedConfig:
    """Apply `mutate` to the file's mapping and replace the file; returns the new configuration.

    `mutate` sees plain dicts and may raise to leave the file alone. A symlink is kept and its target written, as
    people who keep their dotfiles elsewhere expect; the target must be theirs.

    Raises:
        ConfigError: as `load_config`, or the file cannot be written; the old file is then as it was.
    """
    path = path or paths.config_file()
    paths.ensure_private_dir(path.parent)
    from neocode.config.yamledit import edited
    from neocode.filewrite import locked, replace_file

    with locked(path.with_name(LOCK_NAME)):
        target = _target(path)
        found = _read(target)
        text, warnings = (HEADER, ()) if found is None else found
        dos = "\r\n" in text and text.count("\r\n") == text.count("\n")
        changed = edited(text.replace("\r\n", "\n"), mutate, str(path))
        loaded = _checked(changed, str(path), warnings)
        if found is None or changed != text.replace("\r\n", "\n"):
            replace_file(target, (changed.replace("\n", "\r\n") if dos else changed).encode("utf-8"))
    return loaded


def _checked(text: str, source: str, warnings: tuple[str, ...]) -> LoadedConfig:
    from neocode.config.check import check
    from neocode.config.yamltext import parse  # brings ruamel.yaml: 15 ms, only where there is a file

    loaded = from_mapping(parse(text, source), source)
    check(loaded.config, source)
    return LoadedConfig(loaded.config, warnings + loaded.warnings)


def _target(path: Path) -> Path:
    """The file behind a symlink, or `path` itself."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):  # RuntimeError: a loop of symlinks, before Python 3.13
        raise ConfigError(f"{path} is a symlink that leads nowhere", "remove it") from None


def _read(path: Path) -> tuple[str, tuple[str, ...]] | None:
    """The file's text and warnings about it; None when there is no file."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not hold us
    try:
        if path.is_dir():  # Windows would say "permission denied"
            raise ConfigError(f"{path} is a directory", "move it away")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "check its owner and mode") from None
    try:
        warnings = _require_usable(path, os.fstat(descriptor))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", "check the disk that holds it") from None
    finally:
        os.close(descriptor)
    if len(raw) > MAX_CONFIG_BYTES:
        raise ConfigError(
            f"{path} is bigger than {MAX_CONFIG_BYTES // 1024} KiB, so it is no configuration", "move it away"
        )
    return _decoded(raw, path), warnings


def _decoded(raw: bytes, path: Path) -> str:
    """UTF-8, or what a byte order mark says: PowerShell 5.1's `>` writes UTF-16."""
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = raw.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8 text", "save the file as UTF-8") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ConfigError(f"{path}, line {line}: holds a NUL character, so it is no text file")
    return text


def _require_usable(path: Path, info: os.stat_result) -> tuple[str, ...]:
    if not stat.S_ISREG(info.st_mode):
        raise ConfigError(f"{path} is not a regular file", "move it away")
    return _require_trusted(path, info)


if sys.platform == "win32":

    def _require_trusted(path: Path, info: os.stat_result) -> tuple[str, ...]:
        """Ours or an administrator's; whoever can write it can send the key elsewhere."""
        from conpty import sddl, security

        if security.is_foreign(str(path)):
            raise ConfigError(f"{path} belongs to another user", f"use a file of your own, or set {paths.HOME_ENV}")
        writers = security.strangers(str(path), sddl.WRITE)
        if writers:
            raise ConfigError(f"{path} can be changed by others ({', '.join(writers)})", only_you(path))
        return ()

    def only_you(path: Path) -> str:
        """The command that takes everybody else's rights away."""
        return f'run `icacls "{path}" /inheritance:r /grant:r "%USERNAME%:F"`'

else:

    def _require_trusted(path: Path, info: os.stat_result) -> tuple[str, ...]:
        """Ours, or root's as in a read-only system store; whoever can write it can send the key elsewhere."""
        if info.st_uid not in (os.geteuid(), 0):
            raise ConfigError(f"{path} belongs to another user", f"use a file of your own, or set {paths.HOME_ENV}")
        if info.st_mode & stat.S_IWOTH:
            raise ConfigError(f"{path} can be changed by every user", f"run `chmod 600 {path}`")
        if info.st_mode & stat.S_IWGRP:  # what umask 002 and git make: mostly a group of one, so no error
            return (f"{path} can be changed by its group; run `chmod 600 {path}`",)
        return ()
