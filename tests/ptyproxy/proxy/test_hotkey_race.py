"""The hotkey, and keys typed before the shell's word of it came: our order must not reach what they started."""

from __future__ import annotations

from typing import Any

import pytest

from ptyproxy.capture import Capture
from ptyproxy.tap import ShellTap

NONCE = "0123456789abcdef0123456789abcdef"
KEY = f"\x1b]7781;neocode;K;nc={NONCE};line=empty\x07".encode()


class Told:
    """Stands in for the notices and the diagnosis; keeps what the hotkey was said to find in the line."""

    waiting = False
    busy = False

    def __init__(self) -> None:
        self.lines: list[str] = []

    def hotkey(self, line: str) -> None:
        self.lines.append(line)

    def prompt_drawn(self) -> None:
        pass


@pytest.mark.parametrize(
    ("keys", "line"), [(b"\x07", "empty"), (b"\x07cat\r", "other"), (b"\x07c", "other"), (b"c\x7f\x07", "empty")]
)
def test_a_line_that_was_typed_on_since_is_not_what_the_shell_said_of_it(keys: bytes, line: str) -> None:
    told: Any = Told()
    tap = ShellTap(Capture(NONCE), "zsh", cols=lambda: 80, receive=list, hotkey=7)
    tap.attach(told, told, NONCE)
    tap.output(f"\x1b]7781;neocode;D;nc={NONCE};shell=zsh 5.9\x07\x1b]7781;neocode;A\x07$ ".encode())
    tap.output(b"\x1b]7781;neocode;B\x07")
    tap.input(keys)
    tap.output(KEY)
    assert told.lines == [line]
