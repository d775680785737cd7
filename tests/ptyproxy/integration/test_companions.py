"""Programs that hook the same shells, as far as a package has them, beside us; and our scripts sourced by the user."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ptyproxy.integration.plan import script

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

SUGGESTIONS = "/usr/share/zsh-autosuggestions/zsh-autosuggestions.zsh"
HIGHLIGHTING = "/usr/share/zsh-syntax-highlighting/zsh-syntax-highlighting.zsh"
POWERLEVEL = "/usr/share/powerlevel9k/powerlevel9k.zsh-theme"
LIQUIDPROMPT = "/usr/share/liquidprompt/liquidprompt"
FZF_BASH = "/usr/share/doc/fzf/examples/key-bindings.bash"
FZF_ZSH = "/usr/share/doc/fzf/examples/key-bindings.zsh"


def need(*files: str) -> str:
    """The lines that source these files; skips where one is missing."""
    for file in files:
        if not Path(file).exists():
            pytest.skip(f"no {file}")
    return "".join(f"source {file}\n" for file in files)


@pytest.fixture
def both(start, home: Path):
    """Run the same keys in a zsh or a bash with and without us."""

    def run_both(name: str, rc: str, *steps: str):
        (home / f".{name}rc").write_text(rc)
        results = []
        for integrate in (False, True):
            shell = start(name, integrate=integrate)
            for step in steps:
                shell.prompt_after(step) if step.endswith("\r") else shell.keys(step)
            results.append((shell.scrollback(), shell.cursor))
        return results

    return run_both


@pytest.mark.parametrize("files", [(SUGGESTIONS,), (HIGHLIGHTING,), (SUGGESTIONS, HIGHLIGHTING)])
def test_zsh_suggestions_and_highlighting(start, both, home: Path, files) -> None:
    rc = "PS1='%# '\n" + need(*files)
    plain, ours = both("zsh", rc, "echo one\r", "false\r", "ec", "\x1b[C", "\r", "half")
    assert plain == ours
    shell = start("zsh")
    line = "@ai why didn't that work?"
    for command in ("false", line, line):
        assert shell.run(command).command == command
    shell.type("half")
    shell.until_shown("# half")
    shell.order(show="shown\n")
    assert shell.lines()[-2:-1] == ["shown"]
    assert shell.lines()[-1].startswith("# half")


def test_powerlevel9k(start, both, home: Path) -> None:
    """Its prompts on both sides are made anew at each prompt, as powerlevel10k makes them."""
    rc = "POWERLEVEL9K_PROMPT_ON_NEWLINE=true\nPOWERLEVEL9K_LEFT_PROMPT_ELEMENTS=(dir)\n"
    rc += "POWERLEVEL9K_RIGHT_PROMPT_ELEMENTS=(status)\n" + need(POWERLEVEL)
    plain, ours = both("zsh", rc, "false\r", "(exit 3)\r", "half")
    assert plain == ours
    shell = start("zsh")
    shell.run("false")
    before = shell.lines()
    shell.order(show="shown\n")
    assert shell.lines() == [*before[:-2], "shown", *before[-2:]]
    assert shell.commands() == [("false", 1)]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_liquidprompt(start, both, home: Path, name: str) -> None:
    """Its prompt is made anew in a hook, with the status of the command before."""
    off = "".join(f"LP_ENABLE_{what}=0\n" for what in ("LOAD", "TIME", "RUNTIME", "BATT", "TEMP", "JOBS"))
    plain, ours = both(name, f"HISTFILE=\n{off}{need(LIQUIDPROMPT)}", "false\r", "(exit 3)\r", "half")
    assert plain == ours
    assert " 3 " in plain[0][-1]
    shell = start(name)
    shell.run("false")
    before = shell.lines()
    shell.order(show="shown\n")
    assert shell.lines() == [*before[:-1], "shown", before[-1]]
    assert shell.commands() == [("false", 1)]


@pytest.mark.parametrize(("name", "file"), [("bash", FZF_BASH), ("zsh", FZF_ZSH)])
def test_a_command_chosen_in_fzf_is_recorded_as_it_ran(start, home: Path, name: str, file: str) -> None:
    """The line is never typed (guanyilun/agent-sh#45)."""
    (home / f".{name}rc").write_text("PS1='$ '\nHISTFILE=\n" + need(file))
    shell = start(name)
    shell.run("echo to be found")
    shell.type("\x12")
    shell.until_shown("1/1")
    shell.type("found\r")
    shell.until(lambda: shell.lines()[-1] == "$ echo to be found", "the line that was chosen")
    assert shell.run("").command == "echo to be found"


@pytest.mark.parametrize(("name", "rc"), [("bash", ".bashrc"), ("zsh", ".zshrc"), ("fish", ".config/fish/config.fish")])
def test_a_script_that_the_user_sources_works_and_does_nothing_in_a_nested_shell(
    start, home: Path, name: str, rc: str
) -> None:
    (home / "neocode").write_text(script(name))
    (home / rc).parent.mkdir(parents=True, exist_ok=True)
    (home / rc).write_text("source ~/neocode\n" + ("" if name == "fish" else "PROMPT_COMMAND=true; PS1='$ '\n"))
    shell = start(name, integrate=False)
    shell.prompt_after("sh -c 'exit 3'\r")
    assert f";nc={shell.session.nonce};exit=3;".encode() in shell.raw
    assert shell.raw.count(b"neocode;C") >= 1
    nested = len(shell.raw)
    shell.prompt_after(f"{name}\r")
    shell.prompt_after("echo nested\r")
    assert b"neocode;D" not in shell.raw[nested:]


@pytest.mark.parametrize(
    ("command", "list_ours"),
    [
        (("bash", "--norc", "-i", "-c"), "compgen -A function __neocode; compgen -v __neocode; alias @ai"),
        (("zsh", "-f", "-i", "-c"), "print -l ${(k)functions[(I)__neocode*]} ${(k)parameters[(I)__neocode*]}"),
        (
            ("fish", "--no-config", "-i", "-c"),
            "functions -a | string match '*neocode*'; set -n | string match '*neocode*'",
        ),
        (("dash", "-c"), "set | grep __neocode"),
    ],
)
def test_outside_a_session_a_script_leaves_nothing_behind(tmp_path: Path, command, list_ours: str) -> None:
    text = script("sh" if command[0] == "dash" else command[0])
    (tmp_path / "neocode").write_text(text)
    done = subprocess.run(
        [*command, f". {tmp_path}/neocode; {list_ours}"],
        check=False, capture_output=True, text=True, timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert "neocode" not in done.stdout
    assert "neocode" not in done.stderr
