"""Clink's side of CMD: the real Lua file in a real Lua 5.2 (Clink's own), against what Clink offers to scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptyproxy.capture import Capture
from ptyproxy.integration import cmd
from ptyproxy.stream.marks import MarkParser

lua52 = pytest.importorskip("lupa.lua52")

NONCE = "0123456789abcdef0123456789abcdef"
SCRIPT = Path(cmd.__file__).with_name("scripts") / "clink" / "neocode.lua"
# Clink's API as its documentation has it (chrisant996/clink): events, clink.print with NONL, os.*, settings, rl
CLINK = """
NONL = {}
local events = { onbeginedit = {}, onfilterinput = {}, onendedit = {} }
clink = { version_encoded = 10090028 }
for name, list in pairs(events) do clink[name] = function(f) table.insert(list, f) end end
function clink.print(text, nonl) assert(nonl == NONL); printed(text) end
settings = { get = function(name) return setting(name) end }
rl = { getbinding = function(key) return binding(key) end }
os.getenv = function(name) return env[name] end
os.setenv = function(name, value) env[name] = value; return true end
os.getcwd = function() return cwd() end
os.geterrorlevel = function() return errorlevel() end
os.remove = function(name) removed(name) end
io.open = function(name) local text = file(name); return text and {
    read = function() return text end, close = function() end } end
