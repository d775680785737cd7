"""Bash with us and bash without us: the same start-up files, the same environment and options, the same screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

TWO_LINES = "PS1='\\[\\e[32m\\]\\u@host\\[\\e[m\\] \\w\\n\\$ '\n"
RIGHT = "PS1='\\[\\e7\\e[70Cright\\e8\\]left \\$ '\n"
STARSHIP = (
    # how starship 1.x hooks bash: PS1 made anew at each prompt from $? and PIPESTATUS
    'starship_precmd() { STATUS=$? PIPE=${PIPESTATUS[*]}; PS1="\\n[$STATUS $PIPE] in \\w\\n> "; }\n'
    "PROMPT_COMMAND=starship_precmd\n"
    "PS0='${STARSHIP:$((STARSHIP_READY=0,0)):0}'\"${PS0-}\"\n"
)


@pytest.fixture
def both(start, home: Path):
    """Run the same keys with and without us; what each screen shows at the end, and the cursor."""

    def run_both(rc: str, *steps: str, **options):
        (home / ".bashrc").write_text(rc)
        results = []
        for integrate in (False, True):
            shell = start("bash", integrate=integrate, **options)
            for step in steps:
                if step.endswith(("\r", "\x03")):
                    shell.prompt_after(step, times=2 if step == "\x03" else 1)
                else:
                    shell.keys(step)
            results.append((shell.scrollback(), shell.cursor))
        return results

    return run_both


@pytest.mark.parametrize(
    "rc",
    [
        TWO_LINES,
        "PS1='\\n\\w\\n\\n\\$ '\n",  # ghostty-org/ghostty#11003: a prompt that begins with a newline
        "PS1='trailing\\'\n",
        "PS1='$(echo sub) \\# ${x:-y} $? > '\n",
        STARSHIP,
        "PS1='$ '; PROMPT_COMMAND='echo \"hook $?\"'\n",
        "PS1='$ '; PROMPT_COMMAND=('echo \"a $? ${PIPESTATUS[*]}\"' 'echo \"b $? $_\"')\n",
        "PS1='$ '; PROMPT_COMMAND='echo \"[$?]\"'; readonly PROMPT_COMMAND\n",
        "PS1='$ '; export PROMPT_COMMAND='x=$?'\n",
        "PS1='$ '; PS0='<\\u \\t>'\nPS0=${PS0/ \\\\t}\n",
        "PS1='$ '; trap ': traced' DEBUG; readonly PROMPT_COMMAND\n",
        "PS1='${x} $ '; shopt -u promptvars\n",
        "readonly PS1='fixed $ '\n",
        "set -o vi; bind 'set show-mode-in-prompt on'; PS1='a\\nb $ '\n",
        "PS1='$ '; set -u; false\n",
        "unset PS1\n",
        "PS1='宽提示符 é\\n日本 $ '\n",
    ],
)
def test_the_screen_is_the_same(both, rc: str) -> None:
    """PS1 is wrapped, PROMPT_COMMAND and PS0 are added to, and nothing of it shows (kovidgoyal/kitty#4476)."""
    plain, ours = both(
        rc, "echo \"$? $_\"\r", "false | true\r", "echo \"$? ${PIPESTATUS[*]}\"\r", "(exit 3)\r", "\r", "\x03",
        "echo " + "wrapped " * 15, "\x01", "\x1b[C" * 5, "\x0c", "\x05", "\r",
        "for i in 1; do\x0a", "echo $i; done\r", "\x12wra", "\x07", "\x15ech\t\t", "half typed \x1b\x02",
    )  # fmt: skip
    assert plain == ours


def test_a_right_prompt_is_the_same(both) -> None:
    plain, ours = both(RIGHT, "false\r", "echo " + "wrapped " * 15, "\x01", "\x0c", "\r", "\x12wra", "\r", "half")
    assert plain == ours


@pytest.mark.parametrize("rc", [TWO_LINES, STARSHIP])
def test_the_screen_is_the_same_on_a_small_terminal(both, rc: str) -> None:
    keys = ("seq 30\r", "echo " + "x" * 100 + "\r", "echo " + "y" * 60, "\x01", "\x0c", "\r")
    plain, ours = both(rc, *keys, rows=6, cols=20)
    assert plain == ours


INSPECT = (
    "{ env; set -o; shopt -p; trap -p; alias; bind -p; bind -s; bind -X; bind -v; ulimit -a; umask; "
    'echo "$0 $- $SHLVL"; declare -p HISTFILE HISTSIZE HISTCONTROL IFS PS2 PS4 BASH_REMATCH OPTIND; '
    'echo "${BASH_ARGV[*]} $#"; } >state 2>&1\r'
)


def inspect(shell) -> list[str]:
    """Everything that a program or a user can ask the shell about itself, without what is ours by contract."""
    shell.prompt_after(INSPECT)
    state = (shell.home / "state").read_text()
    return re.sub(
        r"(?m)^(?:NEOCODE_(?:SHELL_SESSION|SESSION_DIR)=|_=|alias @ai=|.*__neocode_(?:widget|hotkey)).*\n", "", state
    )
    return state.splitlines()


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize(
    "rc", ["", "set -o vi; set -o noclobber; shopt -s extglob; trap 'echo bye' EXIT; [[ ab =~ a(b) ]]\n"]
)
@pytest.mark.parametrize(
    "environ",
    [
        {},
        {
            "ENV": "/nonexistent/$x",
            "HISTFILE": "/dev/null",
            "PROMPT_COMMAND": "x=1",
            "HISTTIMEFORMAT": "%F",
            "SHELLOPTS": "braceexpand:emacs:hashall:histexpand:history:interactive-comments:monitor:pipefail",
        },
    ],
)
def test_the_environment_the_options_and_the_keys_are_the_same(start, home: Path, login, rc, environ) -> None:
    """Only one login shell's way in leaves traces: POSIX mode, ENV, HISTFILE (all undone)."""
    for name in (".bashrc", ".bash_profile"):
        (home / name).write_text("PS1='$ '\n" + rc)
    plain, ours = (inspect(start("bash", integrate=on, login=login, **environ)) for on in (False, True))
    assert len(plain) > 300
    assert ours == plain


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ((".bash_profile", ".profile"), ("-l",)),
        ((".bash_login", ".profile"), ("--login", "-i")),
        ((".profile",), ("-il", "+H")),
        ((), ("-l",)),
        ((".bash_profile", ".profile"), ("--noprofile", "--login")),
        ((".bash_profile", ".profile"), ()),
        ((".profile",), ("-i", "-O", "extglob")),
    ],
)
def test_start_up_files_are_the_ones_bash_would_have_read(start, home: Path, files, arguments) -> None:
    """Not twice, not others (microsoft/inshellisense#214)."""
    for name in (*files, ".bashrc"):
        (home / name).write_text(
            f"echo {name} $? $- ${{#BASH_SOURCE[@]}} >>$HOME/log; declare made_by=$0; PS1='$ '; return\n"
        )
    results = []
    for integrate in (False, True):
        shell = start("bash", *arguments, integrate=integrate)
        shell.prompt_after('echo "$made_by $0 $-" $(shopt login_shell) ${ENV-unset} ${POSIXLY_CORRECT-unset} >>log\r')
        results.append((home / "log").read_text())
        (home / "log").unlink()
    assert re.sub(r"(\.\w+ \d \w+) \d", r"\1", results[0]) == re.sub(r"(\.\w+ \d \w+) \d", r"\1", results[1])


