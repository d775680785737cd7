"""Any other line runs in the user's own shell, and the mode comes back at its next prompt."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from fake_openai import FakeServer, answers
from seat import BASHRC, MODE_PROMPT, SHELL_PROMPT, Home


def test_a_line_runs_as_if_typed_at_the_shell(home: Home) -> None:
    """Directory, aliases, jobs and variables are the shell's own, and the screen shows the line once, at its prompt."""
    with home.shell("--no-auto") as seat:
        seat.enter()
        for line, shown in (
            ("cd /tmp", "me:$ cd /tmp"),
            ("x='a  b'", "me:$ x="),
            ('echo "in $PWD: $x!"', "in /tmp: a  b!"),
            ("greet", "hello from an alias"),
            ("(exit 3)", "me:$ (exit 3)"),
            ("echo status $?", "status 3"),
            ("sleep 100 &", "[1] "),
            ("kill %1; wait", "Terminated"),
        ):
            seat.type(line + "\r")
            seat.until_shown(shown)
            seat.until_last(MODE_PROMPT)
        seat.leave()
        seat.run("pwd")
        text = "\n".join(seat.scrollback())
        assert text.count("greet") == 1
        assert "/tmp\nme:$" in text
        assert f"{MODE_PROMPT} greet" not in text


def test_full_screen_programs_have_the_keyboard(home: Home) -> None:
    (home.path / "long").write_text("".join(f"line {n}\n" for n in range(200)))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("less long\r")
        seat.until_shown("line 10")
        seat.type("G")
        seat.until(lambda: any("line 199" in line for line in seat.lines()))
        seat.type("q")
        seat.until_last(MODE_PROMPT)
        seat.type("vim -u NONE -N written\r")
        seat.until(lambda: seat.lines()[-1:] != [MODE_PROMPT] and "~" in seat.lines())
        seat.type("ihello\x1b")
        seat.until(lambda: any(line.startswith("hello") for line in seat.lines()))
        seat.type(":wq\r")
        seat.until_last(MODE_PROMPT)
        seat.leave()
    assert (home.path / "written").read_text() == "hello\n"


