"""Terminal modes: what the child left on is undone, exactly, and in the order that terminals need."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terminal_streams import MODES, OUTPUT_PIECES

from ptyproxy.stream.modes import ModeTracker

STREAMS = st.lists(
    st.one_of(st.sampled_from(MODES), st.sampled_from(OUTPUT_PIECES), st.binary(max_size=8)), max_size=10
).map(b"".join)


def after(*reads: bytes) -> ModeTracker:
    tracker = ModeTracker()
    for read in reads:
        tracker.feed(read)
    return tracker


@settings(deadline=None)
@given(STREAMS, st.lists(st.integers(0, 200)))
def test_any_cut_gives_the_same_switches_and_resets(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    cut, whole = ModeTracker(), ModeTracker()
    switches = [switch for low, high in itertools.pairwise(edges) for switch in cut.feed(stream[low:high])]
    assert switches == whole.feed(stream)
    assert cut.resets() == whole.resets()


@settings(deadline=None)
@given(STREAMS)
def test_the_resets_leave_nothing_to_reset(stream: bytes) -> None:
    tracker = after(stream, b"\x18")
    resets = tracker.resets()
    tracker.feed(resets)
    assert not tracker.alternate
    assert not tracker.kitty_keyboard
    # a designated character set counts as changed for good: putting it back twice does no harm
    assert tracker.resets() in (b"", b"\x1b(B\x0f")


def test_a_terminal_that_nothing_was_done_to_needs_no_resets() -> None:
    assert after(b"text \x1b[31mred\x1b[0m\x1b[?2004h$ \x1b[?2004l\r\n").resets() == b""


@pytest.mark.parametrize(
    ("left_on", "undone"),
    [
        (b"\x1b[?2004h", b"\x1b[?2004l"),
        (b"\x1b[?1000h\x1b[?1002;1006h", b"\x1b[?1000l\x1b[?1002l\x1b[?1006l"),
        (b"\x1b[?1003h\x1b[?1015h", b"\x1b[?1003l\x1b[?1015l"),
        (b"\x1b[?1004h", b"\x1b[?1004l"),
        (b"\x1b[?25l", b"\x1b[?25h"),
        (b"\x1b[?7l", b"\x1b[?7h"),
        (b"\x1b[?1h\x1b=", b"\x1b[?1l\x1b>"),
        (b"\x1b[?9001h", b"\x1b[?9001l"),
        (b"\x1b[?2026h", b"\x1b[?2026l"),
        (b"\x1b[>4;2m", b"\x1b[>4m"),
        (b"\x1b[4 q", b"\x1b[0 q"),
        (b"\x1b(0", b"\x1b(B\x0f"),
        (b"\x0e", b"\x1b(B\x0f"),
        (b"\x1b[>1u\x1b[>3u", b"\x1b[<2u"),
        (b"\x1b[=5u", b"\x1b[=0u"),
        (b"\x1b[=5u\x1b[>1u", b"\x1b[<1u\x1b[=0u"),
        (b"\x1b[?1049h", b"\x1b[?1049l"),
        (b"\x1b[?47h", b"\x1b[?47l"),
    ],
)
def test_what_is_left_on_is_undone(left_on: bytes, undone: bytes) -> None:
    """anthropics/claude-code#3134: after a program that leaves ?2004 on, pastes arrive with `00~`."""
    assert after(left_on).resets() == undone


@pytest.mark.parametrize(
    "stream",
    [b"\x1b[?1000h\x1b[?1000l", b"\x1b[?25l\x1b[?25h", b"\x1b=\x1b>", b"\x1b[>1u\x1b[<u", b"\x1b[=5u\x1b[=0u",
     b"\x1b[>4;1m\x1b[>4;0m", b"\x1b[>4;1m\x1b[>4n", b"\x1b[5 q\x1b[ q", b"\x1b[?1049h\x1b[?1049l",
     b"\x1b[?47h\x1b[?1049h\x1b[?1047l", b"\x1b[>1u\x1b[<9u", b"\x1b[=1u\x1b[=1;3u"],
)  # fmt: skip
def test_what_was_undone_already_is_let_be(stream: bytes) -> None:
    assert after(stream).resets() == b""


def test_the_alternate_screen_is_left_before_keyboard_flags_are_popped() -> None:
    """QwenLM/qwen-code#7115, kovidgoyal/kitty#3742: flags are kept per screen; popped on the wrong one they stay."""
    tracker = after(b"\x1b[>1u\x1b[?1049h\x1b[>1u")
    assert tracker.resets() == b"\x1b[=0u\x1b[?1049l\x1b[<1u"
    tracker.feed(b"\x1b[?1049l")
    assert tracker.resets() == b"\x1b[<1u"


def test_a_full_reset_undoes_everything() -> None:
    assert after(b"".join(MODES[:1] + MODES[4:]) + b"\x1b[?1049h\x1bc").resets() == b""


def test_a_soft_reset_leaves_screen_mouse_and_paste() -> None:
    tracker = after(b"\x1b[?1049h\x1b[?1000h\x1b[?2004h\x1b[?25l\x1b[?1h\x1b=\x1b(0\x1b[!p")
    assert tracker.resets() == b"\x1b[?1049l\x1b[?1000l\x1b[?2004l"


def test_switches_say_where_they_were() -> None:
    tracker = ModeTracker()
    switches = tracker.feed(b"ab\x1b[?1049;25h in \x1b[?1049h\x1b[?1049l")
    assert [tuple(switch) for switch in switches] == [(True, 2, 13), (False, 25, 33)]


def test_modes_can_be_asked_for() -> None:
    tracker = after(b"\x1b[?2004;1002h\x1b[>1u")
    assert tracker.is_set(2004)
    assert tracker.is_set(25)
    assert not tracker.is_set(1004)
    assert tracker.mouse
    assert tracker.kitty_keyboard


def test_a_program_that_pushes_for_ever_uses_no_memory() -> None:
    assert len(after(b"\x1b[>1u" * 10_000).resets()) < 20
