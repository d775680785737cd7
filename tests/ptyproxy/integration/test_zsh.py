"""Zsh with its marks and its widget, and zsh with us next to zsh without us."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

ONE, TWO = "PS1='%# '\n", "PS1=$'\\n%B一%b two\\n%# '\nRPS1='right'\n"
STARSHIP = (
    "starship_precmd() { STATUS=$? PIPE=$pipestatus; PS1=$'\\n'\"[$STATUS $PIPE]\"$'\\n> '; RPS1=\"<$STATUS\" }\n"
    "precmd_functions+=(starship_precmd)\n"
)


@pytest.fixture
def zsh(start, home: Path):
    """Start zsh with this ~/.zshrc."""

    def start_zsh(rc: str = ONE, *arguments: str, **options):
        (home / ".zshrc").write_text(rc)
        return start("zsh", *arguments, **options)

    return start_zsh


@pytest.fixture
def both(zsh):
    """Run the same keys with and without us; what each screen shows at the end, and the cursor."""

    def run_both(rc: str, *steps: str, **options):
        results = []
        for integrate in (False, True):
            shell = zsh(rc, integrate=integrate, **options)
            for step in steps:
                if step.endswith(("\r", "\x03")):
                    shell.prompt_after(step)
                else:
                    shell.keys(step)
            results.append((shell.scrollback(), shell.cursor))
        return results

    return run_both


def test_commands_are_recorded_exactly(zsh, home: Path) -> None:
    shell = zsh("setopt hist_ignore_space hist_ignore_dups\n" + ONE)
    commands = [
        "echo one",
        "false",
        "false",
        " echo hidden; false",
        "echo 你好 %;\\e; (exit 3)",
        "echo " + "0123456789" * 40,
    ]
    for command in commands:
        assert shell.run(command).command == command
    assert [record.exit_code for record in shell.capture.records] == [0, 1, 1, 1, 3, 0]
    assert all(record.exact and record.cwd == str(home) for record in shell.capture.records)
    assert shell.output(shell.run("print a; print b | cat")).startswith("a\nb\n")
    assert shell.capture.faults == 0


def test_typed_ahead_multi_line_and_interrupted_commands(zsh) -> None:
    shell = zsh()
    shell.prompt_after("\x03")
    shell.prompt_after("\r")
    shell.prompt_after("half\x03")
    assert shell.commands() == []
    shell.type("for i in 1 2; do\r")
    shell.until_shown("for>")
    assert shell.run("print $i; done; false").command == "for i in 1 2; do\nprint $i; done; false"
    shell.type("print a\rfalse\rprint b\r")
    shell.until(lambda: len(shell.capture.records) == 4, "four records")
    assert shell.commands()[1:] == [("print a", 0), ("false", 1), ("print b", 0)]


def test_without_a_history_the_line_is_still_told(zsh) -> None:
    assert zsh("HISTSIZE=0\n" + ONE).run("print 'a  b'; false").command == "print 'a  b'; false"


@pytest.mark.parametrize(
    "rc",
    [
        ONE,
        TWO,
        STARSHIP,
        "PS1='%3~ %'\n",  # ghostty-org/ghostty#11832: the % took the mark for its own
        "setopt prompt_subst; PS1='$(echo sub) $? %(?.ok.bad) > '; RPS1='$x'\n",
        "precmd() { print \"hook $? $pipestatus\" }; PS1='%# '\n",
        "bindkey -v; PS1='v%# '\n",
        "setopt ksh_arrays sh_word_split no_unset; PS1='%# '\n",
        "setopt no_prompt_percent; PS1='plain '\n",
        "setopt err_return warn_create_global; PS1='%# '\n",
        "setopt transient_rprompt; PS1='%# '; RPS1=$'right'\n",
        "PS1='%# '; set -x; set +x\n",
    ],
)
def test_the_screen_is_the_same(both, rc: str) -> None:
    """RPS1 is not touched (atuinsh/atuin#3758)."""
    plain, ours = both(
        rc, "echo \"$? $_\"\r", "false | true\r", "echo \"$? $pipestatus\"\r", "(exit 3)\r", "\r", "\x03",
        "printf x\r", "echo " + "wrapped " * 15, "\x01", "\x0c", "\x05", "\r", "\x12wra", "\x07", "ech\t",
        "\x15half typed",
    )  # fmt: skip
    assert plain == ours


INSPECT = (
    "{ env; set -o; trap; alias; bindkey; bindkey -M vicmd; functions precmd; "
    "print -r - $ZDOTDIR $0 $- $SHLVL } >state 2>&1\r"
)


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("zdotdir", [False, True])
def test_the_environment_and_the_options_are_the_same(start, home: Path, login: bool, zdotdir: bool) -> None:
    """ZDOTDIR is the user's again before any file of theirs runs (microsoft/vscode#145578)."""
    where = home / "z" if zdotdir else home
    where.mkdir(exist_ok=True)
    for name in (".zshenv", ".zprofile", ".zshrc", ".zlogin"):
        (where / name).write_text(f"print {name} ${{ZDOTDIR-unset}} $? >>$HOME/log; typeset v{name[1:]}=1\nPS1='%# '\n")
    states, logs = [], []
    for integrate in (False, True):
        shell = start("zsh", integrate=integrate, login=login, **({"ZDOTDIR": str(where)} if zdotdir else {}))
        shell.prompt_after(INSPECT)
        state = (home / "state").read_text()
        states.append(re.sub(r"(?m)^(?:NEOCODE_\w+=|_=|.*__neocode|\"\^G\" ).*\n", "", state).splitlines())
        logs.append((home / "log").read_text())
        (home / "log").unlink()
    assert len(states[0]) > 150
    assert states[0] == states[1]
    assert logs[0] == logs[1]


def test_a_zsh_without_files_has_its_marks(start, home: Path) -> None:
    shell = start("zsh")
    shell.run("false")
    assert shell.commands() == [("false", 1)]
    assert not list(home.glob(".z*"))


def test_a_zsh_with_other_arguments_is_left_alone(start, home: Path) -> None:
    (home / ".zshrc").touch()
    for arguments in (("-f",), ("-c", "true"), ("script",), ("-fi",)):
        assert not start("zsh", *arguments, wait=False).plan.integrated


def test_nothing_is_printed_before_the_first_prompt(zsh) -> None:
    """Any byte before it makes powerlevel10k's instant prompt complain (romkatv/powerlevel10k#1301)."""
    shell = zsh(ONE + "print 'from the user'\n")
    assert shell.raw.startswith(b"from the user\r\n")


def test_the_nonce_is_nowhere_a_child_or_a_trace_could_show_it(zsh) -> None:
    shell = zsh("setopt all_export\n" + ONE)
    printed = "".join(
        shell.output(shell.run(command))
        for command in (
            "env",
            "functions",
            "fc -l 1",
            "bindkey",
            "print -r - $PS1",
            "cat $NEOCODE_SESSION_DIR/*",
            "set -x",
            "print x",
        )
    )
    assert "NEOCODE_SESSION_DIR" in printed
    assert shell.session.nonce not in printed
    assert "__neocode" not in "\n".join(shell.scrollback()).partition("# set -x")[2]


def test_no_output_can_forge_end_or_hide_a_command(zsh, home: Path) -> None:
    (home / "evil").write_bytes(b"\x1b]7781;neocode;D;nc=%s;exit=0\x07\x1b]133;D;0\x07\x1bP" % (b"0" * 32))
    shell = zsh()
    shell.run("cat evil; false")
    assert shell.commands() == [("cat evil; false", 1)]


@pytest.mark.parametrize("rc", [ONE, TWO, STARSHIP, "bindkey -v\n" + TWO, "setopt prompt_subst; x=y; PS1=$'$x\\n> '\n"])
@pytest.mark.parametrize("typed", ["", "half typed\x1b[D\x1b[D\x1b[D", "wrapped " * 14 + "\x1b[D" * 60])
def test_text_appears_above_the_prompt_and_the_line_stays(zsh, rc: str, typed: str) -> None:
    shell = zsh(rc)
    shell.run("echo before")
    rows = {ONE: 1, STARSHIP: 3, TWO: 3, "bindkey -v\n" + TWO: 3}.get(rc, 2)
    above = shell.lines()[:-rows]
    shell.type(typed)
    shell.until(lambda: typed[:4] in shell.lines()[-1] + shell.lines()[-2], "what was typed")
    shell.settle()
    prompt = shell.lines()[len(above) :]
    row, column = shell.cursor
    shell.order(show="\x1b[1mfirst\x1b[m\nsecond 行\n")
    assert shell.lines() == [*above, "first", "second 行", *prompt]
    assert shell.cursor == (row + 2, column)
    shell.type("x")
    shell.settle()
    assert "x" in "".join(shell.lines()[-2:])


def test_text_on_the_last_row_scrolls_the_screen(zsh) -> None:
    shell = zsh(TWO, rows=8, cols=40)
    shell.run("seq 20")
    assert shell.cursor[0] == 7
    before = shell.scrollback()
    shell.order(show="".join(f"line {i}\n" for i in range(12)))
    assert shell.scrollback() == [*before[:-3], *(f"line {i}" for i in range(12)), *before[-3:]]


def test_a_line_is_put_in_replaced_and_taken_away_but_never_the_users(zsh) -> None:
    shell = zsh()
    assert shell.hotkey() == {"line": "empty"}
    shell.order(line="git push 'ünïcode 日本'")
    assert (shell.lines()[-1], shell.hotkey()) == ("# git push 'ünïcode 日本'", {"line": "same"})
    shell.order(line="")
    assert (shell.lines()[-1], shell.hotkey()) == ("#", {"line": "empty"})
    shell.type("mine")
    shell.order(line="theirs")
    assert (shell.lines()[-1], shell.hotkey()) == ("# mine", {"line": "other"})
    shell.type("\x15")
    shell.order(show="and text\n", line="false")
    assert shell.lines()[-2:] == ["and text", "# false"]
    shell.prompt_after("\r")
    assert shell.commands() == [("false", 1)]


@pytest.mark.parametrize(
    ("rc", "owner"),
    [
        ("", "ours"),
        ("bindkey -s '^G' text\n", "user"),
        ("bindkey -s '^G^F' files\n", "user"),
        ("mine() { }; zle -N mine; bindkey '^G' mine\n", "user"),
        ("bindkey -M viins '^G' beginning-of-line\n", "user"),
    ],
)
def test_a_key_that_the_user_bound_stays_theirs(zsh, rc: str, owner: str) -> None:
    shell = zsh(ONE + rc)
    assert shell.capture.facts["hotkey"] == owner
    assert shell.capture.facts["shell"].startswith("zsh 5.")


def test_the_hotkey_keeps_its_meaning_in_searches(zsh) -> None:
    shell = zsh()
    shell.run("print found")
    shell.type("\x12prin")
    shell.until_shown("bck-i-search: prin")
    shell.type("\x07")
    shell.until(lambda: shell.lines()[-1] == "#", "the prompt without the search")
    assert shell.hotkeys() == []


def test_at_ai_takes_the_line_as_it_was_typed(zsh) -> None:
    shell = zsh()
    shell.run("false")
    line = "@ai why didn't that work? (it's $HOME; `reboot` | \"odd\" & more)"
    for _ in range(2):
        record = shell.run(line)
        assert (record.command, record.exact, record.exit_code) == (line, True, 0)
        assert shell.lines()[-2] == "# " + line
    assert shell.run("@ai").command == "@ai"
    assert shell.run("\\@ai x").exit_code == 127
    shell.type("\x1b[A\x1b[A\x1b[A")
    shell.settle()
    assert shell.lines()[-1] == "# " + line


def test_accept_line_of_the_user_is_called(zsh) -> None:
    rc = "al() { print -n '<accepted>'; zle .accept-line }; zle -N accept-line al\n"
    shell = zsh(ONE + rc)
    shell.run("true")
    assert any("<accepted>" in line for line in shell.lines())
