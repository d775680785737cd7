"""What the terminal says by itself never becomes text, and reaches the child when the child asked for it."""

from __future__ import annotations

import threading

import pytest
from fake_openai import Connection, FakeServer, chunk, sse
from hypothesis import given
from hypothesis import strategies as st
from seat import MODE_PROMPT, SHELL_PROMPT, Home

from ptyproxy.idm.replies import was_asked
from ptyproxy.stream.keys import KeyParser

PAIRS = [
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[0c", b"\x1b[?1;2c"),
    (b"\x1b[>c", b"\x1b[>0;276;0c"),
    (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
    (b"\x1b[6n", b"\x1b[12;40R"),
    (b"\x1b[?6n", b"\x1b[?12;40R"),
    (b"\x1b[5n", b"\x1b[0n"),
    (b"\x1b[?996n", b"\x1b[?997;1n"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[4$p", b"\x1b[4;2$y"),
    (b"\x1b[?u", b"\x1b[?0u"),
    (b"\x1b[14t", b"\x1b[4;600;800t"),
    (b"\x1b[?4m", b"\x1b[>4;2m"),
    (b"\x1b]10;?\x07", b"\x1b]10;rgb:ffff/ffff/ffff\x07"),
    (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    (b"\x1b]4;3;?;7;?\x07", b"\x1b]4;7;rgb:cccc/cccc/cccc\x07"),
    (b"\x1b]52;c;?\x07", b"\x1b]52;c;aGVsbG8=\x07"),
    (b"\x1bP+q544e\x1b\\", b"\x1bP1+r544e=787465726d\x1b\\"),
    (b"\x1bP$qm\x1b\\", b"\x1bP1$r0m\x1b\\"),
    (b"\x1b[>q", b"\x1bP>|XTerm(390)\x1b\\"),
    (b"\x1b_Gi=1,a=q;AAAA\x1b\\", b"\x1b_Gi=1;OK\x1b\\"),
]
REPLIES = [reply for _, reply in PAIRS] + [b"\x1b[I", b"\x1b[O", b"\x1b[<0;10;5M", b"\x1b[M !!", b"\x1b[97;1:3u"]


@pytest.mark.parametrize(("question", "reply"), PAIRS)
def test_a_reply_is_recognised_by_its_question_alone(question: bytes, reply: bytes) -> None:
    assert was_asked(reply, b"text" + question + b"more")
    others = b"".join(other for other, answer in PAIRS if not was_asked(reply, other))
    assert not was_asked(reply, others)
    assert not was_asked(reply, b"no question")


@given(st.binary(max_size=40), st.binary(max_size=60))
def test_anything_may_be_a_reply(tail: bytes, output: bytes) -> None:
    for _, reply in PAIRS:
        assert isinstance(was_asked(reply[:4] + tail, output), bool)


def test_every_reply_is_one_to_the_parser_too() -> None:
    for reply in REPLIES:
        kinds = {piece.kind for piece in KeyParser().feed(reply)}
        assert kinds <= {"reply", "focus", "mouse", "release"}, (reply, kinds)


def test_replies_at_every_moment_leave_no_trace(home: Home, model: FakeServer) -> None:
    """At our prompt, in a half-typed line, cut in two, during an answer, around leaving, in the middle of a command."""
    asked, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("", role="assistant"), chunk("It begins.\n\n"), done=False))
        asked.set()
        assert go_on.wait(20)
        connection.send(sse(chunk("It ends."), chunk(finish="stop")))

    model.script(slow)
    everything = b"".join(REPLIES)
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type(everything + b"@ai w" + everything + b"hy" + b"\x1b]11;rgb:00")
        seat.until_last(f"{MODE_PROMPT} @ai why")
        seat.type(b"00/0000/0000\x07?")
        seat.until_last(f"{MODE_PROMPT} @ai why?")
        seat.type("\r")
        assert asked.wait(20)
        seat.type(everything)
        go_on.set()
        seat.until_shown("It ends.")
        seat.until_last(MODE_PROMPT)
        seat.type(everything + b"greet\r" + everything)
        seat.until_shown("hello from an alias")
        seat.until_last(MODE_PROMPT)
        seat.type(everything + b"\x04" + everything)
        seat.until_last(SHELL_PROMPT)
        text = "\n".join(seat.scrollback())
        seat.run("echo $((6*7))")
        assert "\n42\n" in "\n".join(seat.lines())
    for trace in ("62;22", "rgb:", ";40R", "0c", "[I", "OK"):
        assert trace not in text
    assert model.requests[-1].json["messages"][-1]["content"].endswith("why?")


def test_a_reply_reaches_the_program_that_asked(home: Home) -> None:
    """A prompt that asks for the cursor's position: what is answered while the mode has the keyboard is the shell's."""
    with home.shell("--no-auto") as seat:
        seat.run("""bind -x '"\\e[12;40R": echo position came'""")
        seat.run("""PS1='\\[\\e[6n\\]me:$ '""")
        seat.enter()
        seat.type(b"echo ha\x1b[12;40Rlf")
        seat.until_shown("position came")
        seat.until_last(f"{MODE_PROMPT} echo half")
        seat.type("\x03")
        seat.until(lambda: seat.lines()[-2:] == [f"{MODE_PROMPT} echo half", MODE_PROMPT])
        seat.leave()
