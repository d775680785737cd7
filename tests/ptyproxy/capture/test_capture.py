"""Which command an output belongs to, whatever programs write in between."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal_streams import FOREIGN, FORGED, NONCE, OTHER_NONCE, OUTPUT_PIECES, PROMPT, A, B, command, done

from ptyproxy.capture import Capture
from ptyproxy.commands import RECORDS_KEPT
from ptyproxy.records import CommandEnded, CommandRecord, CommandStarted, Event, HotkeyPressed, PromptBegan
from ptyproxy.stream.osc import build_mark, build_marks
from ringbuffer.head import HEAD_LIMIT
from ringbuffer.ring import MIN_CAPACITY

STREAMS = st.lists(st.one_of(st.sampled_from(OUTPUT_PIECES), st.binary(max_size=12)), max_size=10).map(b"".join)


def captured(*reads: bytes, nonce: str | None = NONCE) -> Capture:
    capture = Capture(nonce, capacity=MIN_CAPACITY, clock=lambda: 0.0)
    for read in reads:
        capture.feed(read)
    assert capture.faults == 0
    return capture


def output(capture: Capture, record: CommandRecord) -> bytes:
    got = capture.output(record)
    assert (got.head, got.skipped) == (b"", 0)
    return got.tail


def prompts(events: list[Event]) -> list[bool]:
    return [event.new for event in events if isinstance(event, PromptBegan)]


def ran(line: str, text: bytes = b"", code: int = 0) -> bytes:
    """All that a shell writes for one command line, from its prompt on."""
    return PROMPT + line.encode() + b"\r\n" + command(line) + text + done(code)


def foreign_ran(text: bytes = b"", code: str = ";0") -> bytes:
    return b"\x1b]133;A\x07$ \x1b]133;B\x07\x1b]133;C\x07" + text + f"\x1b]133;D{code}\x07".encode()


@settings(deadline=None)
@given(STREAMS, st.lists(st.integers(0, 500)), st.sampled_from([NONCE, None]))
def test_any_cut_gives_the_same_events_and_records(stream: bytes, cuts: list[int], nonce: str | None) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    cut, whole = (Capture(nonce, capacity=MIN_CAPACITY, clock=lambda: 0.0) for _ in range(2))
    events = [event for low, high in itertools.pairwise(edges) for event in cut.feed(stream[low:high])]
    assert events == whole.feed(stream)
    assert (cut.records, cut.running, cut.state, cut.cwd) == (whole.records, whole.running, whole.state, whole.cwd)
    assert cut.faults == whole.faults == 0


@pytest.mark.parametrize("piece", OUTPUT_PIECES, ids=lambda piece: repr(piece[:24]))
def test_a_cut_at_every_byte_gives_the_same_records(piece: bytes) -> None:
    stream = ran("one", piece[:700], 1) + piece[:700] + ran("two", b"x", 2) + PROMPT
    whole = captured(stream)
    for at in range(0, len(stream), 1 if len(stream) < 600 else 5):
        assert captured(stream[:at], stream[at:]).records == whole.records
    assert captured(*(stream[at : at + 1] for at in range(len(stream)))).records == whole.records


def test_a_command_its_text_and_its_end_in_one_read() -> None:
    """The upstream proxy stored a read before it looked at its marks: a fast failure had no output."""
    capture = captured(ran("ls nope", b"ls: no such file\r\n", 2))
    (record,) = capture.records
    assert (record.command, record.exact, record.exit_code, record.source) == ("ls nope", True, 2, "neocode")
    assert output(capture, record) == record.head == b"ls: no such file\r\n"
    assert not record.approximate
    assert not record.truncated


def test_the_same_command_twice_gives_two_records() -> None:
    """The upstream integration said nothing when a line was repeated: `false` twice was one record."""
    records = captured(ran("false", b"", 1) + ran("false", b"", 1)).records
    assert [(record.number, record.command, record.exit_code) for record in records] == [
        (1, "false", 1),
        (2, "false", 1),
    ]


def test_times_are_the_injected_clock_s() -> None:
    now = iter([10.0, 12.5])
    capture = Capture(NONCE, clock=lambda: next(now))
    capture.feed(command("sleep"))
    capture.feed(b"text")
    capture.feed(done(0))
    assert (capture.records[0].started, capture.records[0].ended) == (10.0, 12.5)


def test_ctrl_c_at_an_empty_prompt_gives_no_record_and_a_new_prompt() -> None:
    capture = captured(done(0), PROMPT)
    assert prompts(capture.feed(b"^C\r\n" + done(130) + PROMPT)) == [True]
    assert capture.records == []


def test_output_of_a_background_job_belongs_to_nobody() -> None:
    capture = captured(ran("job &", b"[1] 42\r\n") + b"from the job\r\n" + ran("ls", b"a\r\n"))
    assert [output(capture, record) for record in capture.records] == [b"[1] 42\r\n", b"a\r\n"]


def test_a_prompt_drawn_again_is_no_new_prompt() -> None:
    capture = captured()
    assert prompts(capture.feed(PROMPT)) == [True]
    assert prompts(capture.feed(PROMPT + A + A + B)) == [False, False, False]
    assert prompts(capture.feed(command("x") + done(0) + b"\r\n" + PROMPT + PROMPT)) == [True, False]


def test_a_directory_is_where_the_command_ran_not_where_it_led() -> None:
    capture = captured(build_mark("D", NONCE, cwd="/a"), PROMPT, command("cd b"), done(0, "/b c;本"), ran("ls"))
    assert [record.cwd for record in capture.records] == ["/a", "/b c;本"]


@pytest.mark.parametrize("forged", [b"".join(FORGED), b"".join(FOREIGN), A + B, b"\x1b]0;open", b"\x1bPq", b"\x1bc"])
def test_no_output_can_forge_end_or_hide_a_command(forged: bytes) -> None:
    """microsoft/vscode#181522: a file with marks in it, shown by `cat`, must not become commands."""
    text = b"\x1b]133;D;0\x07\x1b]633;E;rm -rf /\x07" + forged + b"text\x1b]7781;neocode;D;nc=" + OTHER_NONCE.encode()
    capture = captured(done(0))
    events = capture.feed(ran("cat evil", text, 1))
    (record,) = capture.records
    assert (record.command, record.exit_code, record.cwd) == ("cat evil", 1, "/home/me")
    assert output(capture, record) == text
    assert prompts(events) == [True]
    assert [type(event) for event in events if isinstance(event, CommandStarted | CommandEnded)] == [
        CommandStarted,
        CommandEnded,
    ]


