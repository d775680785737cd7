"""What the tap says of the prompt to those who want to write above it."""

from __future__ import annotations

from typing import Any

import pytest

from ptyproxy.capture import Capture
from ptyproxy.tap import ShellTap
from ptyproxy.typed_line import FLUSH_KEYS_SEC

NONCE = "0123456789abcdef0123456789abcdef"


class Silent:
    """Stands in for the notices and the diagnosis."""

    waiting = False
    busy = False

    def prompt_drawn(self) -> None: ...

    def hotkey(self, line: str) -> None: ...

    def tick(self) -> None: ...


class Rig:
    """A tap at a prompt, and its clock."""

    def __init__(self) -> None:
        self.now = 0.0
        silent: Any = Silent()
        self.tap = ShellTap(Capture(NONCE), "bash", cols=lambda: 80, receive=list, hotkey=7, clock=lambda: self.now)
        self.tap.attach(silent, silent, NONCE)
        self.tap.output(f"\x1b]7781;neocode;D;nc={NONCE};exit=0;cwd=/\x07\x1b]7781;neocode;A\x07$ ".encode())
        self.tap.output(b"\x1b]7781;neocode;B\x07")


def test_a_fresh_prompt_is_idle_until_something_is_typed() -> None:
    rig = Rig()
    assert rig.tap.at_idle_prompt
    rig.tap.input(b"l")
    assert not rig.tap.at_idle_prompt


@pytest.mark.parametrize("begun", [b"\x1b", b"\x1b[", b"\x1b[1;5"])
def test_a_prompt_with_a_key_half_read_is_not_idle(begun: bytes) -> None:
    """Our own key behind a lone Escape would be read as one with it, and the rest of it as text."""
    rig = Rig()
    rig.tap.input(begun)
    assert not rig.tap.at_idle_prompt
    rig.now += 2 * FLUSH_KEYS_SEC
    rig.tap.tick()
    assert not rig.tap.at_idle_prompt


def test_what_the_terminal_says_by_itself_leaves_the_prompt_idle() -> None:
    rig = Rig()
    rig.tap.input(b"\x1b[I")
    assert rig.tap.at_idle_prompt


def test_the_alternate_screen_is_no_idle_prompt() -> None:
    rig = Rig()
    rig.tap.output(b"\x1b[?1049h")
    assert not rig.tap.at_idle_prompt


@pytest.fixture
def plain_tap() -> ShellTap:
    """A shell of which nothing is known."""
    told: Any = Silent()
    tap = ShellTap(Capture(NONCE), "sh", cols=lambda: 80, receive=list, hotkey=7)
    tap.attach(told, told, NONCE)
    return tap


def test_a_shell_that_tells_its_prompts_gives_us_the_hotkey_there_and_its_commands_elsewhere(
    plain_tap: ShellTap,
) -> None:
    assert plain_tap.input(b"\x07") == b""
    plain_tap.output(b"\x1b]7781;neocode;A\x07$ \x1b]7781;neocode;B\x07")
    assert plain_tap.input(b"\x07") == b""
    plain_tap.input(b"cat\r")
    assert plain_tap.input(b"\x07") == b"\x07"


@pytest.mark.parametrize("key", [b"\x07", b"\x1b[103;5u", b"\x1b[71;34;7;1;8;1_"])
def test_the_hotkey_is_taken_in_whatever_way_the_terminal_writes_it(plain_tap: ShellTap, key: bytes) -> None:
    assert plain_tap.input(b"\x1b[I" + key + b"ls") == b"\x1b[Ils"
