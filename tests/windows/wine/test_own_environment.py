"""What the shell's environment is, asked of the real system: what we were given, but for what is ours."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from conpty.own_environment import own_environment
from ptyproxy.platform.windows import original_environment

DRIVE, FOLDER = "=Q:", "Q:\\a=b"
SPAWN = r"""
import os, sys
from ptyproxy.platform.base import ShellCommand, Size
from ptyproxy.platform.windows import original_environment, spawn
environ = original_environment()
assert environ[b"TEST_MIXED"] == b"1", environ
environ[b"NEOCODE_SHELL_SESSION"] = b"of a test"
program = (
    "import sys; from conpty.own_environment import own_environment;"
    "open(sys.argv[1], 'w').write(ascii(own_environment()))"
)
pty = spawn(ShellCommand(sys.executable, ("python", "-c", program, sys.argv[1]), environ), Size(24, 80), None)
while pty.read():
    pass
sys.exit(pty.wait(20))
"""


def test_nothing_but_the_drives_folders_and_the_spelling_is_other_than_in_pythons_own() -> None:
    found = own_environment()
    assert {name.upper(): value for name, value in found.items() if name[:1] != "="} == dict(os.environ)
    assert original_environment().keys() >= {os.fsencode(name) for name in os.environ}


def test_a_shell_gets_names_as_they_were_spelled_and_the_folder_of_each_drive(tmp_path: Path) -> None:
    told = tmp_path / "told"
    given = {name: value for name, value in os.environ.items() if name != "PATH"}
    given |= {DRIVE: FOLDER, "Path": os.environ["PATH"], "Test_Mixed": "1"}
    subprocess.run(
        [sys.executable, "-c", SPAWN, str(told)], env=given, stdin=subprocess.DEVNULL, timeout=40, check=True
    )
    found = ast.literal_eval(told.read_text())
    assert (found[DRIVE], found["Test_Mixed"], found["Path"]) == (FOLDER, "1", os.environ["PATH"])
    assert found["NEOCODE_SHELL_SESSION"] == "of a test"
    assert not {"PATH", "TEST_MIXED"} & found.keys()