def test_a_login_shell_runs_its_logout_file(start, home: Path) -> None:
    (home / ".bash_logout").write_text("echo left >log\n")
    shell = start("bash", login=True)
    shell.type("exit 4\r")
    shell.until(lambda: shell.pty.poll() is not None, "exit")
    assert ((home / "log").read_text(), shell.pty.poll()) == ("left\n", 4)


def test_the_history_file_is_the_same(start, home: Path) -> None:
    (home / ".bash_history").write_text("echo before\n")
    for login in (False, True):
        shell = start("bash", login=login)
        shell.run("echo now")
        assert shell.run("\x1b[A\x1b[A\x1b[A" if not login else "echo x").exit_code == 0
        shell.type("exit\r")
        shell.until(lambda shell=shell: shell.pty.poll() is not None, "exit")
    assert (home / ".bash_history").read_text().startswith("echo before\necho now\n")
    assert not (home / ".sh_history").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--norc",),
        ("--posix",),
        ("--rcfile", "x"),
        ("--init-file", "x"),
        ("-c", "true"),
        ("script",),
        ("-s",),
        ("-o", "posix"),
        ("-p",),
    ],
)
def test_a_bash_that_was_asked_for_something_else_is_left_alone(start, arguments) -> None:
    shell = start("bash", *arguments, wait=False)
    assert not shell.plan.integrated
    assert shell.plan.reason
    assert shell.plan.command.argv == ("bash", *arguments)