def test_a_program_reads_what_is_typed_and_ctrl_c_ends_it(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("cat\r")
        seat.until_shown("me:$ cat")
        seat.type("for cat\r")
        seat.until(lambda: seat.lines().count("for cat") == 2)
        seat.type("\x03")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_what_is_typed_behind_the_enter_is_for_the_command(home: Home) -> None:
    """Keys that arrive in one read with the line's Enter, as on a slow line."""
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("read -r a; echo got $a\rfor read\r")
        seat.until_shown("got for read")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_a_line_typed_ahead_of_the_prompt_is_the_shells(home: Home) -> None:
    """The mode does not come between the shell and a line that it has read already."""
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("read -r a\r")
        seat.until_shown("me:$ read -r a")
        seat.type("x\recho typed ahead\r")
        seat.until_shown("\ntyped ahead")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_several_pasted_lines_run_as_one_text(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("\x1b[200~for i in 1 2; do\necho number $i\ndone\x1b[201~")
        seat.until_shown("done")
        seat.type("\r")
        seat.until_shown("number 1\nnumber 2")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_an_unfinished_line_goes_on_in_the_shell(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("echo 'one\r")
        seat.until_last(">")
        seat.type("two'\r")
        seat.until_shown("one\ntwo")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_an_escaped_word_reaches_the_shell(home: Home) -> None:
    r"""`\@ai` is a command of the user's own."""
    tool = home.path / "@ai"
    tool.write_text("#!/bin/sh\necho my own tool: $1\n")
    tool.chmod(0o755)
    with home.shell("--no-auto") as seat:
        seat.run("PATH=$PATH:.")
        seat.enter()
        seat.type("\\@ai why\r")
        seat.until_shown("my own tool: why")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_the_shells_exit_ends_everything(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("exit 7\r")
        assert seat.status() == 7
    assert not list((home.dir / "run").glob("shell-*"))


@pytest.mark.parametrize("how", ["term", "hang-up"])
def test_our_end_in_the_mode_is_clean(home: Home, how: str) -> None:
    """SIGTERM, and the terminal's window closed: no directory left, the terminal's modes as they were."""
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("half a line")
        seat.until_last(f"{MODE_PROMPT} half a line")
        if how == "term":
            seat.process.send_signal(signal.SIGTERM)
            assert seat.status() == 128 + signal.SIGTERM
            assert seat.raw.rfind(b"\x1b[?2004l") > seat.raw.rfind(b"\x1b[?2004h")
        else:
            seat.hang_up()
            assert seat.process.wait(20) == 128 + signal.SIGHUP
    assert not list((home.dir / "run").glob("shell-*"))


def test_nothing_is_diagnosed_by_itself_in_the_mode(home: Home, model: FakeServer) -> None:
    """Afterwards it is as it was before."""
    model.script(answers("## Cause\nIt is about THAT.\n"))
    with home.shell() as seat:
        seat.enter()
        seat.type("cat nothing-in-the-mode\r")
        seat.until_shown("No such file")
        seat.until_last(MODE_PROMPT)
        seat.leave()
        seat.run("cat nothing-at-the-shell")
        seat.until_shown("It is about THAT.")
    assert ["nothing-in-the-mode" in str(request.body) for request in model.requests] == [False]


def test_automatic_diagnosis_that_was_switched_in_the_mode_stays_so(home: Home, model: FakeServer) -> None:
    model.script(answers("It is about THAT."))
    with home.shell() as seat:
        seat.enter()
        home.trigger("auto", "off")
        seat.leave()
        seat.run("cat nothing-at-the-shell")
        done = home.run("diag", "auto", "status")
        assert done.stdout.strip() == "automatic diagnosis: off"
        seat.enter()
        home.trigger("auto", "on")
        seat.leave()
        seat.run("cat another-thing-at-the-shell")
        seat.until_shown("It is about THAT.")
    assert ["nothing-at-the-shell" in str(request.body) for request in model.requests] == [False]


def test_vi_keys_for_who_has_them_in_the_shell(home: Home) -> None:
    """Escape, and a key of command mode; the key after Escape is a control character, so that no time matters."""
    with open(home.path / ".inputrc", "a") as file:
        file.write("set editing-mode vi\n")
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type(b"cho hi\x1b\x08Ie")
        seat.until_last(f"{MODE_PROMPT} echo hi")
        seat.type("\r")
        seat.until_shown("\nhi")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_history_is_kept_for_its_owner_only(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("echo first\r")
        seat.until_shown("\nfirst")
        seat.until_last(MODE_PROMPT)
        seat.type(" echo secret\r")
        seat.until_shown("\nsecret")
        seat.leave()
    files = list(home.dir.glob("**/ai-history"))
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600]
    assert "secret" not in files[0].read_text()
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("\x1b[A")
        seat.until_last(f"{MODE_PROMPT} echo first")
        seat.type("\x03")
        seat.leave()


def test_another_terminal_enters_the_mode(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.run("true")
        home.trigger("-i")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_a_request_while_something_is_typed_waits_for_the_next_prompt(home: Home) -> None:
    with home.shell("--no-auto") as seat:
        seat.run("true")
        seat.type("echo half")
        seat.until_last(f"{SHELL_PROMPT} echo half")
        home.trigger("-i")
        seat.type(" done; read -r x\r")
        seat.until_shown("\nhalf done")
        assert MODE_PROMPT not in "\n".join(seat.lines())
        seat.type("\r")
        seat.until_last(MODE_PROMPT)
        assert f"{SHELL_PROMPT} echo half done; read -r x" in seat.lines()
        seat.leave()


def test_the_mode_works_in_a_shell_without_marks(home: Home) -> None:
    """dash: its line is typed, its prompt comes back after silence, and only when it is in the foreground itself."""
    home.env["PS1"] = "$ "
    with home.shell("--no-auto", "--no-integration", path="/bin/dash") as seat:
        seat.until_last("$")
        home.trigger("-i")
        seat.until_last(MODE_PROMPT)
        seat.type("cd /tmp\r")
        seat.until(lambda: seat.lines()[-3:] == ["cd /tmp", "$", MODE_PROMPT])
        seat.type("sleep 0.7; pwd\r")
        seat.until(lambda: seat.lines()[-4:] == ["sleep 0.7; pwd", "/tmp", "$", MODE_PROMPT])
        seat.type("exit\r")
        seat.until_last("$")
        seat.type("exit 3\r")
        assert seat.status() == 3


def test_the_prompt_is_the_shells_again_afterwards(home: Home) -> None:
    """With a prompt of two lines, output without its newline before it, and on the last row: nothing is lost."""
    (home.path / ".bashrc").write_text(BASHRC + "PS1='\\w\\nme:$ '\n")
    with home.shell("--no-auto", size=(8, 40)) as seat:
        seat.run("seq 20")
        seat.enter()
        seat.type("printf '%s' unfinished\r")
        seat.until(lambda: any("unfinished~" in line for line in seat.lines()))
        seat.until_last(MODE_PROMPT)
        seat.type("echo next\r")
        seat.until_shown("\nnext")
        seat.until_last(MODE_PROMPT)
        seat.leave()
        rows = [line for line in seat.scrollback() if not line.startswith("neocode: ")]
        seen = "\n".join(rows)
    assert "\n".join(str(n) for n in range(1, 21)) in seen
    assert seen.endswith(
        "me:$ printf '%s' unfinished\nunfinished~\nme:$ \n~\nme:$ echo next\nnext\n~\nme:$".replace("$ \n", "$\n")
    )


def test_the_window_may_change_its_size(home: Home) -> None:
    """The shell gets to know it when it has the screen; the line is drawn anew at once."""
    with home.shell("--no-auto", size=(24, 80)) as seat:
        seat.enter()
        seat.type("echo size: $COLUMNS; stty size")
        seat.until_last(f"{MODE_PROMPT} echo size: $COLUMNS; stty size")
        seat.display.resize(20, 50)
        seat.resize(20, 50)
        at = len(seat.raw)
        seat.until(lambda: b"stty size" in seat.raw[at:], "the line, drawn anew")
        assert b"me:$" not in seat.raw[at:]
        seat.type("\r")
        seat.until_shown("20 50")
        seat.until_last(MODE_PROMPT)
        seat.leave()


def test_output_of_a_background_job_is_followed_by_the_line(home: Home) -> None:
    fifo = home.path / "go"
    os.mkfifo(fifo)
    with home.shell("--no-auto") as seat:
        seat.run("{ read -r word < go; echo from behind; } &")
        seat.enter()
        seat.type("echo half")
        seat.until_last(f"{MODE_PROMPT} echo half")
        Path(fifo).write_text("now\n")
        seat.until_shown("from behind")
        seat.until_last(f"{MODE_PROMPT} echo half")
        seat.type(" and whole\r")
        seat.until_shown("\nhalf and whole")
        seat.leave()


@pytest.mark.parametrize(
    "prompt",
    [
        "me:$ ",
        "\\[\\e[32m\\]top\\[\\e[m\\]\\nme:$ ",
        "\\n\\nme:$ ",
        "0123456789" * 9 + "\\nme:$ ",
        "0123456789" * 9 + "me:$ ",
    ],
)
def test_a_visit_leaves_only_its_own_lines(home: Home, prompt: str) -> None:
    """With and without a visit, on a small screen that scrolls: but for our lines all is the same."""
    (home.path / ".bashrc").write_text(BASHRC + f"PS1='{prompt}'\n")

    def session(*, visit: bool) -> list[str]:
        with home.shell("--no-auto", size=(7, 80)) as seat:
            seat.until(lambda: seat.last.endswith(SHELL_PROMPT))
            for line in ("seq 9", "@ai" if visit else "", "seq 3", "\x04" if visit else "", "echo end"):
                if line == "\x04":
                    seat.until_last(MODE_PROMPT)
                    seat.type(line)
                elif line:
                    seat.type(line + "\r")
                # what the line prints, so that the prompt looked for is the one after it
                if line in ("seq 9", "seq 3"):
                    seat.until_shown(f"{line}\n1\n2\n3\n")
                    seat.until_shown(f"\n{line[-1]}\n")
                if line == "echo end":
                    seat.until_shown("\nend\n")
                if line in ("@ai", "seq 3") and visit:
                    seat.until_last(MODE_PROMPT)
                else:
                    seat.until(lambda: seat.last.endswith(SHELL_PROMPT))
            return seat.scrollback()

    with_visit = session(visit=True)
    at = next(i for i, line in enumerate(with_visit) if line.endswith("@ai"))
    height = 1 + prompt.count("\\n") + (len(prompt) > 80)
    rest = with_visit[: at + 1 - height] + with_visit[at + 1 :]
    assert [line for line in rest if not line.startswith("neocode: ")] == session(visit=False)
