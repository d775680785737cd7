"""How each shell is started, as a pure function of its path, arguments and environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptyproxy.integration.base import control_letter
from ptyproxy.integration.hotkey import PlainTyping
from ptyproxy.integration.plan import plan, script, shell_kind
from ptyproxy.session import open_session

TERM = {b"TERM": b"xterm"}


@pytest.fixture
def make(tmp_path: Path):
    """plan() with a session of its own."""
    tmp_path.chmod(0o700)
    session = open_session(tmp_path)

    def make_plan(path: str, *arguments: str, environ=TERM, login: bool = False, **options):
        return plan(path, arguments, environ, session, login=login, **options)

    yield make_plan
    session.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/bin/bash", "bash"), ("/usr/bin/zsh", "zsh"), ("/opt/fish", "fish"), ("/bin/sh", "sh"), ("/bin/ksh93", "sh"),
        ("C:\\Windows\\System32\\cmd.exe", "cmd"), ("C:\\Program Files\\PowerShell\\7\\pwsh.exe", "pwsh"),
        ("C:\\x\\PowerShell.exe", "powershell"), ("/usr/bin/nu", ""), ("/usr/bin/python3", ""),
    ],
)  # fmt: skip
def test_a_shell_is_known_by_its_name(path: str, kind: str) -> None:
    assert shell_kind(path) == kind


def test_an_unknown_shell_or_one_that_is_switched_off_starts_plainly(make) -> None:
    for made in (make("/usr/bin/nu", "-l"), make("/bin/bash", "-l", integrate=False)):
        assert not made.integrated
        assert made.command.argv[1:] == ("-l",)
        assert made.reason
        assert made.widget_key == b""
        assert set(made.command.environ) == {b"TERM", b"NEOCODE_SHELL_SESSION", b"NEOCODE_SESSION_DIR"}


def test_a_login_shell_has_its_dash(make) -> None:
    for path in ("/bin/bash", "/usr/bin/zsh", "/bin/sh", "/usr/bin/nu"):
        assert make(path, login=True).command.argv[0] == "-" + path.rpartition("/")[2]


def test_the_caller_s_environment_is_not_changed(make) -> None:
    environ = {**TERM, b"ENV": b"x", b"ZDOTDIR": b"/z", b"XDG_DATA_DIRS": b"/d"}
    before = dict(environ)
    for path in ("/bin/bash", "/usr/bin/zsh", "/usr/bin/fish", "/bin/dash"):
        make(path, environ=environ, login=True)
    assert environ == before


def test_a_full_disk_leaves_the_shell_as_it_is(make, monkeypatch) -> None:
    from ptyproxy.session import Session

    def full(self: Session, name: str, data: bytes) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Session, "write", full)
    made = make("/bin/bash")
    assert (made.integrated, made.command.argv) == (False, ("bash",))
    assert "No space left" in made.reason


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish", "pwsh", "powershell", "sh", "cmd"])
def test_every_script_can_be_printed_and_defines_no_common_name(kind: str) -> None:
    text = script(kind)
    assert "NEOCODE_SESSION_DIR" in text
    import re

    names = re.findall(r"(?m)^\s*function\s+(?:Global:)?([\w-]+)|^\s*(\w+)\(\)", text)
    defined = {name for pair in names for name in pair if name} - {"fish_prompt", "prompt", "PSConsoleHostReadLine"}
    assert all(name.lower().startswith("__neocode") for name in defined)


@pytest.mark.parametrize(
    ("hotkey", "letter"),
    [
        ("ctrl-g", "g"),
        ("Ctrl-O", "o"),
        ("^]", "]"),
        ("C-x", "x"),
        ("", ""),
        ("none", ""),
        ("ctrl-m", ""),
        ("ctrl-[", ""),
        ("f1", ""),
    ],
)
def test_a_hotkey_is_a_control_character_that_terminals_leave_alone(hotkey: str, letter: str) -> None:
    assert control_letter(hotkey) == letter


@pytest.mark.parametrize(
    ("pieces", "plain"),
    [
        ([], True),
        ([("text", b"git st\x7f\x01\x05")], True),
        ([("text", b"a"), ("key", b"\x1b[D"), ("key", b"\x1b[1;5C"), ("paste", b"x\x12")], True),
        ([("text", b"a\x12")], False),  # a search
        ([("text", b"ls \t")], False),  # a menu
        ([("key", b"\x1b")], False),  # vi, or a prefix
        ([("enter", b"\r")], False),  # a continuation prompt
    ],
)
def test_the_hotkey_is_only_taken_where_no_search_can_run(pieces, plain: bool) -> None:
    typing = PlainTyping()
    assert not typing.plain
    typing.prompt()
    for kind, data in pieces:
        typing.typed(kind, data)
    assert typing.plain == plain
    typing.prompt()
    assert typing.plain


@pytest.mark.parametrize(
    ("pieces", "plain"),
    [
        ([("key", b"\x1b")], True),
        ([("text", b"a"), ("key", b"\x1b"), ("text", b"0xhl3b"), ("key", b"\x1b[D")], True),
        ([("text", b"dry"), ("key", b"\x1b"), ("text", b"idry")], True),  # to insert again
        ([("key", b"\x1bd")], False),  # Escape and an operator
        ([("key", b"\x1bd"), ("key", b"\x1b")], True),
        ([("key", b"\x1b"), ("text", b"rx")], False),  # in doubt until the next Escape
        ([("key", b"\x1b"), ("text", b"/ab"), ("key", b"\x1b")], False),  # a search
        ([("key", b"\x1b"), ("text", b"v")], False),  # another program
        ([("key", b"\x1b"), ("paste", b"x")], False),
        ([("key", b"\x1b"), ("text", b"x\x12")], False),
        ([("key", b"\x1b"), ("enter", b"\r")], False),
        ([("key", b"\x1b[Z")], False),
    ],
)
def test_escape_is_plain_in_vi_where_nothing_is_awaited(pieces, plain: bool) -> None:
    typing = PlainTyping()
    typing.prompt(vi=True)
    for kind, data in pieces:
        typing.typed(kind, data)
    assert typing.plain == plain
    typing.prompt()
    typing.typed("key", b"\x1b")
    assert not typing.plain


def test_scripts_pass_shellcheck() -> None:
    import shutil
    import subprocess

    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    for kind in ("bash", "sh"):
        done = subprocess.run(
            ["shellcheck", "-s", kind, "-"], check=False, input=script(kind), capture_output=True, text=True, timeout=50
        )
        assert done.stdout == ""
