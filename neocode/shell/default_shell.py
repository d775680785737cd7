"""Which shell to start when none is named: on Unix the user's own, on Windows one of the kind that we are run from."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":

    def default_shell() -> str:
        """The nearest parent's, else PowerShell 7, PowerShell 5.1, `%COMSPEC%`."""
        from neocode.shell.parent_shell import our_ancestors, windows_shell

        return windows_shell(our_ancestors(), os.environ)

else:

    def default_shell() -> str:
        """The user's own shell: `$SHELL`, else the password database's, else /bin/sh."""
        import pwd

        shell = os.environ.get("SHELL", "")
        if shell and os.access(shell, os.X_OK) and not os.path.isdir(shell):
            return shell
        try:
            shell = pwd.getpwuid(os.getuid()).pw_shell
        except KeyError:
            shell = ""
        return shell if shell and os.access(shell, os.X_OK) else "/bin/sh"