@settings(deadline=None)
@given(STREAMS)
def test_without_the_nonce_nothing_ends_an_authenticated_command(stream: bytes) -> None:
    stream = stream.replace(NONCE.encode(), OTHER_NONCE.encode())
    capture = captured(done(0), PROMPT, command("evil"), stream, done(3))
    (record,) = capture.records
    assert (record.command, record.exit_code) == ("evil", 3)
    assert capture.output(record).tail == stream
    assert capture.cwd == "/home/me"


def test_marks_of_an_ssh_session_do_not_end_the_local_command() -> None:
    """warpdotdev/warp#2317: the remote shell has an integration of its own."""
    remote = PROMPT + command("ls", OTHER_NONCE) + b"r\r\n" + done(0, "/", OTHER_NONCE) + foreign_ran(b"r2\r\n")
    capture = captured(ran("ssh host", remote * 3, 5))
    (record,) = capture.records
    assert (record.command, record.exit_code) == ("ssh host", 5)
    assert output(capture, record) == remote * 3


def test_inside_a_nested_shell_the_command_still_runs() -> None:
    capture = captured(PROMPT, command("su"), b"# ls\r\nfile\r\n# ")
    running = capture.running
    assert running is not None
    assert (running.command, running.end, running.head) == ("su", None, b"# ls\r\nfile\r\n# ")
    assert output(capture, running) == b"# ls\r\nfile\r\n# "


def test_a_lost_end_is_made_up_for_by_the_next_command() -> None:
    capture = captured(PROMPT, command("one"), b"text\r\n", PROMPT, b"two\r\n", command("two"), b"more", done(4))
    first, second = capture.records
    assert (first.command, first.exit_code, output(capture, first)) == ("one", None, b"text\r\n")
    assert (second.command, second.exit_code, output(capture, second)) == ("two", 4, b"more")


def test_foreign_marks_are_used_until_one_of_ours_is_seen() -> None:
    capture = captured(foreign_ran(b"one", ";3"))
    (record,) = capture.records
    assert (record.source, record.exit_code, record.command) == ("foreign", 3, None)
    capture.feed(done(0) + foreign_ran(b"two"))
    assert len(capture.records) == 1


def test_a_shell_that_marks_natively_beside_our_marks_gives_one_record_each() -> None:
    """fish 4 writes OSC 133 by itself: first C and last D of the doubled marks win."""
    native = b"\x1b]133;A\x07" + PROMPT + b"\x1b]133;C;cmdline_url=ls\x07" + command("ls") + b"out"
    stream = native + done(1) + b"\x1b]133;D;1\x07"
    capture = captured(stream, stream)
    assert [(r.command, r.source, r.exit_code, output(capture, r)) for r in capture.records] == [
        ("ls", "neocode", 1, b"out")
    ] * 2


