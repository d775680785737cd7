"""Which shell `neocode shell` starts on Windows: one of the kind that the user sits in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from neocode.shell.default_shell import default_shell
from neocode.shell.parent_shell import Ancestor, nearest_shell, on_path, windows_shell
from ptyproxy.platform.base import EXIT_NOT_FOUND, SpawnError
from ptyproxy.platform.windows import check_program

CMD = "C:\\Windows\\System32\\cmd.exe"
POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
PWSH = "C:\\Program Files\\PowerShell\\7\\pwsh.exe"
PYTHON, EXPLORER, TERMINAL = Ancestor("python.exe"), Ancestor("explorer.exe"), Ancestor("WindowsTerminal.exe")


@pytest.mark.parametrize(
    ("above", "shell"),
    [
        ((PYTHON, Ancestor(CMD), EXPLORER), CMD),
        ((PYTHON, Ancestor("neocode.exe"), Ancestor("py.exe"), Ancestor(POWERSHELL), TERMINAL), POWERSHELL),
        ((Ancestor(PWSH), Ancestor(CMD)), PWSH),
        ((Ancestor(CMD), Ancestor(PWSH)), CMD),
        # what PowerShell starts for scripts\neocode.cmd is no shell that anybody sees
        ((PYTHON, Ancestor(CMD, ("/c", '"C:\\x\\scripts\\neocode.cmd" shell')), Ancestor(PWSH)), PWSH),
        ((PYTHON, Ancestor(CMD, ("/d", "/s", "/C", "x")), Ancestor(POWERSHELL)), POWERSHELL),
        ((PYTHON, Ancestor(CMD, ("/K", "init.cmd")), Ancestor(PWSH)), CMD),
        ((PYTHON, Ancestor(PWSH, ("-NoProfile", "-File", "start.ps1")), Ancestor(CMD)), CMD),
        ((PYTHON, Ancestor(PWSH, ("-NoExit", "-Command", "x"))), PWSH),
        ((PYTHON, Ancestor(CMD.upper())), CMD.upper()),
        ((PYTHON, EXPLORER, TERMINAL), ""),
        ((), ""),
    ],
)
def test_the_nearest_interactive_shell_wins(above: tuple[Ancestor, ...], shell: str) -> None:
    assert nearest_shell(above) == shell


def exists(*paths: str):  # type: ignore[no-untyped-def]
    return lambda path: path in paths


def test_without_one_it_is_powershell_7_then_5_then_comspec() -> None:
    environ = {
        "PATH": "C:\\Program Files\\PowerShell\\7;C:\\Windows\\System32\\WindowsPowerShell\\v1.0",
        "COMSPEC": CMD,
    }
    assert windows_shell([EXPLORER], environ, exists(PWSH, POWERSHELL)) == PWSH
    assert windows_shell([EXPLORER], environ, exists(POWERSHELL)) == POWERSHELL
    assert windows_shell([EXPLORER], environ, exists()) == CMD
    assert windows_shell([], {}, exists()) == "cmd.exe"


def test_a_parent_whose_path_is_not_told_is_looked_up_by_its_name() -> None:
    environ = {"PATH": "C:\\a;C:\\Windows\\System32\\WindowsPowerShell\\v1.0", "COMSPEC": CMD}
    assert windows_shell([Ancestor("powershell.exe")], environ, exists(PWSH, POWERSHELL)) == POWERSHELL


def test_the_working_directory_is_never_looked_into() -> None:
    found = exists("pwsh.exe", ".\\pwsh.exe", "bin\\pwsh.exe")
    assert on_path("pwsh", {"PATH": ";.;bin;"}, found) == ""
    assert on_path("pwsh", {"PATH": '"C:\\a b";C:\\c'}, exists("C:\\a b\\pwsh.exe")) == "C:\\a b\\pwsh.exe"
    assert on_path("cmd.exe", {"PATH": "C:\\w"}, exists("C:\\w\\cmd.exe")) == "C:\\w\\cmd.exe"


def test_a_shell_that_path_does_not_have_is_not_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CreateProcessW would add `.exe` and look there before it looks at PATH."""
    for name in ("planted", "planted.exe"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpawnError, match="planted") as refused:
        check_program("planted")
    assert refused.value.exit_code == EXIT_NOT_FOUND
    check_program(str(tmp_path / "planted"))


if sys.platform == "win32":

    def test_our_own_ancestors_can_be_asked() -> None:
        from neocode.shell.parent_shell import our_ancestors

        assert all(ancestor.path for ancestor in our_ancestors())
        assert default_shell().lower().endswith(("cmd.exe", "powershell.exe", "pwsh.exe"))


@pytest.mark.skipif("sys.platform == 'win32'")
def test_on_unix_it_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", sys.executable)
    assert default_shell() == sys.executable
    monkeypatch.setenv("SHELL", "/nowhere")
    assert os.access(default_shell(), os.X_OK)
