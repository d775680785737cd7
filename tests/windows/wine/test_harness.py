"""That what runs these tests is what it says: a Windows Python, the real pywinpty, a console on every handle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_this_is_a_windows_python_with_the_checkout_on_its_path() -> None:
    import conpty

    assert sys.platform == "win32"
    assert sys.maxsize > 2**32
    assert Path(str(conpty.__file__)).parent.parent == Path(__file__).resolve().parents[3]


def test_the_wheel_of_pywinpty_is_there_with_its_compiled_part() -> None:
    import winpty

    assert Path(winpty.__file__).with_name("_winpty.cp311-win_amd64.pyd").exists() or sys.version_info[:2] != (3, 11)


def test_standard_handles_are_a_console() -> None:
    import msvcrt

    assert all(os.isatty(fd) for fd in range(3))
    assert all(msvcrt.get_osfhandle(fd) for fd in range(3))


def test_a_child_can_be_run() -> None:
    done = subprocess.run(["cmd.exe", "/d", "/c", "exit 7"], timeout=20, check=False)
    assert done.returncode == 7