@pytest.mark.parametrize(
    "environ", [{"TERM": "dumb"}, {"TERM": ""}, {"INSIDE_EMACS": "29.1,comint"}, {"POSIXLY_CORRECT": "y"}]
)
def test_no_mark_where_it_would_show(start, environ) -> None:
    """microsoft/inshellisense#409: sequences leaked as text."""
    shell = start("bash", wait=False, **environ)
    shell.type("echo $((6*7))\r")
    shell.until_shown("\n42")
    assert not shell.plan.integrated
    assert b"7781" not in shell.raw


def test_a_debug_trap_sees_no_hook_after_the_users_own(both, start, home: Path) -> None:
    """The common timer: a DEBUG trap starts it, the last prompt hook stops it (rcaloras/bash-preexec#24).

    Another hook after that one would start it again while the user thinks."""
    rc = "start() { t=${t:-on}; }; stop() { unset t; PS1='$ '; }; trap start DEBUG; PROMPT_COMMAND=stop\n"
    plain, ours = both(rc, 'echo "t=${t-off}"\r', "trap -p DEBUG\r", "echo ${t-off}\r")
    assert plain == ours
    (home / ".bashrc").write_text(rc + "trap 'seen+=(\"$BASH_COMMAND\")' DEBUG\n")
    shell = start("bash")
    shell.prompt_after("true\r")
    shell.prompt_after("false\r")
    record = shell.run("printf '%s\\n' \"${seen[@]}\"")
    assert shell.output(record).splitlines()[-1].startswith("printf")
    assert shell.output(record).splitlines()[-2] == "stop"
    assert shell.commands()[:2] == [("true", 0), ("false", 1)]


@pytest.mark.parametrize(
    ("rc", "hooks"),
    [
        ("PROMPT_COMMAND='true'", "array"),  # microsoft/vscode#143125: the status was always 0
        ("PROMPT_COMMAND=(true true)", "array"),  # rcaloras/bash-preexec#179
        ("PROMPT_COMMAND=true; readonly PROMPT_COMMAND", "prompt"),
        ("export PROMPT_COMMAND=true", "prompt"),
        ("PROMPT_COMMAND='history -a; history -c; history -r'; HISTCONTROL=ignoreboth", "array"),
    ],
)
def test_every_kind_of_prompt_command_leaves_the_status_alone(start, home: Path, rc: str, hooks: str) -> None:
    (home / ".bashrc").write_text("PS1='$ '\n" + rc + "\n")
    shell = start("bash")
    assert shell.capture.facts["hooks"] == hooks
    for _ in range(2):
        shell.run("false")
    shell.run("false | true; (exit 9)")
    assert shell.commands() == [("false", 1), ("false", 1), ("false | true; (exit 9)", 9)]
    assert all(record.cwd == str(home) for record in shell.capture.records)


def test_an_exported_prompt_command_reaches_children_unchanged(start, home: Path) -> None:
    (home / ".bashrc").write_text("PS1='$ '\nexport PROMPT_COMMAND=:\n")
    shell = start("bash")
    assert shell.output(shell.run("printenv PROMPT_COMMAND")).startswith(":\n")


def test_hooks_survive_a_user_who_replaces_them(start, home: Path) -> None:
    """PS1, PS0 and PROMPT_COMMAND assigned anew at the prompt (microsoft/inshellisense#200)."""
    (home / ".bashrc").write_text("PS1='$ '\n")
    shell = start("bash")
    shell.run("PS1='new> '; PS0=; false")
    shell.run("false")
    shell.run("PROMPT_COMMAND+=(true)")
    shell.run('PROMPT_COMMAND=mine; mine() { echo "mine $?"; }; (exit 6)')
    assert shell.commands()[-1][1] == 6
    assert shell.run("(exit 7)").exit_code == 7
    assert shell.lines()[-2:] == ["mine 7", "new>"]
    shell.run('PS1="(venv) $PS1"')
    shell.run("false")
    assert shell.commands()[-1] == ("false", 1)
    assert shell.lines()[-1] == "(venv) new>"
    assert shell.capture.state == "input"


