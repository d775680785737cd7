"""Lines of start-up files that get in the integration's way: found with their place, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from neocode.doctor.startup_files import bindings, files_of, obstacles


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("bash", ".bashrc", "PROMPT_COMMAND='history -a'"),
        ("bash", ".bashrc", "  unset PROMPT_COMMAND"),
        ("bash", ".bashrc", "PS0=''"),
        ("bash", ".bashrc", "[ -t 1 ] && exec zsh -l"),
        ("bash", ".bash_profile", "if [ -z $TMUX ]; then exec tmux new -A; fi"),
        ("bash", ".bashrc", "readonly PROMPT_COMMAND"),
        ("bash", ".bashrc", "unset NEOCODE_SESSION_DIR"),
        ("bash", ".profile", "exec /usr/bin/fish"),
        ("zsh", ".zshenv", "export ZDOTDIR=$HOME/.config/zsh"),
        ("zsh", ".zshrc", "precmd_functions=(my_precmd)"),
        ("zsh", ".zshrc", "exec fish"),
        ("fish", ".config/fish/config.fish", "exec bash"),
        ("fish", ".config/fish/conf.d/keys.fish", "bind --erase --all"),
    ],
)
def test_a_line_that_gets_in_the_way_is_named_with_its_place(tmp_path: Path, kind: str, name: str, line: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# a comment\n{line}\n")
    found = [each for each in obstacles(kind, {"HOME": str(tmp_path)}) if each.place.startswith(str(tmp_path))]
    assert [each.place for each in found] == [f"{path}:2"]
    assert found[0].cause.do


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("bash", ".bashrc", "# exec zsh"),
        ("bash", ".bashrc", 'PROMPT_COMMAND="history -a; $PROMPT_COMMAND"'),
        ("bash", ".bashrc", "PROMPT_COMMAND+=(update)"),
        ("bash", ".bashrc", 'PS0="${PS0-}$(date)"'),
        ("bash", ".bashrc", "alias ll='ls -l'; # then exec zsh"),
        ("bash", ".bashrc", "eval $(ssh-agent) && exec 3>&1"),
        ("bash", ".bashrc", 'function execute() { bash -c "$1"; }'),
        ("zsh", ".zshenv", "ZDOTDIR=${ZDOTDIR:-$HOME/.config/zsh}"),
        ("zsh", ".zshrc", "precmd_functions=($precmd_functions my_precmd)"),
        ("zsh", ".zshrc", "precmd_functions+=(my_precmd)"),
    ],
)
def test_what_harms_nothing_is_not_named(tmp_path: Path, kind: str, name: str, line: str) -> None:
    (tmp_path / name).write_text(line + "\n")
    assert [each.text for each in obstacles(kind, {"HOME": str(tmp_path)}) if str(tmp_path) in each.place] == []


def test_zsh_files_are_looked_for_where_zdotdir_says(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / ".zshrc").write_text("exec fish\n")
    (tmp_path / ".zshrc").write_text("exec fish\n")
    files = files_of("zsh", {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path / "z")})
    assert tmp_path / "z" / ".zshrc" in files
    assert tmp_path / ".zshrc" not in files


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("bash", ".inputrc", '"\\C-g": kill-whole-line'),
        ("bash", ".inputrc", '"\\C-g\\C-s": "git status\\n"'),
        ("bash", ".inputrc", "Control-g: kill-line"),
        ("bash", ".bashrc", "bind -x '\"\\C-g\": fzf'"),
        ("zsh", ".zshrc", "bindkey '^G' my-widget"),
        ("fish", ".config/fish/config.fish", "bind \\cg my_function"),
        ("fish", ".config/fish/config.fish", "bind ctrl-g my_function"),
    ],
)
def test_the_line_that_binds_the_hotkey_is_named(tmp_path: Path, kind: str, name: str, line: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    assert [each.place for each in bindings(kind, {"HOME": str(tmp_path)}, "g")] == [f"{path}:1"]
    assert list(bindings(kind, {"HOME": str(tmp_path)}, "t")) == []


def test_files_that_cannot_be_read_and_binary_ones_are_survived(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_bytes(b"\xff\xfe\x00exec zsh\n" * 10)
    (tmp_path / ".profile").mkdir()
    list(obstacles("bash", {"HOME": str(tmp_path)}))
