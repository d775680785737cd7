"""What an integration makes of a shell's command line. Invariant: pure functions (env, argv) -> (env, argv)."""

from __future__ import annotations

from typing import NamedTuple

from ptyproxy.platform.base import ShellCommand

WIDGET_KEY = b"\x1b[7781~"  # a key that no keyboard has; the shell's line editor looks for orders when it comes


class Plan(NamedTuple):
    """How to start a shell.

    `kind`: bash, zsh, fish, pwsh, powershell, cmd, sh, or "" for a program we do not know. `integrated`: marks are to
    be expected. `widget_key`: what makes its line editor look for orders, empty when it takes none. `reason`: why it
    is not integrated, one line.
    """

    command: ShellCommand
    kind: str
    integrated: bool
    widget_key: bytes = b""
    reason: str = ""
