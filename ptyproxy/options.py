"""What the user asked of `neocode shell`. Imported before the first prompt: nothing heavy here."""

from __future__ import annotations

from typing import NamedTuple

from ptyproxy.integration.base import control_letter


class Options(NamedTuple):
    """`shell`: the program's path, run with `arguments`. `hotkey`: `ctrl-g` or another one. `ring_bytes`: how much
    output is remembered. `ignore`: more programs whose non-zero exit is an answer. `marker`: say that an answer is
    being awaited. `mode_history`: the file that keeps what is typed in the `@ai` mode, empty for none.
    """

    shell: str
    arguments: tuple[str, ...] = ()
    login: bool = False
    integrate: bool = True
    auto: bool = True
    marker: bool = True
    hotkey: str = "ctrl-g"
    ring_bytes: int = 1 << 20
    ignore: frozenset[str] = frozenset()
    mode_history: str = ""


def hotkey_byte(hotkey: str) -> int:
    """The control character that the hotkey sends, -1 for none."""
    letter = control_letter(hotkey)
    return ord(letter.upper()) & 0x1F if letter else -1
