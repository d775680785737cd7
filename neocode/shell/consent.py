"""Which remote providers may be asked automatically. Remote is every provider whose address is not this machine's own
(`localhost`, 127.0.0.0/8, ::1); the built-in rules are not.

Invariants: nothing is allowed that the user did not allow; a provider that moved to another address is another one.
"""

from __future__ import annotations

import json
from pathlib import Path

from neocode import paths
from neocode.errors import ConfigError

FILE_NAME = "automatic.json"
LOCK_NAME = "automatic.lock"
MAX_FILE_BYTES = 64 * 1024
MAX_ENTRIES = 200


class Consent:
    """What is in `state/automatic.json`: `{"version": 1, "allowed": ["<name> <origin>", ...]}`, 0600."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._here: dict[str, bool] = {}  # said in this shell; holds although the file cannot be written

    def allowed(self, name: str, origin: str) -> bool:
        """Whether the user allowed it, in this shell or in another one."""
        entry = f"{name} {origin}"
        return self._here[entry] if entry in self._here else entry in self._read()

    def allow(self, name: str, origin: str, allowed: bool) -> None:
        """Remember it. Blocks for a file's lock.

        Raises:
            ConfigError: it could not be written; it holds in this shell only.
        """
        from neocode.filewrite import locked, replace_file

        entry = f"{name} {origin}"
        self._here[entry] = allowed
        directory = paths.ensure_private_dir(self._directory or paths.state_dir())
        with locked(directory / LOCK_NAME):
            before = self._read()
            after = [each for each in before if each != entry] + ([entry] if allowed else [])
            if after != before:
                members = {"version": 1, "allowed": after[-MAX_ENTRIES:]}
                replace_file(directory / FILE_NAME, json.dumps(members, indent=1).encode("ascii") + b"\n")
        del self._here[entry]  # from now on the file says it, also what another shell writes to it

    def _read(self) -> list[str]:
        """The entries; none when there is no file or it is not what we write."""
        try:
            with open((self._directory or paths.state_dir()) / FILE_NAME, "rb") as file:
                members = json.loads(file.read(MAX_FILE_BYTES))
            return [str(each) for each in members["allowed"]]
        except (OSError, ValueError, TypeError, KeyError, ConfigError):
            return []
