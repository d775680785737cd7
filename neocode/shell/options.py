"""`python -m neocode.shell.options`: reads the config file, prints what a shell wants of it, and keeps that for the
next start. A process of its own, because it imports what no shell may wait for.

Invariant: what is kept belongs to the very file that was read: a file that is still being written is not kept.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from neocode import paths
from neocode.config.file import load_config
from neocode.errors import ConfigError, NeocodeError
from neocode.filewrite import locked, replace_file
from neocode.shell.settings import STORED_NAME, fingerprint

SETTLED_SEC = 0.1  # file systems' clocks tick every 10 ms: a second change within a tick would not be noticed


def stored_lines() -> list[str]:
    """The fingerprint and the `name value` lines. Raises NeocodeError, OSError."""
    of_file = fingerprint(str(paths.config_file()))
    config = load_config().config
    lines = [
        of_file,
        f"auto {int(config.diag.auto)}",
        f"marker {int(config.diag.marker)}",
        f"hotkey {config.shell.hotkey}",
        f"ring_kib {config.shell.ring_kib}",
    ]
    return lines + [f"ignore {name}" for name in config.diag.ignore if name.isprintable()]


def main() -> int:
    """Print the lines; one line on stderr and 2 when the file cannot be used."""
    try:
        lines = stored_lines()
    except NeocodeError as error:
        print(error.one_line(), file=sys.stderr)
        return 2
    text = "".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape")
    sys.stdout.buffer.write(text)
    if time.time() - paths.config_file().stat().st_mtime > SETTLED_SEC:
        with suppress(OSError, ConfigError):
            directory = paths.ensure_private_dir(paths.state_dir())
            with locked(directory / f"{STORED_NAME}.lock"):
                replace_file(directory / STORED_NAME, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
