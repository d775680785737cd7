"""Which Python, which packages, which of ours."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec

from neocode import __version__
from neocode.doctor.check import Check, Situation

# distribution -> (module, its use)
PACKAGES = {
    "msgspec": ("msgspec", "the gateway"),
    "openai": ("openai", "model providers"),
    "prompt-toolkit": ("prompt_toolkit", "the @ai mode"),
    "psutil": ("psutil", "looking at processes"),
    "pyte": ("pyte", "reading screens"),
    "ruamel.yaml": ("ruamel", "the configuration"),
    "markdown-it-py": ("markdown_it", "showing answers"),
}
PACKAGES |= (
    {"pywinpty": ("winpty", "the shell")} if sys.platform == "win32" else {"ptyprocess": ("ptyprocess", "the shell")}
)


def versions(situation: Situation) -> Iterator[Check]:
    """Ours, Python's, the packages'."""
    yield Check("neocode", "ok", __version__)
    yield Check("python", "ok", f"{platform.python_version()} ({sys.executable}), {platform.platform(terse=True)}")
    known, missing = [], []
    for name, (module, use) in PACKAGES.items():
        if find_spec(module) is None:
            missing.append(f"{name} ({use})")
        else:
            known.append(f"{name} {_version(name)}")
    if missing:
        yield Check("packages", "broken", f"missing: {', '.join(missing)}", "install neocode-shell again")
    yield Check("packages", "ok", ", ".join(known))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "?"
