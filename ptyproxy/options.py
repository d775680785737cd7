"""What the user asked of `neocode shell`. Imported before the first prompt: nothing heavy here."""

from __future__ import annotations

from typing import NamedTuple


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
    """The control character that a hotkey as the configuration takes it (`ctrl-` and a letter) sends."""
    return ord(hotkey[-1]) & 0x1F
