"""The configuration as a shell wants it. Invariant: without a config file nothing heavy is imported, because the
user's first prompt waits for this.
"""

from __future__ import annotations

from pathlib import Path

from neocode import paths
from ptyproxy.policy import ANSWERING_PROGRAMS, Settings
from ptyproxy.proxy import Options


def sessions_dir() -> Path:
    """The 0700 directory that sessions are made in. Raises ConfigError."""
    paths.ensure_private_dir(paths.home())
    return paths.ensure_private_dir(paths.run_dir())


def options_from_config(options: Options) -> Options:
    """`options` with what the config file says; what the command line said wins. Raises ConfigError."""
    if not paths.config_file().exists():
        return options
    from neocode import configfile

    config = configfile.load().config
    return options._replace(
        auto=options.auto and config.diag.auto,
        marker=config.diag.marker,
        hotkey=ord(config.shell.hotkey[-1]) & 0x1F,
        ring_bytes=config.shell.ring_kib * 1024,
        settings=Settings(ignore=ANSWERING_PROGRAMS | frozenset(config.diag.ignore)),
    )
