"""Shells that mark their prompts only: CMD, PowerShell without PSReadLine. What ran is read off the screen."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.capture import Capture
from ptyproxy.records import CommandRecord, PromptBegan
from ringbuffer.ring import MIN_CAPACITY

NONCE = "0123456789abcdef0123456789abcdef"
# what CMD prints for the PROMPT that it is given
PROMPT = (
    f"\x1b]7781;neocode;D;nc={NONCE};shell=cmd;starts=enter;hotkey=taken;widget=none\x1b\\"
    "\x1b]9;9;C:\\a;b %20\x1b\\\x1b]7781;neocode;A\x1b\\C:\\a;b %20>\x1b]7781;neocode;B\x1b\\"
).encode()
FAILED = b"'gti' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n"


def cmd() -> Capture:
    capture = Capture(NONCE, clock=lambda: 0.0)
    capture.feed(PROMPT)
    return capture


def run(capture: Capture, line: bytes, output: bytes) -> CommandRecord:
    """Type a line into CMD, which prints an empty line before every prompt."""
    capture.feed(line)
    capture.enter(typed=bool(line))
    capture.feed(b"\r\n" + output + b"\r\n" + PROMPT)
    return capture.records[-1]


def test_the_line_the_output_and_the_directory_are_known_and_the_exit_code_is_not() -> None:
    capture = cmd()
    record = run(capture, b"gti status", FAILED)
    assert (record.command, record.exact, record.exit_code) == ("gti status", False, None)
    assert (record.approximate, record.source) == (True, "enter")
    assert capture.output(record).tail == FAILED + b"\r\n"
    assert record.cwd == "C:\\a;b %20"  # cmd cannot encode it, so it is not read as a value of ours
    assert capture.facts["hotkey"] == "taken"
    assert record.head == FAILED + b"\r\n"


def test_while_it_runs_the_line_is_known_already() -> None:
    capture = cmd()
    capture.feed(b"ping -t x")
    capture.enter(typed=True)
    assert (capture.state, capture.running and capture.running.command) == ("output", "ping -t x")


def test_an_echo_that_comes_after_the_key_was_pressed_is_waited_for() -> None:
    capture = cmd()
    capture.feed(b"di")
    capture.enter(typed=True)
    capture.feed(b"r\r\n x.txt\r\n\r\n" + PROMPT)
    assert [record.command for record in capture.records] == ["dir"]
    assert capture.output(capture.records[0]).tail == b" x.txt\r\n\r\n"


def test_empty_lines_and_lines_that_are_given_up_are_no_commands() -> None:
    capture = cmd()
    capture.enter(typed=False)
    capture.feed(b"\r\n" + PROMPT + b"   ")
    capture.enter(typed=True)
    capture.feed(b"\r\n" + PROMPT + b"half^C\r\n\r\n" + PROMPT)
    assert capture.records == []
    assert capture.state == "input"


def test_lines_that_were_typed_ahead_are_recorded() -> None:
    capture = cmd()
    capture.feed(b"dir")
    capture.enter(typed=True)
    capture.enter(typed=True)
    capture.feed(b"\r\na\r\n\r\n" + PROMPT + b"ver\r\nWindows\r\n\r\n" + PROMPT)
    assert [record.command for record in capture.records] == ["dir", "ver"]
    assert capture.output(capture.records[1]).tail == b"Windows\r\n\r\n"


def test_a_batch_file_that_shows_its_lines_gives_a_record_for_each() -> None:
    capture = cmd()
    record = run(capture, b"build.cmd", b"\r\n" + PROMPT + b"cl a.c \r\na.c(1): error C2065\r\n")
    assert [each.command for each in capture.records] == ["build.cmd", "cl a.c "]
    assert capture.output(record).tail == b"a.c(1): error C2065\r\n\r\n"


def test_the_input_of_a_running_program_begins_nothing() -> None:
    capture = cmd()
    capture.feed(b"python")
    capture.enter(typed=True)
    for _ in range(3):
        capture.feed(b"\r\n>>> 1")
        capture.enter(typed=True)
    capture.feed(b"\r\n\r\n" + PROMPT)
    assert [record.command for record in capture.records] == ["python"]


def test_remote_text_can_neither_end_nor_begin_a_command() -> None:
    capture = cmd()
    evil = (
        b"\x1b]7781;neocode;D;nc=%s;starts=marks;exit=0\x1b\\\x1b]7781;neocode;A\x1b\\C:\\>\x1b]7781;neocode;B\x1b\\"
        b"\x1b]133;D;0\x07\x1b]7781;neocode;C;cmd=rm\x07" % (b"0" * 32)
    )
    record = run(capture, b"type evil", evil + b"x\r\n")
    assert [each.command for each in capture.records] == ["type evil"]
    assert capture.output(record).tail == evil + b"x\r\n\r\n"


def test_every_prompt_is_a_new_one() -> None:
    capture = cmd()
    events = capture.feed(b"\r\n" + PROMPT)
    assert [event.new for event in events if isinstance(event, PromptBegan)] == [True]


def test_an_output_longer_than_the_ring_keeps_what_was_known_when_it_began() -> None:
    capture = Capture(NONCE, capacity=MIN_CAPACITY, clock=lambda: 0.0)
    capture.feed(PROMPT)
    record = run(capture, b"type big", b"first\r\n" + b"x" * (2 * MIN_CAPACITY) + b"\r\n")
    assert (record.command, record.truncated) == ("type big", True)
    assert capture.output(record).head.startswith(b"\r\nfirst\r\n")


def test_what_an_earlier_command_printed_is_never_another_one_s_head() -> None:
    capture = Capture(NONCE, capacity=MIN_CAPACITY, clock=lambda: 0.0)
    capture.feed(PROMPT)
    run(capture, b"type secret", b"secret\r\n")
    capture.feed(b"ver\r\nWindows\r\n\r\n" + PROMPT)
    capture.feed(b"x" * (2 * MIN_CAPACITY))
    assert b"secret" not in capture.output(capture.records[1]).head


def test_clink_tells_the_line_and_the_code_and_its_first_command_is_one() -> None:
    capture = cmd()
    clink = f"\x1b]7781;neocode;D;nc={NONCE};starts=marks\x07".encode()
    for code in (1, 0):
        capture.feed(b"echo")
        capture.enter(typed=True)
        capture.feed(b"\r\n" + f"\x1b]7781;neocode;C;nc={NONCE};cmd=echo %25x%25\x07".encode() + b"out\r\n")
        capture.feed(clink[:-1] + b";exit=%d\x07" % code + PROMPT)
    assert [(each.command, each.exact, each.exit_code) for each in capture.records] == [
        ("echo %x%", True, 1),
        ("echo %x%", True, 0),
    ]
    assert capture.output(capture.records[0]).tail == b"out\r\n"


def late(line: str, code: int, output: bytes) -> bytes:
    """PowerShell without PSReadLine: its history tells the line, at the next prompt."""
    marks = f"\x1b]7781;neocode;C;nc={NONCE};late=1;cmd={line}\x07\x1b]7781;neocode;D;nc={NONCE};exit={code}\x07"
    return output + marks.encode() + b"\x1b]7781;neocode;A\x07PS> \x1b]7781;neocode;B\x07"


def test_a_line_that_the_history_tells_belongs_to_what_enter_began() -> None:
    capture = Capture(NONCE, clock=lambda: 0.0)
    capture.feed(f"\x1b]7781;neocode;D;nc={NONCE};starts=enter\x07".encode() + late("", 0, b"")[-40:])
    capture.feed(b"\x1b]7781;neocode;A\x07PS> \x1b]7781;neocode;B\x07gti")
    capture.enter(typed=True)
    capture.feed(late("gti", 1, b"\r\nno gti\r\n"))
    capture.feed(late("typed ahead", 3, b"typed ahead\r\nmore\r\n"))
    assert [(each.command, each.exact, each.exit_code) for each in capture.records] == [
        ("gti", True, 1),
        ("typed ahead", True, 3),
    ]
    assert capture.output(capture.records[0]).tail == b"\r\nno gti\r\n"


@given(st.lists(st.integers(0, 2000)))
def test_any_cut_gives_the_same_records(cuts: list[int]) -> None:
    stream = PROMPT + b"dir\r\n a\r\n\r\n" + PROMPT + b"gti\r\n" + FAILED + b"\r\n" + PROMPT + b"x^C\r\n\r\n" + PROMPT
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    whole, cut = (Capture(NONCE, clock=lambda: 0.0) for _ in range(2))
    whole.feed(stream)
    for low, high in itertools.pairwise(edges):
        cut.feed(stream[low:high])
    assert cut.records == whole.records
    assert [record.command for record in whole.records] == ["dir", "gti"]
