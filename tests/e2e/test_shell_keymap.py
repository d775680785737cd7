"""Vi keys in the user's shell: the hotkey works in both of vi's modes, and the `@ai` mode has the same keys."""

from __future__ import annotations

import shutil
import sys

import pytest
from seat import MODE_PROMPT, SHELL_PROMPT, Home, Seat

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

ESCAPE_SEC = 0.2  # longer than readline's keyseq-timeout (below) and than what we wait for the rest of a sequence
INPUTRC = "set keyseq-timeout 50\nset editing-mode vi\n"


def escape(seat: Seat) -> None:
    """The Escape key, and the moment after it that makes it one."""
    seat.type(b"\x1b")
    while seat.step(ESCAPE_SEC):
        pass


def explained(seat: Seat, line: str) -> None:
    seat.run(line)
    seat.until(lambda: any("provider offline" in row for row in seat.scrollback()), "the answer's last line")
    seat.until_last(SHELL_PROMPT)


def test_the_hotkey_works_in_vi_command_mode(shell_home: Home) -> None:
    """Also after moving and deleting there. (Escape begins a sequence in Emacs's keys only.)"""
    (shell_home.path / ".inputrc").write_text("set keyseq-timeout 50\n")
    with shell_home.shell() as seat:
        seat.run("set -o vi")
        explained(seat, "ech it works")
        for part in ("ab", "hlD0D", "a"):
            seat.type(part)
            escape(seat)
        seat.type(b"\x07")
        seat.until_last(f"{SHELL_PROMPT} echo it works")
        seat.type(b"\r")
        seat.until(lambda: "it works" in seat.lines()[-2:] and seat.last == SHELL_PROMPT, "its output")


def test_the_hotkey_in_vi_insert_mode_types_nothing(shell_home: Home) -> None:
    (shell_home.path / ".inputrc").write_text(INPUTRC)
    with shell_home.shell() as seat:
        explained(seat, "ech it works")
        seat.type("x")
        escape(seat)
        seat.type(b"xa\x07")
        seat.until_last(f"{SHELL_PROMPT} echo it works")
        seat.type(b"\r")
        seat.until(lambda: "it works" in seat.lines()[-2:] and seat.last == SHELL_PROMPT, "its output")


def test_the_hotkey_is_vis_own_key_while_vi_waits_for_another(shell_home: Home) -> None:
    """An operator or a search takes what comes next: our key would be read as a part of it."""
    (shell_home.path / ".inputrc").write_text(INPUTRC)
    with shell_home.shell() as seat:
        explained(seat, "ech it works")
        seat.type("git status")
        for keys in ("2d", "f", "/sea"):
            escape(seat)
            seat.type(keys)
            seat.step(ESCAPE_SEC)
            seat.type(b"\x07")
            escape(seat)
            seat.until_last(f"{SHELL_PROMPT} git status")


def test_the_inputrc_keeps_its_say_and_emacs_keys_can_come_back(shell_home: Home) -> None:
    """A function that puts the options back (`local -`) puts `vi` back too, once readline has read its file."""
    (shell_home.path / ".inputrc").write_text(INPUTRC)
    with shell_home.shell("--no-auto") as seat:
        for line, mode in (("echo =${SHELLOPTS##*:}", "=vi"), ("bind -v | grep editing", "set editing-mode vi")):
            seat.run(line)
            assert mode in seat.lines()
        seat.run("set -o emacs")
        seat.run("ech it works")
        seat.type(b"\x07")
        seat.until(lambda: any("provider offline" in row for row in seat.scrollback()), "the answer's last line")
        seat.until_last(SHELL_PROMPT)
        seat.type(b"\x07")
        seat.until_last(f"{SHELL_PROMPT} echo it works")


SHELLS = [
    ("bash", ".bashrc", "PS1='me:$ '\nHISTFILE=\n", "set -o vi", "set -o emacs"),
    ("zsh", ".zshrc", "PROMPT='me:$ '\n", "bindkey -v", "bindkey -e"),
    (
        "fish",
        ".config/fish/config.fish",
        "function fish_prompt; echo -n 'me:$ '; end\nfunction fish_mode_prompt; end\nset fish_greeting\n",
        "fish_vi_key_bindings",
        "fish_default_key_bindings",
    ),
]


@pytest.mark.parametrize(("name", "file", "text", "to_vi", "to_emacs"), SHELLS, ids=[shell[0] for shell in SHELLS])
def test_the_mode_has_the_keys_that_the_shell_has_now(
    shell_home: Home, name: str, file: str, text: str, to_vi: str, to_emacs: str
) -> None:
    """A switch in the running shell counts from its next prompt on, in the visit that goes on too."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} here")
    (shell_home.path / ".local/share/fish/generated_completions").mkdir(parents=True)
    (shell_home.path / file).parent.mkdir(parents=True, exist_ok=True)
    (shell_home.path / file).write_text(text)
    with shell_home.shell("--no-auto", path=path) as seat:
        seat.until_last(SHELL_PROMPT)
        seat.type("@ai\r")
        seat.until_last(MODE_PROMPT)
        assert not has_vi_keys(seat)
        seat.type(f"{to_vi}\r")
        seat.until_shown(f"\nme:$ {to_vi}")
        seat.until_last(MODE_PROMPT)
        assert has_vi_keys(seat)
        seat.type(f"{to_emacs}\r")
        seat.until_shown(f"\nme:$ {to_emacs}")
        seat.until_last(MODE_PROMPT)
        assert not has_vi_keys(seat)


def has_vi_keys(seat: Seat) -> bool:
    """Whether Escape, `0`, `x` takes the first character away; the line is empty again afterwards."""
    seat.type("ab")
    seat.until_last(f"{MODE_PROMPT} ab")
    escape(seat)
    seat.type("0x")
    while seat.step(ESCAPE_SEC):
        pass
    line = seat.last
    seat.type(b"\x03")
    seat.until_last(MODE_PROMPT)
    return line == f"{MODE_PROMPT} b"