def test_two_foreign_integrations_give_one_record_with_the_exit_code_that_comes_second() -> None:
    capture = captured(b"\x1b]133;A\x07\x1b]633;A\x07\x1b]133;B\x07\x1b]633;E;make\x07\x1b]633;C\x07\x1b]133;C\x07out")
    events = capture.feed(b"\x1b]133;D\x07\x1b]633;D;2\x07\x1b]133;A\x07")
    assert [(r.command, r.exit_code) for r in capture.records] == [("make", 2)]
    assert [event.amended for event in events if isinstance(event, CommandEnded)] == [False, True]


def test_a_foreign_command_line_belongs_to_the_next_command_only() -> None:
    one = b"\x1b]633;A\x07\x1b]633;B\x07\x1b]633;E;make\x07\x1b]633;C\x07out\x1b]633;D;2\x07"
    capture = captured(one, one.replace(b"\x1b]633;E;make\x07", b""))
    assert [(r.command, r.exact) for r in capture.records] == [("make", True), (None, False)]


@pytest.mark.parametrize(
    "nothing",
    [
        b"\x1b]133;D\x07",
        b"\x1b]133;D;0\x07",
        b"\x1b]633;E;;\x07\x1b]633;C\x07\x1b]633;D\x07",
        b"\x1b]133;C\x07\x1b]133;D\x07",
    ],
)
def test_an_end_where_nothing_ran_gives_no_record(nothing: bytes) -> None:
    """iTerm2's integration ends a command before the first prompt; VS Code's starts one for an empty line."""
    capture = captured(nothing + b"\x1b]133;A\x07\x1b]133;B\x07" + nothing)
    assert capture.records == []


def test_a_foreign_prompt_without_an_end_ends_the_command_with_unknown_exit() -> None:
    capture = captured(b"\x1b]133;A\x07\x1b]133;B\x07\x1b]133;C\x07out\r\n\x1b]133;A\x07")
    assert [(r.exit_code, output(capture, r)) for r in capture.records] == [(None, b"out\r\n")]


def test_a_nested_shell_with_another_aid_is_part_of_the_command() -> None:
    """kitty's `aid` tells shells apart: those of a remote one end nothing here."""
    nested = b"\x1b]133;A;aid=2\x07\x1b]133;C;aid=2\x07x\x1b]133;D;0;aid=2\x07"
    capture = captured(b"\x1b]133;A;aid=1\x07\x1b]133;C;aid=1\x07" + nested + b"\x1b]133;D;7;aid=1\x07")
    assert [(r.exit_code, output(capture, r)) for r in capture.records] == [(7, nested)]


def test_a_directory_of_another_host_is_not_ours() -> None:
    capture = Capture(NONCE, hostname="here")
    capture.feed(b"\x1b]7;file://here/a\x07\x1b]7;file://there/b\x07")
    assert capture.cwd == "/a"
    capture.feed(done(0, "/c") + b"\x1b]7;file://here/a\x07")
    assert capture.cwd == "/c"


def test_a_long_command_line_is_joined_and_its_output_begins_after_the_last_part() -> None:
    line = "echo " + "本;%\n" * 300
    capture = captured(ran(line, b"out", 0))
    (record,) = capture.records
    assert (record.command, record.exact, output(capture, record)) == (line, True, b"out")


def test_a_command_line_that_came_in_part_is_inexact() -> None:
    first, *_ = build_marks("C", NONCE, "cmd", "x" * 500)
    capture = captured(PROMPT, first + b"out" + done(1))
    (record,) = capture.records
    assert record.command is not None
    assert (record.command.strip("x"), record.exact, record.exit_code) == ("", False, 1)


def test_the_hotkey_needs_the_nonce() -> None:
    capture = captured(PROMPT)
    assert capture.feed(build_mark("K", OTHER_NONCE) + build_mark("K")) == []
    (event,) = capture.feed(build_mark("K", NONCE, buf="a%3Bb"))
    assert isinstance(event, HotkeyPressed)
    assert event.fields == {"buf": "a;b"}


def test_full_screen_programs_are_known() -> None:
    screen = b"\x1b[?1049h" + b"~\r\n" * 9 + b"\x1b[?1049l"
    records = captured(ran("vim", screen), ran("ls", b"a\r\n")).records
    assert [record.alternate_screen for record in records] == [True, False]


def test_a_screen_that_was_left_on_counts_for_the_next_command() -> None:
    records = captured(ran("crash", b"\x1b[?1049h"), ran("ls")).records
    assert [record.alternate_screen for record in records] == [True, True]


