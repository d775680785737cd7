"""What an output alone says of a command whose shell tells no exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from neocode.shell.verdict import says_failure

CLEAN = sorted((Path(__file__).parents[1] / "offline" / "clean").glob("*.log"))
FAILED = {
    "gti status": "'gti' is not recognized as an internal or external command,\noperable program or batch file.\n",
    "cd \\nowhere": "The system cannot find the path specified.\n",
    "gti": 'Der Befehl "gti" ist entweder falsch geschrieben oder\nkonnte nicht gefunden werden.\n',
    "del x": "Access is denied.\n",
    "if x": "x was unexpected at this time.\n",
    "git push": "fatal: not a git repository (or any of the parent directories): .git\n",
    "python a.py": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import requests\n'
    "ModuleNotFoundError: No module named 'requests'\n",
}


@pytest.mark.parametrize("command", FAILED)
def test_a_message_of_cmd_or_of_a_known_tool_says_it(command: str) -> None:
    assert says_failure(FAILED[command], command, "cmd", "windows 10")


def test_a_message_of_cmd_itself_is_believed_without_a_command() -> None:
    assert says_failure(FAILED["cd \\nowhere"], "", "cmd", "windows 10")
    assert not says_failure(FAILED["python a.py"], "", "cmd", "windows 10")


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_no_output_of_a_success_does(path: Path) -> None:
    assert not says_failure(path.read_text("utf-8", "replace"), "build", "cmd", "windows 10")


@pytest.mark.parametrize(
    "log",
    [
        "",
        "[the command printed nothing]",
        " Volume in drive C has no label.\n\n Directory of C:\\\n\n01/01/2026  10:00    <DIR>  error\n",
        "0 errors, 0 warnings, 0 failed\n",
        "README says: 'gti' is not recognized as an internal or external command\n",
        "12:00:01 ERROR something went wrong, retrying\n",
        FAILED["cd \\nowhere"] + "copied\n" * 40,  # it went on
    ],
)
def test_ordinary_output_does_not(log: str) -> None:
    assert not says_failure(log, "build", "cmd", "windows 10")
