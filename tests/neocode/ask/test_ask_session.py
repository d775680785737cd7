"""What a session keeps of an ask, and how it is shown in a list."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.ask.session import LOG_CHARS, NEAR_COMMANDS, AskSession, begin, one_line
from neocode.ask.turn import Turn
from neocode.ask.types import AskParams
from neocode.providers.base import AskContext

EMPTY = AskSession(id="s", created_at=1714736530.9, updated_at=1714736531.0)


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        (AskParams("为什么 npm 会失败？\n第二行"), "为什么 npm 会失败？"),
        (AskParams("\n\n  \x1b[31mred\x1b[0m\x1b]0;title\x07 \u202etxt.exe\u200b  b "), "red txt.exe b"),
        (AskParams("fixed question", context=AskContext(log="x", command="npm  i\n--save")), "npm i --save"),
        (AskParams("first line of a log\nsecond", skills=("terminal-diagnosis",)), "first line of a log"),
        (AskParams("word " * 50), ("word " * 50)[:59] + "…"),
        (AskParams("\x1b[", context=AskContext(log="\x07\n the log")), "the log"),
    ],
)
def test_the_title_is_one_short_clean_line(ask: AskParams, title: str) -> None:
    session, _ = begin(EMPTY, ask)
    assert session.title == title
    assert begin(msgspec.structs.replace(session, turns=(Turn("a", answer="b"),)), AskParams("other"))[0].title == title


@given(st.text(st.characters(), max_size=80), st.integers(2, 40))
def test_one_line_is_printable_folded_and_short(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert line.isprintable()
    assert line == " ".join(line.split())
    assert len(line) <= limit
    assert one_line(line, limit) == line


def test_directory_and_skills_count_on_the_first_ask_only() -> None:
    session, turn = begin(EMPTY, AskParams("q", skills=("a",), workdir="/one"))
    assert (session.skills, session.workdir, turn.context.cwd) == (("a",), "/one", "/one")
    session = msgspec.structs.replace(session, turns=(Turn("q", answer="a"),))
    session, turn = begin(session, AskParams("q", skills=("b",), workdir="/two", context=AskContext(cwd="/three")))
    assert (session.skills, session.workdir, turn.context.cwd) == (("a",), "/one", "/three")


def test_what_a_client_sends_is_bounded() -> None:
    context = AskContext(
        log="first\n" + "x\n" * LOG_CHARS + "last", command="c" * 9999, os="o" * 999, near_commands=("n" * 999,) * 99
    )
    session, turn = begin(EMPTY, AskParams("q " * 50_000, context=context))
    assert len(turn.context.log) <= LOG_CHARS
    assert turn.context.log.startswith("first\n")
    assert turn.context.log.endswith("last")
    assert len(msgspec.json.encode((session, turn))) < 160_000  # escaped newlines count twice
    assert len(turn.context.near_commands) == NEAR_COMMANDS


def test_messages_alternate_and_always_end_with_an_answer() -> None:
    session = msgspec.structs.replace(
        EMPTY, turns=(Turn("", AskContext(log="boom"), "a", "hm"), Turn("more?", answer="b"))
    )
    assert [(message.role, message.content, message.reasoning) for message in session.messages] == [
        ("user", "boom", ""),
        ("assistant", "a", "hm"),
        ("user", "more?", ""),
        ("assistant", "b", ""),
    ]
