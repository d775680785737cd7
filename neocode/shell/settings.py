"""The configuration as a shell wants it. Invariant: nothing heavy is imported, because the user's first prompt waits
for this. The file is read by a child process after each change; its result is kept in `state/shell-options`.
"""

from __future__ import annotations

import os
import sys

from neocode import __version__, userdir
from neocode.errors import ConfigError
from ptyproxy.options import Options

STORED_NAME = "shell-options"
MAX_STORED_BYTES = 64 * 1024  # as much as a config file may have
READ_SEC = 10.0  # a machine that swaps takes three


def sessions_dir() -> str:
    """The 0700 directory that sessions are made in. Raises ConfigError."""
    home = userdir.locate()
    directory = os.path.join(home, userdir.RUN)
    userdir.make_private(home)
    userdir.make_private(directory)
    return directory


def options_from_config(options: Options) -> Options:
    """`options` with what the config file says; what the command line said wins. Raises ConfigError."""
    config = os.path.join(userdir.locate(), userdir.CONFIG)
    try:
        of_file = fingerprint(config)
    except FileNotFoundError:
        return options
    except OSError as error:
        raise ConfigError(f"cannot read {config}: {error.strerror}", "check its owner and mode") from None
    lines = _stored()
    if lines[:1] != [of_file]:
        lines = _read_in_child()
    return apply(options, lines[1:])


def fingerprint(config: str) -> str:
    """What changes with the file's content, and with us. Raises OSError."""
    info = os.stat(config)
    return f"{__version__} {config} {info.st_dev} {info.st_ino} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns}"


def apply(options: Options, lines: list[str]) -> Options:
    """`options` with stored `name value` lines. Raises ConfigError."""
    try:
        pairs = [line.split(" ", 1) for line in lines]
        said = {name: value for name, value in pairs if name != "ignore"}
        return options._replace(
            auto=options.auto and said["auto"] == "1",
            marker=said["marker"] == "1",
            hotkey=said["hotkey"],
            ring_bytes=int(said["ring_kib"]) * 1024,
            ignore=frozenset(value for name, value in pairs if name == "ignore"),
        )
    except (KeyError, ValueError):
        raise ConfigError("the stored options cannot be read", f"remove {stored_file()}") from None


def stored_file() -> str:
    """Where the last result is. Raises ConfigError."""
    return os.path.join(userdir.locate(), userdir.STATE, STORED_NAME)


def _stored() -> list[str]:
    """The lines of the last result; none when there is no such file."""
    try:
        with open(stored_file(), encoding="utf-8", errors="surrogateescape") as file:
            return file.read(MAX_STORED_BYTES).splitlines()
    except OSError:
        return []


def _read_in_child() -> list[str]:
    """The lines as `neocode.shell.options` prints them. Raises ConfigError with its one line."""
    import subprocess  # 8 ms, but only after a change

    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "neocode.shell.options"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=READ_SEC,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the configuration could not be read ({type(error).__name__})", "try again") from None
    if done.returncode:
        line = done.stderr.strip().splitlines()[-1:] or ["the configuration could not be read"]
        raise ConfigError(line[0])
    return done.stdout.splitlines()
