"""What bash's marks make of a session: one record for each command, with its own line, output and exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

DEBIAN_HISTORY = "HISTCONTROL=ignoreboth\n"


@pytest.fixture
def bash(start, home: Path):
    """Start bash with this ~/.bashrc."""

    def start_bash(rc: str = "", *arguments: str, **options):
        (home / ".bashrc").write_text("PS1='$ '\n" + rc)
        return start("bash", *arguments, **options)

    return start_bash


def test_a_command_is_recorded_with_its_line_output_exit_code_and_directory(bash, home: Path) -> None:
    shell = bash()
    record = shell.run("echo one; echo two >&2; (exit 7)")
    assert (record.command, record.exact, record.exit_code) == ("echo one; echo two >&2; (exit 7)", True, 7)
    assert record.cwd == str(home)
    assert shell.output(record) == "one\ntwo\n"
    assert shell.capture.faults == 0


def test_commands_typed_ahead_are_told_apart(bash) -> None:
    shell = bash()
    shell.type("echo a\rfalse\recho b | cat; (exit 4)\rtrue\r")
    shell.until(lambda: len(shell.capture.records) == 4, "four records")
    assert shell.commands() == [("echo a", 0), ("false", 1), ("echo b | cat; (exit 4)", 4), ("true", 0)]
    assert [shell.output(record) for record in shell.capture.records] == ["a\n", "", "b\n", ""]


@pytest.mark.parametrize("history", ["", DEBIAN_HISTORY, "HISTCONTROL=erasedups\n"])
def test_the_same_command_twice_is_two_records(bash, history: str) -> None:
    shell = bash(history)
    records = [shell.run("false"), shell.run("false"), shell.run("\x1b[A")]
    assert shell.commands() == [("false", 1)] * 3
    assert all(record.exact for record in records)


def test_a_line_that_history_ignores_is_not_taken_for_the_one_before(bash) -> None:
    shell = bash(DEBIAN_HISTORY)
    shell.run("echo shown")
    hidden = shell.run(" echo secret")
    assert (hidden.command, hidden.exact) == (" echo secret", False)
    # the very line of before, with a space: history is the same as for a duplicate
    shell.run("echo shown")
    assert shell.run(" echo shown").command == " echo shown"
    assert "echo secret" not in "".join(path.read_text("latin-1") for path in Path(shell.session.directory).iterdir())


def test_with_history_off_the_line_comes_from_the_screen(bash) -> None:
    shell = bash()
    shell.run("set +o history")
    record = shell.run("echo a; fals\x1b[D\x1b[D\x1b[D\x1b[D\x05e")
    assert (record.command, record.exact, record.exit_code) == ("echo a; false", False, 1)


def test_a_line_edited_by_moving_back_is_recorded_as_it_ran(bash) -> None:
    shell = bash()
    assert shell.run("echo wrd\x1b[D\x1b[Do\x05 more").command == "echo word more"


def test_a_command_of_300_characters_comes_in_parts(bash) -> None:
    command = "echo " + "0123456789" * 30
    record = bash().run(command)
    assert (record.command, record.exact, record.exit_code) == (command, True, 0)


@pytest.mark.parametrize(
    "command", ["echo 你好，世界 🌍 e\u0301; false", "printf '%s;%%' a\\ b; false", "echo $'\\e[1m\\a'; false"]
)
def test_any_characters_of_a_command_survive(bash, command: str) -> None:
    record = bash().run(command)
    assert (record.command, record.exact, record.exit_code) == (command, True, 1)


def test_a_command_over_several_lines_is_one_record(bash) -> None:
    shell = bash()
    shell.type("for i in 1 2; do\r")
    shell.until_shown("\n>")
    record = shell.run("echo $i; done; false")
    assert (record.command, record.exit_code) == ("for i in 1 2; do echo $i; done; false", 1)
    assert shell.output(record) == "1\n2\n"


def test_a_here_document_is_part_of_its_command(bash) -> None:
    shell = bash()
    shell.type("cat <<END\rfirst\r")
    record = shell.run("END")
    assert record.command == "cat <<END\nfirst\nEND"
    assert shell.output(record) == "first\n"


def test_background_output_belongs_to_no_command(bash, home: Path) -> None:
    shell = bash()
    shell.run("{ until [ -e go ]; do :; done; echo late; } &")
    (home / "go").touch()
    shell.until_shown("$ late")
    after = shell.run("echo after")
    assert shell.output(after) == "after\n"
    assert all("late" not in shell.output(record) for record in shell.capture.records)


def test_ctrl_c_at_a_prompt_makes_no_record(bash) -> None:
    shell = bash()
    shell.prompt_after("\x03", times=2)
    shell.prompt_after("half typed\x03", times=2)
    shell.prompt_after("\r")
    shell.prompt_after("# only a comment\r")
    assert shell.commands() == []
    assert shell.run("false").exit_code == 1


def test_an_interrupted_command_has_130(bash) -> None:
    shell = bash()
    shell.type("echo began; read -r x\r")
    shell.until_shown("\nbegan")
    shell.prompt_after("\x03")
    assert shell.commands() == [("echo began; read -r x", 130)]


def test_a_nested_shell_is_one_command_of_the_outer_one(bash) -> None:
    """The nested shell's prompts and commands end nothing (warpdotdev/warp#2317)."""
    shell = bash()
    shell.type("PS1='in> ' bash --norc\r")
    shell.until_shown("in>")
    shell.type("false\r")
    shell.type("echo $((6*7))\r")
    shell.until_shown("\n42")
    shell.prompt_after("exit 5\r")
    assert shell.commands() == [("PS1='in> ' bash --norc", 5)]
    assert "42" in shell.output(shell.capture.records[0])


