"""PowerShell with its marks and its widget, where there is one: 7.3 or later, since older .NET knows no chords here."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ptyproxy.integration.pwsh import HOTKEY_CHORD
from ptyproxy.records import CommandRecord, PromptEnded

pytestmark = [
    pytest.mark.skipif("sys.platform == 'win32'"),
    pytest.mark.skipif(shutil.which("pwsh") is None, reason="pwsh is not installed"),
]

STRICT = "Set-StrictMode -Version Latest; $ErrorActionPreference = 'Stop'"


def prompts(shell: Any) -> int:
    return sum(isinstance(event, PromptEnded) for event in shell.events)


def enter(shell: Any, line: str) -> None:
    """Type a line and wait for the prompt after it."""
    drawn = prompts(shell)
    shell.type(line + "\r")
    shell.until(lambda: prompts(shell) > drawn, f"a prompt after {line!r}")
    shell.settle()


def run(shell: Any, line: str) -> CommandRecord:
    enter(shell, line)
    return shell.capture.records[-1]


@pytest.fixture
def pwsh(start, home: Path):
    """Start PowerShell with this profile."""

    def start_pwsh(profile: str = "function prompt { 'PS> ' }", **options: Any) -> Any:
        folder = home / ".config" / "powershell"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "profile.ps1").write_text(profile + "\n")
        shell = start("pwsh", "-NoLogo", wait=False, POWERSHELL_UPDATECHECK="Off", **options)
        shell.until(lambda: prompts(shell) > 0, "first prompt")
        shell.settle()
        return shell

    return start_pwsh


@pytest.mark.parametrize("profile", ["function prompt { 'PS> ' }", STRICT + "; function prompt { 'PS> ' }"])
def test_commands_and_their_status_are_recorded(pwsh, home: Path, profile: str) -> None:
    shell = pwsh(profile)
    assert shell.capture.facts["hotkey"] == "ours"
    for line, code in [
        ("'one'", 0),
        ("Get-Item /nowhere", 1),
        ("sh -c 'exit 3'", 3),
        ("Get-Item /nowhere", 1),  # not the 3 of before
        ("sh -c 'exit 3'", 3),
        ("'a;b%20 \u4f60' # " + "x" * 300, 0),
        ("if ($true) { throw 'x' }", 1),
    ]:
        record = run(shell, line)
        assert (record.command, record.exact, record.exit_code, record.cwd) == (line, True, code, str(home))
    assert shell.output(run(shell, "1..2")) == "1\n2\n"
    assert shell.capture.faults == 0


def test_an_empty_line_and_a_line_that_is_given_up_are_no_commands(pwsh) -> None:
    shell = pwsh()
    enter(shell, "")
    drawn = prompts(shell)
    shell.type("half\x03")
    shell.until(lambda: prompts(shell) > drawn, "a prompt after Ctrl+C")
    assert shell.capture.records == []


def test_the_prompt_sees_what_the_command_left_behind(pwsh) -> None:
    """starship/starship#2918, microsoft/vscode#220144."""
    shell = pwsh('function prompt { "[$?:$LASTEXITCODE]> " }')
    run(shell, "sh -c 'exit 3'")
    assert shell.lines()[-1].startswith("[False:3]>")
    run(shell, "Get-Item /nowhere")
    assert shell.lines()[-1].startswith("[False:3]>")
    run(shell, "1")
    assert shell.lines()[-1].startswith("[True:3]>")
    assert shell.output(run(shell, "$Error.Count")).strip() == "1"


def test_a_list_of_errors_that_is_full_is_still_the_users_own(pwsh) -> None:
    """It holds 256, and does not grow by what we add and take away again."""
    shell = pwsh()
    run(shell, '1..300 | ForEach-Object { Write-Error "theirs $_" -ErrorAction SilentlyContinue }')
    ours = "$newest = __Neocode-Newest; 1..3 | ForEach-Object { Write-Error ours -ErrorAction SilentlyContinue }"
    record = run(shell, f'{ours}; __Neocode-Forget $newest; "$($Error[0])"')
    assert shell.output(record).strip() == "theirs 300"


