"""Whether the user edits lines with vi keys, where the shell itself does not say. Decided by what the shells go by:
for zsh `$VISUAL` and `$EDITOR`, for readline's shells (and as a hint for all others) `editing-mode` in the inputrc.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

MAX_INPUTRC_BYTES = 64 * 1024
_MODE = re.compile(r"^\s*set\s+editing-mode\s+(vi|emacs)\b", re.MULTILINE | re.IGNORECASE)


def prefers_vi(kind: str, environ: Mapping[str, str], system: Path = Path("/etc/inputrc")) -> bool:
    """`kind`: the shell's. Unknown: emacs, which every shell starts with."""
    if kind == "zsh":
        # zshzle(1): vi when either contains the string `vi`
        return any("vi" in environ.get(name, "") for name in ("VISUAL", "EDITOR"))
    own = environ.get("INPUTRC") or os.path.join(environ.get("HOME", ""), ".inputrc")
    for path in (Path(own), system):
        text = _read(path)
        if text is not None:
            found = _MODE.findall(text)
            return bool(found) and found[-1].lower() == "vi"
    return False


def _read(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_INPUTRC_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
