"""What bash's widget does to the screen and to the line, and the hotkey."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

ONE, TWO = "PS1='$ '\n", "PS1='\\n\\[\\e[1m\\]one\\[\\e[m\\] 宽\\n\\$ '\n"
COLOURED = "PS1='a\\n\\[\\e[01;32m\\]user@host\\[\\e[00m\\]:\\[\\e[01;34m\\]~\\[\\e[00m\\]\\$ '\n"
REWRITTEN = "PROMPT_COMMAND='PS1=\"[$?]\\n> \"'\n"


@pytest.fixture
def bash(start, home: Path):
    """Start bash with this ~/.bashrc."""

    def start_bash(rc: str = ONE, **options):
        (home / ".bashrc").write_text(rc)
        return start("bash", **options)

    return start_bash


def prompt_rows(shell) -> int:
    return len(shell.lines())


@pytest.mark.parametrize("rc", [ONE, TWO, COLOURED, REWRITTEN, "set -o vi\n" + TWO, ONE + "trap : DEBUG\n"])
@pytest.mark.parametrize("typed", ["", "half typed\x1b[D\x1b[D\x1b[D", "wrapped " * 14 + "\x1b[D" * 60])
def test_text_appears_above_the_prompt_and_the_line_stays(bash, rc: str, typed: str) -> None:
    shell = bash(rc)
    shell.run("echo before")
    above = shell.lines()[: -prompt_rows_of(rc)]
    shell.type(typed)
    shell.until(lambda: typed[:4] in shell.lines()[-1] + shell.lines()[-2], "what was typed")
    shell.settle()
    prompt = shell.lines()[len(above) :]
    row, column = shell.cursor
    shell.order(show="\x1b[1mfirst\x1b[m\nsecond 行\n")
    assert shell.lines() == [*above, "first", "second 行", *prompt]
    assert shell.cursor == (row + 2, column)
    # and the editor still knows where it is
    shell.type("x" if "vi" in rc else "\x05x")
    shell.settle()
    assert "x" in "".join(shell.lines()[-2:])


def prompt_rows_of(rc: str) -> int:
    return {ONE: 1, TWO: 3, COLOURED: 2, REWRITTEN: 2}.get(
        rc.replace("set -o vi\n", "").replace("trap : DEBUG\n", ""), 1
    )


@pytest.mark.parametrize("typed", ["", "x" * 50])
def test_text_on_the_last_row_scrolls_the_screen(bash, typed: str) -> None:
    shell = bash(TWO, rows=8, cols=40)
    shell.run("seq 20")
    shell.type(typed)
    shell.settle()
    assert shell.cursor[0] == 7
    before = shell.scrollback()
    prompt = 3 if not typed else 4
    shell.order(show="".join(f"line {i}\n" for i in range(12)))
    assert shell.scrollback() == [*before[:-prompt], *(f"line {i}" for i in range(12)), *before[-prompt:]]


def test_a_prompt_line_that_fills_several_rows_is_cleared_whole(bash) -> None:
    shell = bash("PS1='" + "p" * 100 + "\\n" + "日" * 45 + "\\n$ '\n", cols=80)
    shell.run("echo before")
    before = shell.lines()
    shell.order(show="shown\n")
    assert shell.lines() == [*before[:-5], "shown", *before[-5:]]


def test_at_a_continuation_prompt_nothing_above_is_cleared(bash) -> None:
    shell = bash(TWO)
    shell.type("for i in 1; do\r")
    shell.until_shown("\n>")
    before = shell.lines()
    shell.session.write("show", b"shown\n")
    shell.type(shell.plan.widget_key)
    shell.until(lambda: shell.lines() == [*before[:-1], "shown", ">"], "the text above the continuation prompt")
    shell.prompt_after("done\r")


def test_a_line_is_put_in_replaced_and_taken_away(bash) -> None:
    shell = bash()
    assert shell.hotkey() == {"line": "empty"}
    shell.order(line="git push --set-upstream origin 'ünïcode 日本'")
    assert shell.lines()[-1] == "$ git push --set-upstream origin 'ünïcode 日本'"
    assert shell.hotkey() == {"line": "same"}
    shell.order(line="echo second")
    assert shell.lines()[-1] == "$ echo second"
    assert shell.cursor[1] == len("$ echo second")
    shell.order(line="")
    assert (shell.lines()[-1], shell.hotkey()) == ("$", {"line": "empty"})
    shell.order(show="and text\n", line="false")
    assert shell.lines()[-2:] == ["and text", "$ false"]
    shell.prompt_after("\r")
    assert shell.commands() == [("false", 1)]


def test_a_line_of_the_users_is_never_replaced(bash) -> None:
    shell = bash()
    shell.type("mine")
    shell.order(line="theirs")
    assert shell.lines()[-1] == "$ mine"
    assert shell.hotkey() == {"line": "other"}
    shell.type("\x15")
    shell.order(line="fix")
    shell.type("ed")
    shell.order(line="other")
    assert shell.lines()[-1] == "$ fixed"
    assert not Path(shell.session.directory, "line").exists()


def test_an_inserted_line_that_ran_is_forgotten(bash) -> None:
    shell = bash()
    shell.order(line="true")
    shell.prompt_after("\r")
    shell.type("true")
    shell.settle()
    assert shell.hotkey() == {"line": "other"}


@pytest.mark.parametrize("keys", ["", "\x1b"])
def test_the_widget_works_in_both_vi_keymaps(bash, keys: str) -> None:
    shell = bash("set -o vi\n" + ONE)
    shell.type("abc" + keys)
    shell.settle()
    assert shell.hotkey() == {"line": "other"}
    shell.order(show="shown\n")
    assert shell.lines() == ["shown", "$ abc"]


@pytest.mark.parametrize(
    ("rc", "owner"),
    [
        ("", "ours"),
        ('bind \'"\\C-g": "text"\'\n', "user"),
        ('bind \'"\\C-g\\C-f": "files"\'\n', "user"),  # what fzf-git.sh binds
        ("bind -x '\"\\C-g\": echo hi'\n", "user"),
        ("bind '\"\\C-g\": forward-word'\n", "user"),
        ('set -o vi; bind -m vi-insert \'"\\C-g": "text"\'\n', "user"),
    ],
)
def test_a_key_that_the_user_bound_stays_theirs(bash, rc: str, owner: str) -> None:
    shell = bash(ONE + rc)
    assert shell.capture.facts["hotkey"] == owner
    assert shell.capture.facts["shell"].startswith("bash 5.")


def test_the_hotkeys_byte_keeps_its_meaning_in_readlines_search(bash) -> None:
    shell = bash()
    shell.run("echo found")
    shell.type("\x12ec")
    shell.until_shown("reverse-i-search")
    shell.type("\x07")
    shell.until(lambda: shell.lines()[-1] == "$", "the prompt without the search")
    assert shell.hotkeys() == []


def test_another_hotkey_or_none(bash) -> None:
    assert bash(hotkey="").capture.facts["hotkey"] == "none"
    assert bash(ONE + 'bind \'"\\C-o": "mine"\'\n', hotkey="ctrl-o").capture.facts["hotkey"] == "user"
    assert bash(hotkey="ctrl-o").capture.facts["hotkey"] == "ours"


def test_status_pipestatus_and_the_last_argument_survive_the_widget(bash) -> None:
    shell = bash()
    shell.run("(exit 3) | (exit 4)")
    shell.order(show="shown\n")
    shell.hotkey()
    assert shell.output(shell.run('echo "$? ${PIPESTATUS[*]}"')) == "4 3 4\n"


def test_a_narrow_terminal_after_a_resize(bash) -> None:
    from ptyproxy.platform.base import Size

    shell = bash(TWO)
    shell.pty.resize(Size(24, 40))
    shell.screen.resize(24, 40)
    shell.settle()
    shell.run("echo before")
    before = shell.lines()
    shell.order(show="shown\n")
    assert shell.lines() == [*before[:-3], "shown", *before[-3:]]