def test_a_prompt_that_was_replaced_is_wrapped_again(pwsh) -> None:
    shell = pwsh()
    shell.type("function prompt { 'new> ' }\r")
    shell.until_shown("new>")
    shell.settle()
    assert run(shell, "Get-Item /nowhere").exit_code == 1
    # what a Python venv does, and undoes
    run(shell, "copy-item function:prompt function:old; function global:prompt { Write-Host -NoNewline '(v) '; old }")
    run(shell, "1")
    assert shell.lines()[-1].startswith("(v) new>")
    run(shell, "copy-item function:old function:prompt")
    run(shell, "2")
    assert shell.lines()[-1].startswith("new>")
    assert shell.capture.records[-1].command == "2"


@pytest.mark.parametrize(
    "profile", ["", "Set-PSReadLineOption -EditMode Vi; ", "Set-PSReadLineOption -EditMode Emacs; "]
)
def test_words_and_lines_are_put_in_at_the_prompt(pwsh, profile: str) -> None:
    shell = pwsh(profile + 'function prompt { "`ntwo`n> " }')
    run(shell, "'before'")
    above = shell.lines()[:-2]
    shell.order(show="\x1b[1mfirst\x1b[m\nsecond \u884c\n", line="git push '\u65e5\u672c'")
    assert shell.lines() == [*above[:-1], "first", "second \u884c", "", "two", "> git push '\u65e5\u672c'"]
    assert shell.hotkey() == {"line": "same"}
    shell.order(line="")
    assert (shell.lines()[-1], shell.hotkey()) == (">", {"line": "empty"})
    shell.type("mine")
    shell.order(line="theirs")
    assert (shell.lines()[-1], shell.hotkey()) == ("> mine", {"line": "other"})


def test_at_ai_takes_the_line_as_it_was_typed(pwsh) -> None:
    shell = pwsh()
    line = "@ai why didn't that work? (it's $HOME; `odd | \"x\")"
    record = run(shell, line)
    assert (record.command, record.exact, record.exit_code) == (line, True, 0)
    assert shell.lines()[-2] == "PS> " + line
    shell.type("\x1b[A")
    shell.settle()
    assert shell.lines()[-1] == "PS> " + line


def test_the_nonce_is_nowhere_a_child_or_the_history_could_show_it(pwsh) -> None:
    shell = pwsh()
    printed = "".join(
        shell.output(run(shell, line)) for line in ("Get-ChildItem Env: | Out-String", "Get-History", "prompt", "env")
    )
    assert "NEOCODE_SESSION_DIR" in printed
    assert shell.session.nonce not in printed
    assert not Path(shell.session.directory, "nonce").exists()


def test_without_psreadline_the_history_tells_the_line(pwsh) -> None:
    shell = pwsh("Remove-Module PSReadLine; function prompt { 'PS> ' }")
    assert shell.capture.facts["starts"] == "enter"
    assert shell.capture.facts["widget"] == "none"
    shell.capture.enter(typed=True)
    record = run(shell, "Get-Item /nowhere")
    assert (record.command, record.exact, record.exit_code) == ("Get-Item /nowhere", True, 1)


def test_a_key_that_the_user_bound_stays_theirs(pwsh) -> None:
    shell = pwsh("Set-PSReadLineKeyHandler -Chord Ctrl+g -ScriptBlock { }; function prompt { 'PS> ' }")
    assert shell.capture.facts["hotkey"] == "user"


def test_the_hotkey_survives_a_change_of_the_edit_mode(pwsh) -> None:
    shell = pwsh()
    run(shell, "Set-PSReadLineOption -EditMode Vi")
    assert shell.capture.facts["keymap"] == "vi"
    shell.type(b"\x1b")
    shell.settle()
    shell.type(HOTKEY_CHORD)
    shell.until(lambda: bool(shell.hotkeys()), "the hotkey in vi's command mode")


def test_a_constrained_language_is_left_alone_and_named(start, home: Path) -> None:
    shell = start("pwsh", "-NoLogo", "-NoProfile", wait=False, __PSLockdownPolicy="4", POWERSHELL_UPDATECHECK="Off")
    shell.until_shown("PS ")
    shell.settle()
    if Path(shell.session.directory, "neocode.ps1").exists() and shell.capture.authenticated:
        pytest.skip("this PowerShell does not take __PSLockdownPolicy")
    assert b"7781" not in shell.raw