def test_the_beginning_of_a_long_output_is_there_when_it_fails_at_the_end() -> None:
    capture = Capture(NONCE, capacity=MIN_CAPACITY)
    text = b"".join(b"line %d\r\n" % number for number in range(40_000))
    capture.feed(PROMPT + command("make") + text[:5])
    for at in range(5, len(text), 4096):
        capture.feed(text[at : at + 4096])
    capture.feed(done(2))
    (record,) = capture.records
    got = capture.output(record)
    assert record.truncated
    assert got.head == text[:HEAD_LIMIT]
    assert text.endswith(got.tail)
    assert len(got.head) + got.skipped + len(got.tail) == len(text)


def test_the_head_and_the_ring_join_when_they_meet() -> None:
    capture = Capture(NONCE, capacity=MIN_CAPACITY)
    text = b"0123456789abcdef" * (MIN_CAPACITY // 16) + b"the end"
    capture.feed(command("x") + text + done(0))
    assert output(capture, capture.records[0]) == text


def test_an_output_that_the_ring_has_lost_still_has_its_head() -> None:
    capture = Capture(NONCE, capacity=MIN_CAPACITY)
    capture.feed(ran("false", b"it failed\r\n", 1) + command("yes") + b"y\r\n" * MIN_CAPACITY + done(0))
    assert output(capture, capture.records[0]) == b"it failed\r\n"


def test_the_records_are_bounded() -> None:
    capture = captured(*(ran(f"echo {number}") for number in range(3 * RECORDS_KEPT)))
    assert [record.number for record in capture.records] == list(range(2 * RECORDS_KEPT + 1, 3 * RECORDS_KEPT + 1))


def test_without_marks_a_command_is_what_follows_an_enter() -> None:
    capture = captured(b"$ ", nonce=None)
    capture.enter(typed=True)
    capture.feed(b"\r\nls: no such file\r\n$ ")
    capture.enter(typed=False)
    capture.feed(b"\r\n$ ")
    running = capture.running
    assert running is not None
    assert (running.approximate, running.source, running.command) == (True, "enter", None)
    assert output(capture, running) == b"\r\nls: no such file\r\n$ \r\n$ "
    capture.enter(typed=True)
    assert [(r.exit_code, r.approximate) for r in capture.records] == [(None, True)]


def test_with_prompt_marks_only_the_next_prompt_ends_the_command() -> None:
    capture = captured(A + b"$ " + B + b"ls", nonce=None)
    line_end = capture.ring.end
    capture.enter(typed=True)
    capture.feed(b"\r\npassword: ")
    assert capture.enter(typed=True) == []
    assert prompts(capture.feed(b"\r\nout\r\n" + PROMPT)) == [True]
    (record,) = capture.records
    assert output(capture, record) == b"\r\npassword: \r\nout\r\n"
    assert record.input_span == (line_end - 2, line_end)


def test_an_empty_line_between_prompt_marks_is_no_command_but_a_new_prompt() -> None:
    capture = captured(PROMPT, nonce=None)
    capture.enter(typed=False)
    assert prompts(capture.feed(b"\r\n" + PROMPT)) == [True]
    assert capture.records == []


def test_where_commands_are_marked_enter_says_nothing() -> None:
    capture = captured(ran("ls"), PROMPT)
    assert capture.enter(typed=True) == []
    assert capture.running is None


def test_what_enter_guessed_gives_way_to_a_mark() -> None:
    capture = captured(PROMPT)
    capture.enter(typed=True)
    capture.feed(b"ls\r\n" + command("ls") + b"a" + done(0))
    assert [(r.command, r.source) for r in capture.records] == [("ls", "neocode")]


def test_the_line_that_was_typed_can_be_found_on_the_screen() -> None:
    capture = captured(ran("ls -l"))
    span = capture.records[0].input_span
    assert span is not None
    assert capture.ring.snapshot(*span).data == b"ls -l\r\n"


def test_a_fault_in_the_tap_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = captured(PROMPT)
    with monkeypatch.context() as patch:
        patch.setattr("ptyproxy.capture.read_mark", lambda token: 1 / 0)
        assert capture.feed(command("a")) == []
    assert capture.faults == 1
    capture.feed(ran("b", b"out", 1))
    assert [(r.command, output(capture, r)) for r in capture.records] == [("b", b"out")]


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=2000))
def test_a_binary_file_on_the_screen_changes_nothing(data: bytes) -> None:
    capture = captured(ran("cat /bin/x", data * 5, 0), ran("false", b"no", 1))
    assert [(r.command, r.exit_code) for r in capture.records] == [("cat /bin/x", 0), ("false", 1)]
    assert output(capture, capture.records[1]) == b"no"
