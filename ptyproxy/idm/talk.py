"""What one visit's talk has been told. Invariant: nothing is told twice that was answered, nothing is left out that was
not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from secrets import token_hex

from ptyproxy.notices import remark
from ptyproxy.records import CommandRecord

GREETING = remark("@ai QUESTION asks about this shell; any other line runs in it") + remark(
    "@fix N takes a suggested command; exit or Ctrl-D leaves"
)


class Talk:
    """`id`: the ask session at the gateway. `told`: the newest record that it knows of, None for none at all."""

    def __init__(self, visit: int) -> None:
        self.id = f"idm-{os.getpid()}-{visit}-{token_hex(4)}"
        self.told: int | None = None
        self._asked = 0

    def asked(self, records: Sequence[CommandRecord]) -> None:
        """A question goes out that carries what happened up to now."""
        self._asked = records[-1].number if records else 0

    def answered(self) -> None:
        """It was answered, and so is known."""
        self.told = self._asked
