"""Our words on the user's screen: where they go, when, and that they never go anywhere else."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptyproxy.integration import cmd
from ptyproxy.notices import ACK_SEC, MAX_MISSES, MAX_WAITING_CHARS, SILENCE_SEC, Notices
from ptyproxy.session import SHOW_ORDER, Session, open_session

A = b"\x1b]7781;neocode;A\x07"
D = b"\x1b]7781;neocode;D;nc=nonce;exit=1\x07"
KEY = b"\x1b[7781~"


class Screen:
    """A situation that a test sets, and what was sent where."""

    def __init__(self, session: Session, widget: bytes = KEY) -> None:
        self.at_idle_prompt = False
        self.awaits_prompt = False
        self.takes_orders = True
        self.marked = True
        self.quiet_since: float | None = 0.0
        self.more_follows = False
        self.last_line = b""
        self.now = 50.0
        self.sent: list[bytes] = []
        self.written: list[bytes] = []
        self.session = session
        self.notices = Notices(self, session, widget, self.sent.append, self.written.append, lambda: self.now)

    def order(self) -> str | None:
        path = Path(self.session.directory, SHOW_ORDER)
        return path.read_text() if path.exists() else None


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = open_session(str(tmp_path))
    yield made
    made.close()


@pytest.fixture
def screen(session: Session) -> Screen:
    return Screen(session)


def test_words_go_right_before_a_new_prompt(screen: Screen) -> None:
    screen.notices.say("hello")
    screen.awaits_prompt = True
    assert screen.notices.divide(b"out\r\n" + A + b"$ ", b"nonce") == (b"out\r\n", b"hello\r\n\x1b[m", A + b"$ ")
    assert not screen.notices.waiting


def test_a_command_end_in_the_same_read_makes_the_prompt_new(screen: Screen) -> None:
    screen.notices.say("hello")
    divided = screen.notices.divide(b"out" + D + A, b"nonce")
    assert divided == (b"out" + D, b"\r\nhello\r\n\x1b[m", A)


@pytest.mark.parametrize("prefix", [b"", b"(venv) ", b"\x1b[?25l(base) "])
def test_in_cmd_they_stand_above_what_was_put_before_the_prompt(screen: Screen, prefix: bytes) -> None:
    nonce = "0123456789abcdef" * 2
    prompt = cmd.prompt(b"$G", nonce).replace(b"$e", b"\x1b").replace(b"$P", b"C:\\").replace(b"$G", b">")
    screen.notices.say("hello")
    divided = screen.notices.divide(b"out\r\n\r\n" + prefix + prompt, nonce.encode())
    assert divided == (b"out\r\n\r\n", b"hello\r\n\x1b[m", prefix + prompt)


def test_a_prompt_drawn_again_or_forged_is_no_place(screen: Screen) -> None:
    screen.notices.say("hello")
    assert screen.notices.divide(A + b"$ ", b"nonce") is None
    assert screen.notices.divide(b"\x1b]7781;neocode;D;nc=guess;exit=0\x07" + A, b"nonce") is None
    assert screen.notices.waiting


def test_a_mark_cut_over_two_reads_is_let_pass(screen: Screen) -> None:
    screen.notices.say("hello")
    screen.awaits_prompt = True
    assert screen.notices.divide(A[:7], b"nonce") is None
    assert screen.notices.divide(A[7:], b"nonce") is None


@given(st.lists(st.integers(0, 300), max_size=8), st.booleans())
def test_in_cmd_however_its_prompt_is_cut_they_stand_above_it(cuts: list[int], ended: bool) -> None:
    """CMD may print every character of PROMPT by itself, and a pseudo console passes each on."""
    nonce = "0123456789abcdef" * 2
    prompt = cmd.prompt(b"$G", nonce).replace(b"$e", b"\x1b").replace(b"$P", b"C:\\").replace(b"$G", b">")
    output = b"out\r\n\r\n" + prompt
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(folder)
        screen = Screen(session, b"")
        screen.awaits_prompt = ended
        screen.notices.say("hello")
        shown, printed = b"", b""
        for begin, end in pairwise([0, *sorted(min(cut, len(output)) for cut in cuts), len(output)]):
            if begin < end:
                shown += b"".join(
                    screen.notices.divide(output[begin:end], nonce.encode(), printed) or (output[begin:end],)
                )
                printed += output[begin:end]
        session.close()
    words = b"hello\r\n\x1b[m"
    assert shown.replace(words, b"") == output
    before, _, behind = shown.partition(words)
    assert re.sub(rb"\x1b\][^\x1b]*\x1b\\", b"", before) == b"out\r\n\r\n"  # and no mark is torn
    assert re.sub(rb"\x1b\][^\x1b]*\x1b\\", b"", behind) == b">"


def test_at_an_idle_prompt_the_widget_is_ordered_to_show_them(screen: Screen) -> None:
    screen.notices.say("one")
    screen.notices.tick()
    assert screen.sent == []
    screen.at_idle_prompt = True
    screen.notices.say("two")
    screen.notices.tick()
    assert screen.order() == "one\ntwo\n"
    assert screen.sent == [KEY]
    screen.notices.say("three")
    screen.notices.tick()
    assert screen.sent == [KEY], "one order at a time"
    Path(screen.session.directory, SHOW_ORDER).unlink()
    screen.notices.prompt_drawn()
    screen.notices.tick()
    assert screen.order() == "three\n"
    assert screen.written == []


def test_a_widget_that_does_not_answer_is_given_up_and_nothing_is_lost(screen: Screen) -> None:
    screen.at_idle_prompt = True
    screen.notices.say("one")
    screen.notices.tick()
    screen.now += ACK_SEC
    screen.notices.tick()
    assert screen.order() is None
    assert not screen.notices.widget_works
    screen.awaits_prompt = True
    assert screen.notices.divide(A, b"nonce") == (b"", b"one\r\n\x1b[m", A)


def test_a_prompt_that_is_slow_to_draw_does_not_cost_the_widget(screen: Screen) -> None:
    screen.at_idle_prompt = True
    screen.notices.say("one")
    screen.notices.tick()
    Path(screen.session.directory, SHOW_ORDER).unlink()  # the widget has it and prints it
    screen.now += ACK_SEC
    screen.notices.tick()
    screen.notices.prompt_drawn()
    screen.notices.say("two")
    screen.notices.tick()
    assert screen.order() == "two\n"


def test_a_widget_that_was_given_up_is_tried_again_after_a_prompt_but_not_for_ever(screen: Screen) -> None:
    for _ in range(MAX_MISSES):
        screen.at_idle_prompt, screen.awaits_prompt = True, False
        screen.notices.say("word")
        screen.notices.tick()
        assert screen.order() == "word\n"
        screen.now += ACK_SEC
        screen.notices.tick()
        screen.at_idle_prompt, screen.awaits_prompt = False, True
        assert screen.notices.divide(A, b"nonce") is not None
    assert not screen.notices.widget_works


def test_a_full_disk_falls_back_to_the_next_prompt(screen: Screen) -> None:
    screen.session.close()
    screen.at_idle_prompt = True
    screen.notices.say("one")
    screen.notices.tick()
    assert screen.sent == []
    assert screen.notices.waiting


def test_without_marks_only_what_was_asked_for_is_written_after_silence(session: Session) -> None:
    screen = Screen(session, b"")
    screen.marked = False
    screen.notices.say("unasked")
    screen.notices.tick()
    assert screen.written == []
    screen.quiet_since = screen.now
    screen.notices.say("asked", asked=True)
    wait = screen.notices.tick()
    assert wait is not None
    assert wait <= SILENCE_SEC
    screen.quiet_since = None
    screen.now += 1
    screen.notices.tick()
    assert screen.written == [], "the alternate screen is on"
    screen.quiet_since = screen.now - 1
    screen.notices.tick()
    assert screen.written == [b"\r\nunasked\r\nasked\r\n\x1b[m"]


def test_an_answer_without_marks_is_one_text_and_the_prompt_stands_below_it(session: Session) -> None:
    screen = Screen(session, b"")
    screen.marked, screen.more_follows, screen.last_line = False, True, b"$ "
    screen.quiet_since = screen.now - 1
    for text in ("Cause\n\n", "Fix\n"):
        screen.notices.say(text, asked=True)
        screen.notices.tick()
    screen.more_follows = False
    screen.notices.say("end", asked=True)
    screen.notices.tick()
    screen.notices.say("another", asked=True)
    screen.notices.tick()
    assert screen.written == [
        b"\r\nCause\r\n\r\n\x1b[m",
        b"Fix\r\n\x1b[m",
        b"end\r\n\x1b[m$ ",
        b"\r\nanother\r\n\x1b[m$ ",
    ]


def test_what_waits_in_a_shell_without_marks_is_shown_when_it_is_wanted(session: Session) -> None:
    screen = Screen(session, b"")
    screen.quiet_since = screen.now - 1
    assert not screen.notices.want()
    screen.notices.say("unasked")
    assert screen.notices.want()
    screen.notices.tick()
    assert screen.written == [], "where there are marks it waits for the next prompt"
    screen.marked = False
    assert screen.notices.want()
    screen.notices.tick()
    assert screen.written == [b"\r\nunasked\r\n\x1b[m"]


def test_words_go_above_a_prompt_that_brings_its_end_mark_along(session: Session) -> None:
    """dash's prompt is one string: an end without nonce, the prompt's beginning."""
    ended = b"x\r\n\x1b]133;D;2\x07"
    screen = Screen(session, b"")
    screen.notices.say("hello")
    assert screen.notices.divide(ended + A, b"nonce") is None, "the shell has other marks"
    screen.marked = False
    assert screen.notices.divide(A, b"nonce") is None
    screen.quiet_since = None
    assert screen.notices.divide(ended + A, b"nonce") is None, "the alternate screen is on"
    screen.quiet_since = 0.0
    assert screen.notices.divide(ended + A, b"nonce") == (ended, b"hello\r\n\x1b[m", A)


def test_what_waits_is_bounded_and_says_so(screen: Screen) -> None:
    for _ in range(100):
        screen.notices.say("x" * (MAX_WAITING_CHARS // 10))
    screen.at_idle_prompt = True
    screen.notices.tick()
    text = screen.order()
    assert text is not None
    assert len(text) < MAX_WAITING_CHARS * 1.2
    assert text.endswith("too long to keep]\n")


def test_a_marker_that_was_not_shown_in_time_is_dropped_for_the_answer(screen: Screen) -> None:
    """It says that an answer is awaited; above one it says nothing."""
    screen.notices.say("other")
    screen.notices.say("wait", fleeting=True)
    screen.notices.say("answer")
    screen.awaits_prompt = True
    assert screen.notices.divide(A, b"nonce") == (b"", b"other\r\nanswer\r\n\x1b[m", A)


def test_a_marker_that_is_shown_stays_and_takes_nothing_else_with_it(screen: Screen) -> None:
    screen.notices.say("wait", fleeting=True)
    screen.awaits_prompt = True
    assert screen.notices.divide(A, b"nonce") == (b"", b"wait\r\n\x1b[m", A)
    screen.notices.say("answer")
    assert screen.notices.divide(A, b"nonce") == (b"", b"answer\r\n\x1b[m", A)
