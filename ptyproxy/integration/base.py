"""What an integration makes of a shell's command line. Invariant: pure functions (env, argv) -> (env, argv)."""

from __future__ import annotations

from typing import NamedTuple

from ptyproxy.platform.base import ShellCommand

HOTKEY_KEY = b"\x1b[7782~"  # likewise: the hotkey was pressed
WIDGET_KEY = b"\x1b[7781~"  # a key that no keyboard has; the shell's line editor looks for orders when it comes


class Plan(NamedTuple):
    """How to start a shell.

    `kind`: bash, zsh, fish, pwsh, powershell, cmd, sh, or "" for a program we do not know. `integrated`: marks are to
    be expected. `widget_key`: what makes its line editor look for orders, empty when it takes none. `reason`: why it
    is not integrated, one line. `hotkey_key`: what the proxy sends for the hotkey where the line editor cannot bind the
    key itself without taking it from its own searches; empty where it can. Send it only while the session's facts say
    `hotkey=ours` and what was typed since the prompt is plain (`hotkey.PlainTyping`), else the key as it is.
    """

    command: ShellCommand
    kind: str
    integrated: bool
    widget_key: bytes = b""
    reason: str = ""
    hotkey_key: bytes = b""


def control_letter(hotkey: str) -> str:
    """The character that gives the hotkey with Ctrl (`g` for `ctrl-g`); empty for no hotkey or one that cannot be.

    Ctrl with I, J, M and [ is Tab, Enter and Escape; with C, D, Q, S and Z the terminal's own.
    """
    name = hotkey.lower()
    for prefix in ("ctrl-", "control-", "c-", "^"):
        if name.startswith(prefix):
            letter = name[len(prefix) :]
            return letter if len(letter) == 1 and letter in "abefghklnoprtuvwxy]^_" else ""
    return ""
