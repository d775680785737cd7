"""Ctrl-C while the interpreter is still importing us."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli import NeoHome

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals another way")
# `neocode` under a module loader that delivers SIGINT when a certain module is about to be imported
SCRIPT = """
import os, runpy, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == WHERE:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["neocode", "diag", "--error-log", "x: command not found"]
runpy.run_module("neocode", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    ("module", "codes"),
    [("neocode.cli.main", {-2}), ("neocode.cli.diag_cmd", {130}), ("neocode.logs", {130})],
)
def test_ctrl_c_while_a_module_is_imported_ends_quietly(home: NeoHome, module: str, codes: set[int]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"WHERE = {module!r}\n{SCRIPT}"],
        env=home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode in codes, done.stdout, done.stderr) == (True, b"", b"")
