"""The mode's pure parts: lines, prompts, modes, keys, history."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.idm import modes
from ptyproxy.idm.keyboard import MAX_BYTES, Keyboard
from ptyproxy.idm.keymap import prefers_vi
from ptyproxy.idm.line import Line, chosen_fix, read_line
from ptyproxy.idm.prompt import Room, prompt_room, shows_typed_text
from ptyproxy.stream.keys import KeyParser
from ptyproxy.stream.modes import ModeTracker


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", Line("nothing")),
        ("  \n ", Line("nothing")),
        ("@ai why didn't it?", Line("ask", "why didn't it?")),
        (" @ai  why\nls: no ", Line("ask", "why\nls: no")),
        ("@fix 2", Line("fix", number=2)),
        ("exit", Line("leave")),
        (" exit ", Line("leave")),
        ("exit 3", Line("run", "exit 3")),
        ("@airport", Line("run", "@airport")),
        ("\\@ai why", Line("run", "\\@ai why")),
        (" ls  ", Line("run", " ls  ")),
        ("ls a\\ ", Line("run", "ls a\\ ")),
        ("ls\n\n", Line("run", "ls")),
    ],
)
def test_a_line_is_ours_or_the_shells(text: str, line: Line) -> None:
    assert read_line(text) == line


@pytest.mark.parametrize("text", ["@ai", "@ai ", "@fix", "@fix x", "@fix -1", "@fix 99999", "@fix ²"])
def test_an_incomplete_line_of_ours_is_answered_with_a_hint(text: str) -> None:
    assert read_line(text).kind == "hint"


@given(st.text())
def test_what_is_the_shells_is_passed_on_as_it_is(text: str) -> None:
    line = read_line(text)
    if line.kind == "run":
        assert text.rstrip("\n") == line.text


def test_only_a_command_that_destroys_nothing_is_chosen() -> None:
    assert chosen_fix(1, ("make clean", "rm -rf /")) == ("make clean", "")
    assert chosen_fix(2, ("make clean", "rm -rf /"))[0] == ""
    assert chosen_fix(1, ("sudo !!",))[0] == ""
    assert chosen_fix(0, ("ls",))[0] == chosen_fix(2, ("ls",))[0] == chosen_fix(1, ())[0] == ""


A, B = b"\x1b]7781;neocode;A\x07", b"\x1b]7781;neocode;B\x07"


@pytest.mark.parametrize(
    ("before", "prompt", "after", "room"),
    [
        (b"out\r\n", A + b"$ ", B, Room(0, True)),
        (b"", A + b"$ ", B, Room(0, True)),
        (b"unfinished", A + b"$ ", B, Room(0, False)),
        (b"out\r\n\x1b[?2004h", A + b"\x1b[1;32m~/src\x1b[m\r\n$ ", B, Room(1, True)),
        (b"out\r\n", A + b"x" * 25 + b"\r\n$ ", B, Room(3, True)),
        (b"out\r\n", A + "日本".encode() * 3 + b"> ", B, Room(1, True)),
        (b"out\r\n", A + b"0123456789", B, Room(0, True)),
        (b"%" + b" " * 9 + b"\r \r", b"\r\x1b[0m\x1b[27m\x1b[24m\x1b[J" + A + b"% ", B + b"\x1b[K", Room(0, True)),
        (b"out\r\n", A + b"\x1b[5A$ ", B, Room(0, False)),
        (b"out\r\n", A + b"a\nb $ ", B + b"\nmenu", Room(1, False)),
    ],
)
def test_the_room_a_prompt_takes(before: bytes, prompt: bytes, after: bytes, room: Room) -> None:
    assert prompt_room(before, prompt, after, 10) == room


@pytest.mark.parametrize(
    ("after", "typed"),
    [
        (B, False),
        (B + b"\x1b[?2004h\x1b[K", False),
        (B + b"\x1b[K\x1b[40Cright\x1b[45D", False),
        (B + b"ls", True),
        (B + b"\x1b[K\x1b[32ml\x1b[m", True),
    ],
)
def test_text_behind_the_prompt_was_typed_ahead(after: bytes, typed: bool) -> None:
    assert shows_typed_text(after) is typed


@given(st.binary(max_size=80), st.binary(max_size=80), st.binary(max_size=40), st.integers(1, 200))
def test_any_bytes_may_be_a_prompt(before: bytes, prompt: bytes, after: bytes, cols: int) -> None:
    assert prompt_room(before, prompt, after, cols).rows >= 0
    shows_typed_text(after)


@pytest.mark.parametrize(
    "wanted",
    [
        b"",
        b"\x1b[?2004h",
        b"\x1b[?2004h\x1b[?1h\x1b=",
        b"\x1b[>5u\x1b[?2004h",
        b"\x1b[>4;2m",
        b"\x1b[?9001h",
        b"\x1b[?25l",
    ],
)
def test_the_shells_modes_are_as_before(wanted: bytes) -> None:
    """A terminal that gets what the shell set, what we take, what our editor does and what we give back."""
    shell, terminal = ModeTracker(), ModeTracker()
    for one in (shell, terminal):
        one.feed(wanted)
    terminal.feed(modes.take(shell) + b"\x1b[?2004h\x1b[?1l\x1b[?25l\x1b[?25h\x1b[?2004l")
    assert not terminal.kitty_keyboard
    assert not terminal.other_keys
    assert not terminal.keypad
    terminal.feed(modes.give_back(shell))
    assert terminal.resets() == shell.resets()
    assert terminal.other_keys == shell.other_keys


@pytest.mark.parametrize(
    ("kind", "environ", "inputrc", "vi"),
    [
        ("bash", {}, None, False),
        ("bash", {}, "set editing-mode vi\n", True),
        ("bash", {}, "set editing-mode vi\nset editing-mode emacs\n", False),
        ("bash", {}, "# set editing-mode vi\n", False),
        ("bash", {"EDITOR": "vi"}, None, False),
        ("zsh", {"EDITOR": "nvim"}, None, True),
        ("zsh", {"VISUAL": "emacs"}, "set editing-mode vi\n", False),
    ],
)
def test_vi_keys_after_the_users_setting(
    tmp_path: Path, kind: str, environ: dict[str, str], inputrc: str | None, vi: bool
) -> None:
    if inputrc is not None:
        (tmp_path / ".inputrc").write_text(inputrc)
    assert prefers_vi(kind, {"HOME": str(tmp_path), **environ}, tmp_path / "none") is vi


def keyboard_with(*data: bytes) -> Keyboard:
    keyboard, parser = Keyboard(lambda: None), KeyParser()
    for part in data:
        for piece in parser.feed(part):
            keyboard.put(piece)
    return keyboard


def test_a_paste_is_handed_out_whole() -> None:
    keyboard = keyboard_with(b"\x1b[200~one\n", b"two")
    assert not keyboard.ready
    assert b"".join(piece.data for piece in keyboard.take_all()) == b"\x1b[200~one\ntwo"
    keyboard = keyboard_with(b"\x1b[200~one\n", b"two\x1b[201~x")
    piece = keyboard.get()
    assert piece is not None
    assert (piece.kind, piece.data) == ("paste", b"one\ntwo")
    assert b"".join(piece.data for piece in keyboard.take_all()) == b"x"


def test_a_paste_that_is_too_long_comes_in_parts_and_whole() -> None:
    text = b"0123456789abcdef" * 4096
    drained: list[bool] = []
    keyboard, parser = Keyboard(lambda: drained.append(True)), KeyParser()
    got, waiting = b"", [b"\x1b[200~", *([text] * 8), b"\x1b[201~", b"end"]
    while waiting or keyboard.ready:
        while waiting and not keyboard.full:
            for piece in parser.feed(waiting.pop(0)):
                keyboard.put(piece)
        one = keyboard.get()
        if one is not None and one.kind in ("paste", "text"):
            got += one.data
    assert got == text * 8 + b"end"
    assert len(text) * 8 > MAX_BYTES
    assert drained


def test_ctrl_c_takes_what_was_typed_before_it() -> None:
    keyboard = keyboard_with(b"abc\r\x1b[A", b"de\x03f")
    assert keyboard.take_interrupt()
    assert b"".join(piece.data for piece in keyboard.take_all()) == b"f"
    assert not keyboard_with(b"abc\r").take_interrupt()
    assert not keyboard_with(b"\x1b[200~a\x03b\x1b[201~").take_interrupt()


def test_history_is_bounded_private_and_survives_rubbish(tmp_path: Path) -> None:
    from ptyproxy.idm.history import MAX_LINES, ModeHistory

    path = tmp_path / "state" / "ai-history"
    first = ModeHistory(path)
    for n in range(MAX_LINES + 5):
        first.append_string(f"echo {n}\nagain")
    with open(path, "ab") as file:
        file.write(b'"cut\n\xff\n17\n')
    first.append_string("last")
    first.append_string("last")
    first.append_string(" not kept")

    async def loaded() -> list[str]:
        return [line async for line in ModeHistory(path).load()]

    lines = asyncio.run(loaded())
    assert lines[:2] == ["last", f"echo {MAX_LINES + 4}\nagain"]
    assert len(lines) == MAX_LINES
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert len(path.read_bytes().splitlines()) == MAX_LINES
    os.chmod(path, 0)
    if os.getuid():
        assert asyncio.run(loaded()) == []


def test_nothing_of_the_editor_is_imported_before_the_first_line() -> None:
    """The pump's half of the mode may be imported when the mode is entered, and brings nothing heavy."""
    code = (
        "import sys, ptyproxy.wrapped, ptyproxy.idm.start\n"
        "print(sorted({'prompt_toolkit', 'asyncio', 'wcwidth', 'pyte'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
