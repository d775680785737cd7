"""A shell that tells no exit codes: when its text is looked at, and that nobody sees it being looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from ptyproxy.capture import Capture
from ptyproxy.control import ControlThread
from ptyproxy.diagnosis import MARKER_SEC, Diagnosis
from ptyproxy.messages import Ask, Block, Done, Failed, Stop
from ptyproxy.policy import Settings, program_of, skip_reason
from ptyproxy.ports import Answer, Finding, NothingSaid, Show
from ptyproxy.records import CommandRecord, Output
from ptyproxy.tap import ShellTap

NONCE = "0123456789abcdef0123456789abcdef"
TEXT = Output(b"", 0, b"'gti' is not recognized\r\n")


def ended(number: int, command: str | None, code: int | None = None) -> CommandRecord:
    return CommandRecord(number, command, False, "C:\\", code, 1.0, 2.0, 0, 9, "enter", True)


class Cmd:
    """A diagnosis for CMD, and what it asked and said."""

    def __init__(self) -> None:
        self.now = 100.0
        self.posted: list[Any] = []
        self.said: list[str] = []
        self.number = 0
        self.diagnosis = Diagnosis(self, self.posted.append, self.find, lambda line: None, clock=lambda: self.now)  # type: ignore[arg-type]

    def say(self, text: str, *, asked: bool = False, fleeting: bool = False) -> None:
        self.said.append(text)

    def find(self, record: CommandRecord | None, automatic: bool) -> Finding:
        return Finding(record, TEXT, 80, "cmd", automatic)

    def run(self, command: str | None = "gti", code: int | None = None, *, by_text: bool = True) -> None:
        self.number += 1
        self.diagnosis.command_ended(ended(self.number, command, code), hidden=False, by_text=by_text)

    @property
    def asks(self) -> list[Finding]:
        return [message.finding for message in self.posted if isinstance(message, Ask) and message.finding]


def test_its_text_is_looked_at_unseen_and_nothing_is_said_of_a_success() -> None:
    cmd = Cmd()
    cmd.run()
    assert [(finding.unsure, finding.automatic) for finding in cmd.asks] == [(True, True)]
    assert not cmd.diagnosis.busy
    cmd.now += 2 * MARKER_SEC
    assert cmd.diagnosis.tick() is None
    cmd.diagnosis.receive(Failed(1, ""))
    assert cmd.said == []
    cmd.run("other")
    assert len(cmd.asks) == 2


def test_what_it_says_of_a_failure_is_shown() -> None:
    cmd = Cmd()
    cmd.run()
    cmd.diagnosis.receive(Block(1, "Cause\n"))
    assert cmd.diagnosis.busy
    cmd.diagnosis.receive(Done(1, Answer("cause", (), "provider offline")))
    assert cmd.said[0] == "Cause\n"


def test_a_shell_that_could_have_told_is_not_second_guessed() -> None:
    cmd = Cmd()
    cmd.run(by_text=False)
    assert cmd.posted == []


def test_the_hotkey_and_a_trigger_do_not_wait_for_what_nobody_asked() -> None:
    for press in (lambda cmd: cmd.diagnosis.hotkey("other"), lambda cmd: cmd.diagnosis.requested()):
        cmd = Cmd()
        cmd.run()
        press(cmd)
        assert [type(message) for message in cmd.posted] == [Ask, Stop, Ask]
        assert [(finding.unsure, finding.automatic) for finding in cmd.asks] == [(True, True), (False, False)]
        assert cmd.diagnosis.busy


def test_the_hotkey_is_about_the_newest_command_and_nothing_is_inserted() -> None:
    cmd = Cmd()
    cmd.run("first", 1)
    cmd.run("second")
    cmd.diagnosis.hotkey("other")
    assert cmd.asks[-1].record is not None
    assert cmd.asks[-1].record.command == "second"


@pytest.mark.parametrize(
    ("command", "looked_at"),
    [
        ("gti status", True),
        (None, True),
        ("build.cmd /x", True),
        ("git push", True),
        ("cd \\nowhere", True),
        ("python a.py", True),
        ("cmd /c x", True),
        ("type error.log", False),
        ("more < error.log", False),
        ("findstr error *.log", False),
        ("C:\\Windows\\System32\\FIND.EXE x", False),
        ("make & type error.log", False),
        ("echo error", False),
        ("curl http://x", False),
        ("python", False),
        ("powershell", False),
        ("scripts\\neocode.cmd diag", False),
        ("robocopy a b", False),
    ],
)
def test_what_only_shows_what_others_wrote_is_not_looked_at(command: str | None, looked_at: bool) -> None:
    reason = skip_reason(ended(1, command), has_text=True, hidden=False, settings=Settings(), by_text=True)
    assert (reason is None) == looked_at
    assert skip_reason(ended(1, command), has_text=True, hidden=False, settings=Settings()) == "exit code unknown"
    assert skip_reason(ended(1, command), has_text=False, hidden=False, settings=Settings(), by_text=True)


@pytest.mark.parametrize(
    ("code", "skipped"),
    [(0xC000013A, True), (-1073741510, True), (0xC0000005, False), (-1073741819, False), (9009, False), (1, True)],
)
def test_codes_of_windows(code: int, skipped: bool) -> None:
    """Ctrl+C is no fault; an access violation and a missing program are, also where nothing was printed."""
    reason = skip_reason(ended(1, "app", code), has_text=False, hidden=False, settings=Settings())
    assert (reason is not None) == skipped


def test_a_program_is_itself_with_its_windows_suffix() -> None:
    assert [program_of(line) for line in ("NODE.EXE x", "a\\b.cmd", "c.bat", "x.py")] == ["NODE", "b", "c", "x.py"]


class Silent:
    """An assistant for whom nothing failed."""

    async def run(self, session_id: str, notified: Any) -> None:
        await asyncio.Event().wait()

    async def publish(self, state: Mapping[str, object]) -> None: ...

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        raise NothingSaid

    async def close(self) -> None: ...


def test_nothing_said_arrives_as_an_end_without_a_line() -> None:
    import threading

    woken = threading.Event()
    control = ControlThread(Silent, "shell-1-1-00000000", woken.set)  # type: ignore[arg-type]
    try:
        control.post(Ask(7, Finding(ended(1, "dir"), TEXT, 80, "cmd", True, unsure=True)))
        assert woken.wait(10)
        assert control.receive() == [Failed(7, "")]
    finally:
        control.close()


class Told:
    """Stands in for notices and diagnosis."""

    waiting = False
    busy = False

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.by_text: list[bool] = []

    def hotkey(self, line: str) -> None:
        self.lines.append(line)

    def prompt_drawn(self) -> None: ...

    def command_ended(self, record: CommandRecord, *, hidden: bool, by_text: bool) -> None:
        self.by_text.append(by_text)


def tap_of(kind: str, facts: str) -> tuple[ShellTap, Told]:
    told: Any = Told()
    tap = ShellTap(Capture(NONCE), kind, cols=lambda: 80, receive=list, hotkey=7)
    tap.attach(told, told, NONCE)
    prompt = f"\x1b]7781;neocode;D;nc={NONCE};{facts}\x07\x1b]7781;neocode;A\x07>\x1b]7781;neocode;B\x07"
    tap.output(prompt.encode())
    return tap, told


def test_the_proxy_takes_the_hotkey_where_no_editor_binds_it_and_only_at_an_idle_prompt() -> None:
    tap, told = tap_of("cmd", "starts=enter;hotkey=taken;widget=none")
    assert not tap.takes_orders
    assert tap.input(b"\x07") == b""
    assert tap.input(b"x\x07") == b"x\x07"
    tap.input(b"\r")
    assert tap.input(b"\x07") == b"\x07"  # a program runs
    assert told.lines == ["other"]


@pytest.mark.parametrize("facts", ["hotkey=user", "hotkey=ours", "hotkey=none"])
def test_elsewhere_the_key_is_the_shells(facts: str) -> None:
    tap, told = tap_of("cmd", facts)
    assert tap.takes_orders
    assert tap.input(b"\x07") == b"\x07"
    assert told.lines == []


def test_only_cmd_goes_by_its_text() -> None:
    for kind in ("cmd", "sh", "pwsh"):
        tap, told = tap_of(kind, "starts=enter")
        tap.output(b"gti")
        tap.input(b"gti\r")
        tap.output(f"\r\nno\r\n\x1b]7781;neocode;D;nc={NONCE}\x07".encode())
        assert told.by_text == [kind == "cmd"]
