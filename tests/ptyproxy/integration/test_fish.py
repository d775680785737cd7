"""Fish with its marks and its widget, and fish with us next to fish without us."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("sys.platform == 'win32'")

ONE = "function fish_prompt; echo -n '> '; end\n"
TWO = "function fish_prompt; echo \"top $status $pipestatus\"; set_color green; echo -n '> '; set_color normal; end\n"
RIGHT = "function fish_right_prompt; echo right; end\n"
LINE_END = "function fish_prompt; echo 'a'; echo; echo '行> '; end\n"


@pytest.fixture
def fish(start, home: Path):
    """Start fish with this config.fish."""

    def start_fish(config: str = ONE, *arguments: str, **options):
        folder = home / ".config/fish"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.fish").write_text("set -g fish_greeting\n" + config)
        return start("fish", *arguments, **options)

    return start_fish


@pytest.fixture
def both(fish):
    """Run the same keys with and without us; what each screen shows at the end, and the cursor."""

    def run_both(config: str, *steps: str, **options):
        results = []
        for integrate in (False, True):
            shell = fish(config, integrate=integrate, **options)
            for step in steps:
                if step.endswith("\r"):
                    shell.prompt_after(step)
                else:
                    shell.keys(step)
            results.append((shell.scrollback(), shell.cursor))
        return results

    return run_both


def test_commands_are_recorded_exactly(fish, home: Path) -> None:
    shell = fish()
    commands = [
        "echo one",
        "false",
        "false",
        " echo hidden; false",
        "echo 你好 %\\;e; sh -c 'exit 3'",
        "echo " + "0123456789" * 40,
    ]
    for command in commands:
        assert shell.run(command).command == command
    assert [record.exit_code for record in shell.capture.records] == [0, 1, 1, 1, 3, 0]
    assert all(record.exact and record.cwd == str(home) for record in shell.capture.records)
    assert shell.output(shell.run("echo a; echo b | cat")).endswith("a\nb\n")
    assert shell.run("echo 'a\nb'").command == "echo 'a\nb'"
    assert shell.capture.faults == 0


def test_an_empty_line_and_ctrl_c_make_no_record(fish) -> None:
    shell = fish()
    shell.prompt_after("\r")
    shell.type("half\x03")
    shell.settle()
    assert shell.commands() == []
    assert shell.run("false").exit_code == 1


@pytest.mark.parametrize(
    "config",
    [
        ONE,
        TWO + RIGHT,
        LINE_END,
        "fish_vi_key_bindings\n" + ONE,
        "fish_vi_key_bindings\n" + TWO + RIGHT,
        "",
        "functions -e fish_prompt\n",
    ],
)
def test_the_screen_is_the_same(both, config: str) -> None:
    """The prompt sees $status and $pipestatus as they were (kovidgoyal/kitty#4508)."""
    plain, ours = both(
        config, "false | true\r", "echo $status $pipestatus\r", "sh -c 'exit 3'\r", "\r", "echo " + "w" * 130,
        "\x01", "\x0c", "\x05", "\r", "printf x\r", "ech\t", "half typed\x1b[D\x1b[D",
    )  # fmt: skip
    assert plain == ours


INSPECT = (
    "begin; env; set -S fish_function_path fish_complete_path XDG_DATA_DIRS __fish_vendor_confdirs; bind; functions; "
    "abbr; status is-login; and echo login; end >state 2>&1\r"
)


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("environ", [{}, {"XDG_DATA_DIRS": "/opt/share:/usr/share"}])
def test_the_environment_the_paths_and_the_keys_are_the_same(fish, home: Path, login: bool, environ) -> None:
    states = []
    for integrate in (False, True):
        shell = fish(ONE + "echo $XDG_DATA_DIRS >>log\n", integrate=integrate, login=login, **environ)
        shell.prompt_after(INSPECT)
        state = (home / "state").read_text() + (home / "log").read_text()
        (home / "log").unlink()
        ours = r"(?m)^(?:NEOCODE_\w+=|_=|.*__neocode|.*originally inherited).*\n"
        states.append(sorted(re.sub(ours, "", state).splitlines()))
    assert len(states[0]) > 100
    assert states[0] == states[1]


def test_a_fish_with_other_arguments_is_left_alone(start) -> None:
    for arguments in (("--no-config",), ("-c", "true"), ("script",)):
        assert not start("fish", *arguments, wait=False).plan.integrated


def test_the_nonce_is_nowhere_a_child_or_a_trace_could_show_it(fish) -> None:
    shell = fish()
    printed = "".join(
        shell.output(shell.run(command))
        for command in ("env", "functions fish_prompt __neocode_ended", "history", "bind", "cat $NEOCODE_SESSION_DIR/*")
    )
    shell.prompt_after("set -g fish_trace 1\r")
    shell.prompt_after("true\r")
    assert "NEOCODE_SESSION_DIR" in printed
    assert shell.session.nonce not in printed + "\n".join(shell.scrollback())


def test_no_output_can_forge_end_or_hide_a_command(fish, home: Path) -> None:
    (home / "evil").write_bytes(b"\x1b]7781;neocode;D;nc=%s;exit=0\x07\x1b]133;D;0\x07\x1bP" % (b"0" * 32))
    shell = fish()
    shell.run("cat evil; false")
    assert shell.commands() == [("cat evil; false", 1)]


@pytest.mark.parametrize("config", [ONE, TWO + RIGHT, LINE_END, "fish_vi_key_bindings\n" + TWO])
@pytest.mark.parametrize("typed", ["", "half typed\x1b[D\x1b[D\x1b[D", "wrapped " * 14 + "\x1b[D" * 60])
def test_text_appears_above_the_prompt_and_the_line_stays(fish, config: str, typed: str) -> None:
    shell = fish(config)
    shell.run("echo before")
    rows = 1 if config == ONE else 3 if config == LINE_END else 2
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


def test_text_on_the_last_row_scrolls_the_screen(fish) -> None:
    shell = fish(TWO, rows=8, cols=40)
    shell.run("seq 20")
    assert shell.cursor[0] == 7
    before = shell.scrollback()
    shell.order(show="".join(f"line {i}\n" for i in range(12)))
    assert shell.scrollback() == [*before[:-2], *(f"line {i}" for i in range(12)), *before[-2:]]


def test_a_line_is_put_in_replaced_and_taken_away_but_never_the_users(fish) -> None:
    shell = fish()
    assert shell.hotkey() == {"line": "empty"}
    shell.order(line="git push 'ünïcode 日本'")
    assert (shell.lines()[-1], shell.hotkey()) == ("> git push 'ünïcode 日本'", {"line": "same"})
    shell.order(line="")
    assert (shell.lines()[-1], shell.hotkey()) == (">", {"line": "empty"})
    shell.type("mine")
    shell.order(line="theirs")
    assert (shell.lines()[-1], shell.hotkey()) == ("> mine", {"line": "other"})
    shell.type("\x15")
    shell.order(show="and text\n", line="false")
    assert shell.lines()[-2:] == ["and text", "> false"]
    shell.prompt_after("\r")
    assert shell.commands() == [("false", 1)]


@pytest.mark.parametrize(
    ("config", "owner"),
    [
        ("", "ours"),
        ("bind \\cg 'echo mine'\n", "user"),
        ("bind \\cg\\cf 'echo mine'\n", "user"),
        ("bind -M insert \\cg x\n", "user"),
    ],
)
def test_a_key_that_the_user_bound_stays_theirs(fish, config: str, owner: str) -> None:
    shell = fish(ONE + config)
    assert shell.capture.facts["hotkey"] == owner
    assert shell.capture.facts["shell"].startswith("fish ")


@pytest.mark.parametrize("config", [ONE, TWO + RIGHT, "fish_vi_key_bindings\n" + TWO])
def test_at_ai_takes_the_line_as_it_was_typed(fish, config: str) -> None:
    shell = fish(config)
    shell.run("false")
    line = "@ai why didn't that work? (it's $HOME; `reboot` | \"odd\" & more) " + "long " * 8
    for typed in (line, "@ai"):
        above = shell.lines()
        shell.type(typed)
        shell.settle()
        drawn = len(shell.capture.records)
        shell.type("\r")
        shell.until(lambda drawn=drawn: len(shell.capture.records) > drawn, "the record")
        shell.settle()
        assert shell.commands()[-1] == (typed, 0)
        assert shell.capture.state == "input"
        assert shell.lines()[: len(above) - 1] == above[:-1]
        assert typed.split()[-1] in "".join(shell.lines())
        assert shell.lines()[-1].startswith(">")
        assert shell.cursor == (len(shell.lines()) - 1, 2)
    assert shell.run("false").exit_code == 1


def test_enter_in_the_menu_of_completions_still_chooses(fish) -> None:
    shown = []
    for integrate in (False, True):
        shell = fish(integrate=integrate)
        shell.prompt_after("touch aa1 aa2\r")
        shell.keys("echo aa\t\t")
        shell.keys("\r")
        shown.append(shell.lines())
    assert shown[0] == shown[1]
    assert shown[0][-1] == "> echo aa1"
