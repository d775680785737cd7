"""The scripts as `neocode shell --init` prints them, sourced where no session is: the shell is as it was before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from neocode.cli.shell_cmd import INIT_KINDS
from ptyproxy.integration.plan import script

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

# what tells a shell's state, without what changes from one command to the next
STATE = {
    "bash": "declare -p | grep -Ev ' (_|BASH_[A-Z_]+|LINENO|FUNCNAME|PIPESTATUS|S?RANDOM|SECONDS|EPOCH[A-Z]*)(=|$)'; "
    "declare -F; bind -X; trap; shopt; set +o",
    "zsh": "setopt; functions; bindkey; print -r - $PS1 $precmd_functions $preexec_functions; typeset +m '__neo*'",
    "fish": "functions -n; bind; set -n | string match -v '*history*'",
    "pwsh": 'Get-ChildItem Function: | ForEach-Object Name; Get-Variable | ForEach-Object Name; "$function:prompt"',
}
SOURCE = {"pwsh": ". ([scriptblock]::Create([Console]::In.ReadToEnd()))"}


@pytest.mark.parametrize("kind", [kind for kind in INIT_KINDS if kind != "cmd"])  # that one: tests/windows/wine
@pytest.mark.parametrize("directory", [None, "/nowhere"])  # none, or of a session that has ended
def test_outside_a_session_nothing_changes(kind: str, directory: str | None) -> None:
    program = shutil.which(kind)
    if program is None:
        pytest.skip(f"{kind} is not installed")
    environ = {name: value for name, value in os.environ.items() if not name.startswith("NEOCODE_")}
    environ["TERM"] = "xterm"
    if directory is not None:
        environ["NEOCODE_SESSION_DIR"] = directory
    source = SOURCE.get(kind, ". /dev/stdin" if kind != "fish" else "source /dev/stdin")
    states = []
    for before in ("", source):
        options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"], "pwsh": ["-NoProfile"]}[kind]
        done = subprocess.run(
            [program, *options, "-c", f"{before}\n{STATE[kind]}"],
            input=script(kind),
            capture_output=True,
            text=True,
            env=environ,
            timeout=50,
            check=False,
        )
        states.append(done.stdout)
    assert len(states[0]) > 200
    assert states[0] == states[1]


def test_the_command_prints_every_script_byte_for_byte() -> None:
    for kind in INIT_KINDS:
        done = subprocess.run(
            [sys.executable, "-m", "neocode", "shell", "--init", kind], capture_output=True, timeout=50, check=True
        )
        assert done.stdout == script(kind).encode()