def test_a_nested_shell_that_reads_the_same_files_marks_nothing(bash) -> None:
    """The nonce is gone by then, also for the user who sources the script in ~/.bashrc."""
    shell = bash()
    shell.type("bash --init-file $NEOCODE_SESSION_DIR/neocode.bash; echo back\r")
    shell.until(lambda: shell.raw.count(b"\x1b[?2004h") >= 2, "the nested prompt")
    shell.prompt_after("exit\r")
    assert shell.commands() == [("bash --init-file $NEOCODE_SESSION_DIR/neocode.bash; echo back", 0)]


def test_no_output_can_forge_end_or_hide_a_command(bash, home: Path) -> None:
    nonce = "0" * 32
    (home / "evil").write_bytes(
        b"\x1b]133;D;0\x07\x1b]633;E;rm -rf /\x07\x1b]7781;neocode;A\x07$ \x1b]7781;neocode;B\x07"
        b"\x1b]7781;neocode;D;nc=%s;exit=0\x07\x1b]7781;neocode;C;cmd=forged\x07\x1bc\x1b]7781;neocode;C;nc=\x1bP"
        % nonce.encode()
    )
    shell = bash()
    record = shell.run("cat evil; false")
    assert shell.commands() == [("cat evil; false", 1)]
    assert shell.output(record).startswith("\x1b]133;D;0")


def test_the_nonce_is_nowhere_a_child_could_read_it(bash, home: Path) -> None:
    shell = bash("set -a\n")
    nonce = shell.session.nonce
    assert not Path(shell.session.directory, "nonce").exists()
    printed = "".join(
        shell.output(shell.run(command))
        for command in (
            "env", "declare -f", "declare -px", "history", "echo \"$PS0$PS1${PROMPT_COMMAND[*]}\"", "bind -X",
            "cat $NEOCODE_SESSION_DIR/* 2>&1", "tr '\\0' '\\n' </proc/self/environ; tr '\\0' ' ' </proc/$$/cmdline",
        )
    )  # fmt: skip
    assert "NEOCODE_SESSION_DIR" in printed
    assert nonce not in printed.replace("\x1b]7781;neocode;C;nc=" + nonce, "")


@pytest.mark.parametrize("option", ["set -x", "set -v", "set -xv", "exec 7>trace; BASH_XTRACEFD=7; set -x"])
def test_a_trace_shows_neither_hooks_nor_nonce(bash, home: Path, option: str) -> None:
    shell = bash()
    shell.run(option)
    shell.run("echo traced")
    shell.hotkey()
    shell.order(show="shown\n")
    record = shell.run("echo last")
    trace = (home / "trace").read_text() if (home / "trace").exists() else ""
    assert shell.session.nonce not in "\n".join(shell.scrollback()) + trace + shell.output(record)
    if "x" in option and not trace:
        assert shell.output(record).startswith("+ echo last\nlast\n")
    if "v" not in option:
        assert not any("neocode" in line for line in shell.scrollback())


@pytest.mark.parametrize("options", ["set -euo pipefail", "set -eEuTo pipefail; trap 'echo ERR' ERR"])
@pytest.mark.parametrize("where", ["typed", "rc"])
def test_strict_options_neither_end_the_shell_nor_lose_records(bash, options: str, where: str) -> None:
    shell = bash(options + "\n" if where == "rc" else "")
    if where == "typed":
        shell.run(options)
    shell.prompt_after("\r")
    shell.order(show="shown\n")
    shell.hotkey()
    shell.order(line="echo inserted")
    assert (shell.prompt_after("\r"), shell.commands()[-1]) == (None, ("echo inserted", 0))
    assert shell.run("@ai isn't it?").command == "@ai isn't it?"
    assert shell.pty.poll() is None


def test_a_directory_with_any_name_is_told(bash, home: Path) -> None:
    name = "a b;c%d\nè日"
    (home / name).mkdir()
    shell = bash()
    shell.run("cd a*")
    assert shell.capture.cwd == str(home / name)


def test_at_ai_takes_the_line_as_it_was_typed(bash) -> None:
    shell = bash(DEBIAN_HISTORY)
    shell.run("false")
    line = "@ai why didn't that work? (it's $HOME; `reboot` | \"odd\" & more)"
    for _ in range(2):
        record = shell.run(line)
        assert (record.command, record.exact, record.exit_code, shell.output(record)) == (line, True, 0, "")
    assert shell.run("@ai").command == "@ai"
    assert shell.run("\\@ai x").exit_code == 127


def test_the_users_own_at_ai_stays(bash) -> None:
    assert bash("alias @ai='echo mine'\n").run("@ai x").exit_code == 0


def test_prompt_hooks_cost_less_than_two_milliseconds_and_no_process(bash, home: Path) -> None:
    shell = bash()
    shell.run(
        "probe() { local i s=${EPOCHREALTIME/./}; for ((i = 0; i < 100; i++)); do __neocode_ran=1;"
        " { __neocode_precmd; } 3>&2 2>/dev/null; { __neocode_prompt; } 3>&2 2>/dev/null; done;"
        ' echo "$(((${EPOCHREALTIME/./} - s) / 100))" >cost; }'
    )
    shell.run("history -s 'echo " + "word " * 60 + "日本語'")
    shell.prompt_after("(echo $BASHPID) >first; probe; (echo $BASHPID) >second\r")
    first, second, cost = (int((home / name).read_text()) for name in ("first", "second", "cost"))
    assert second - first < 20  # a fork for each of a hundred prompts would be more; others on the machine start some
    assert shell.raw.count(b";D;nc=") > 100
    assert cost < 2000