function begin() for _, f in ipairs(events.onbeginedit) do f() end end
function accept(text)
    for _, f in ipairs(#events.onfilterinput > 0 and events.onfilterinput or events.onendedit) do
        local new, go_on = f(text)
        if new then text = new end
        if go_on == false then break end
    end
    return text
end
function handlers() return #events.onbeginedit + #events.onfilterinput + #events.onendedit end
"""


class Clink:
    """A Clink with our script in it; `prompt` and `accept` are what happens round a line."""

    def __init__(self, session: str = "C:\\s", code: str = "", **env: str) -> None:
        self.out = b""
        self.level: Any = 0
        self.cwd = "C:\\x"
        self.settings: dict[str, Any] = {"cmd.get_errorlevel": True}
        self.bound: Any = "abort"
        self.files = {"C:\\s\\nonce": NONCE}
        self.lua = lua52.LuaRuntime(encoding="utf-8", unpack_returned_tuples=True)
        names = self.lua.globals()
        names.env = self.lua.table_from({"NEOCODE_SESSION_DIR": session, **env})
        names.printed = self._printed
        names.errorlevel = lambda: self.level
        names.cwd = lambda: self.cwd
        names.setting = self.settings.get
        names.binding = lambda key: self.bound
        names.file = self.files.get
        names.removed = lambda name: self.files.pop(name, None)
        self.lua.execute(CLINK)
        self.lua.execute(code)
        self.lua.execute(SCRIPT.read_text("utf-8"))

    def _printed(self, text: str) -> None:
        self.out += text.encode()

    def prompt(self, level: int = 0) -> None:
        self.level = level
        self.lua.globals().begin()
        self.out += b"\x1b]7781;neocode;A\x1b\\C:\\x>\x1b]7781;neocode;B\x1b\\"

    def run(self, line: str, level: int, output: bytes = b"") -> str:
        """Accept a line; what CMD gets of it."""
        self.out += line.encode()
        got = str(self.lua.globals().accept(line))
        self.out += b"\r\n" + output
        self.prompt(level)
        return got

    @property
    def env(self) -> Any:
        return self.lua.globals().env

    def captured(self) -> Capture:
        capture = Capture(NONCE, clock=lambda: 0.0)
        capture.feed(self.out)
        assert capture.faults == 0
        return capture


@pytest.mark.parametrize("code", ["", "clink.onfilterinput = nil"])  # before 1.2.16 there was onendedit only
def test_commands_and_their_codes_are_told_exactly(code: str) -> None:
    clink = Clink(code=code)
    clink.prompt()
    lines = ["dir", "echo 100% \\; \u4f60\u597d \U0001f600", "exit /b -1", "x" * 400, "gti"]
    levels = [0, 0, -1, 3, 9009]
    for line, level in zip(lines, levels, strict=True):
        assert clink.run(line, level, b"out\r\n") == line
    capture = clink.captured()
    assert [(each.command, each.exact, each.exit_code) for each in capture.records] == [
        (line, True, level) for line, level in zip(lines, levels, strict=True)
    ]
    assert capture.output(capture.records[0]).tail.strip() == b"out"
    assert capture.cwd == "C:\\x"
    assert capture.facts == {
        "shell": "cmd with Clink 10090028", "starts": "marks", "hooks": "clink", "widget": "none", "hotkey": "taken",
    }  # fmt: skip


def test_no_mark_is_longer_than_a_console_takes_and_a_line_without_end_is_cut() -> None:
    """microsoft/terminal#15551: consoles drop an OSC of more than 255 characters."""
    clink = Clink()
    clink.prompt()
    clink.run("\u4f60" * 9000, 0)
    assert max(mark.end - mark.start for mark in MarkParser().feed(clink.out)) <= 200
    record = clink.captured().records[0]
    assert not record.exact
    assert (record.command or "").startswith("\u4f60" * 1000)


def test_an_empty_line_is_no_command() -> None:
    clink = Clink()
    clink.prompt()
    assert clink.run("  ", 7) == "  "
    assert clink.captured().records == []


def test_a_clink_that_does_not_fetch_codes_says_none() -> None:
    clink = Clink()
    clink.settings["cmd.get_errorlevel"] = False
    clink.prompt()
    clink.run("gti", 0)
    assert [each.exit_code for each in clink.captured().records] == [None]


def test_at_ai_is_told_and_not_run() -> None:
    clink = Clink()
    clink.prompt()
    for line in ("@ai why didn't that work? (%PATH% & more)", "  @ai"):
        assert clink.run(line, 9009) == ""
    assert clink.run("@aid", 1) == "@aid"
    assert [(each.command, each.exit_code) for each in clink.captured().records] == [
        ("@ai why didn't that work? (%PATH% & more)", 0), ("  @ai", 0), ("@aid", 1),
    ]  # fmt: skip


def test_the_nonce_leaves_file_and_prompt_and_the_rest_of_the_prompt_stays() -> None:
    theirs = "$_$e[32m$P$G$e[m"
    given = cmd.prompt(theirs.encode(), NONCE).decode()
    clink = Clink(PROMPT=given)
    clink.prompt()
    assert clink.files == {}
    after = str(clink.env["PROMPT"])
    assert NONCE not in after
    assert theirs in after
    assert [mark.kind for mark in MarkParser().feed(after.replace("$e", "\x1b").encode())] == ["cwd", "A", "B"]


def test_a_prompt_that_is_drawn_again_ends_nothing() -> None:
    """Clink draws it anew for Ctrl+L, a resize or a completion; then something may be typed already."""
    clink = Clink(PROMPT=cmd.prompt(b"$P$G", NONCE).decode())
    clink.prompt()
    clink.out += b"half" + str(clink.env["PROMPT"]).replace("$e", "\x1b").encode()
    clink.run("half", 1)
    assert [each.exit_code for each in clink.captured().records] == [1]


def test_the_nonce_is_found_in_the_prompt_when_the_file_is_gone() -> None:
    clink = Clink(code="file = function() return nil end", PROMPT=cmd.prompt(b"$P$G", NONCE).decode())
    clink.prompt()
    assert clink.captured().authenticated


def test_a_key_that_the_user_bound_stays_theirs() -> None:
    clink = Clink()
    clink.bound = '"luafunc:mine"'
    clink.prompt()
    assert clink.captured().facts["hotkey"] == "user"


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ("", ""),
        ("C:\\other", ""),  # no nonce there
        ("C:\\s", "clink.onbeginedit = nil"),
        ("C:\\s", "clink = nil"),
    ],
)
def test_outside_a_session_or_in_an_old_clink_it_does_nothing(session: str, code: str) -> None:
    clink = Clink(session, code)
    clink.lua.globals().begin()
    assert clink.out == b""
    assert clink.lua.globals().handlers() == 0