def test_a_list_is_where_lists_are_known_and_a_string_elsewhere(start, home: Path, monkeypatch) -> None:
    """Bash before 5.1 runs PROMPT_COMMAND as one string; the status must pass through it."""
    from ptyproxy.integration import plan

    source = plan.script("bash").replace("< 501", "< 901")
    monkeypatch.setattr(plan, "script", lambda kind: source)
    (home / ".bashrc").write_text("PS1='$ '\nPROMPT_COMMAND='echo \"got $?\"'\n")
    shell = start("bash")
    assert shell.capture.facts["hooks"] == "string"
    shell.run("set -e")
    shell.run("! (exit 3) || true; f() { return 3; }; f || (exit 0)")
    shell.run("set +e")
    record = shell.run("(exit 3)")
    assert (record.exit_code, shell.lines()[-2:]) == (3, ["got 3", "$"])


def test_an_old_bash_tells_where_prompts_are_and_the_status(start, home: Path, monkeypatch) -> None:
    """Bash before 4.4 (macOS) has no PS0; commands are then what followed an Enter, called approximate."""
    from ptyproxy.integration import plan

    source = plan.script("bash").replace("< 404", "< 904")
    monkeypatch.setattr(plan, "script", lambda kind: source)
    (home / ".bashrc").write_text("PS1='$ '\nPROMPT_COMMAND='echo \"got $?\"'\n")
    shell = start("bash")
    shell.events += shell.capture.enter(typed=True)
    shell.prompt_after("(exit 3)\r")
    assert [(record.exit_code, record.approximate) for record in shell.capture.records] == [(3, True)]
    assert (shell.capture.state, shell.lines()[-2:]) == ("input", ["got 3", "$"])


BASH_PREEXEC = """
__bp_imported=defined
__bp_mode=
__bp_set() { return "$1"; }
__bp_precmd_invoke_cmd() { local s=$? f; for f in "${precmd_functions[@]}"; do __bp_set "$s"; "$f"; done; }
__bp_interactive_mode() { __bp_mode=on; }
__bp_debug() {
  [[ -t 1 && $__bp_mode ]] || return
  __bp_mode=
  [[ ${PROMPT_COMMAND[0]} != *"$BASH_COMMAND"* ]] || return
  local f
  for f in "${preexec_functions[@]}"; do "$f" "$(HISTTIMEFORMAT= history 1 | sed '1 s/^ *[0-9]*[* ] //')"; done
}
__bp_install() {
  trap '__bp_debug "$_"' DEBUG
  precmd_functions+=(precmd)
  PROMPT_COMMAND=$'__bp_precmd_invoke_cmd\\n'"${PROMPT_COMMAND/__bp_install/:}"$'\\n__bp_interactive_mode'
  __bp_precmd_invoke_cmd
  __bp_interactive_mode
}
PROMPT_COMMAND+=$'\\n__bp_install'
preexec_functions+=(ran); ran() { echo "ran: $1"; }
precmd_functions+=(mine); mine() { :; }
precmd() { PS1="[$?]$ "; }
"""


def test_bash_preexec_and_we_do_not_disturb_each_other(both, start, home: Path) -> None:
    """Its DEBUG trap, its PROMPT_COMMAND, its list of functions, in miniature (rcaloras/bash-preexec#24)."""
    plain, ours = both(BASH_PREEXEC, "echo a\r", "false\r", "\r", "false\r")
    assert plain == ours
    assert "ran: false" in plain[0]
    shell = start("bash")
    assert shell.capture.facts["hooks"] == "preexec"
    for command in ("false", "false", "echo x"):
        shell.run(command)
    assert shell.commands() == [("false", 1), ("false", 1), ("echo x", 0)]
    assert shell.lines()[-1] == "[0]$"
    shell.hotkey()
    shell.order(show="shown\n", line="echo y")
    assert shell.lines()[-2:] == ["shown", "[0]$ echo y"], "what we bound is no command of the user's"
    shell.prompt_after("\r")
    assert shell.lines()[-3:] == ["ran: echo y", "y", "[0]$"]
