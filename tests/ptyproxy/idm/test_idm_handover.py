"""How the shell is made to draw its prompt, with a line in it or not: its widget answers, is slow, or is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ptyproxy.idm.handover import ACK_SEC, Handover
from ptyproxy.session import LINE_ORDER, SHOW_ORDER, Session, open_session

KEY = b"\x1b[7781~"
LATE = ACK_SEC + 1.0


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = open_session(str(tmp_path))
    yield made
    made.close()


class Shell:
    """What it is sent; `takes` is its widget at work."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.sent: list[bytes] = []
        self.handover = Handover(session, KEY, self.sent.append)

    def takes(self, *orders: str) -> None:
        for order in orders:
            assert self.session.withdraw(order)


def test_a_line_that_the_widget_put_in_is_ended_with_enter_once(session: Session) -> None:
    shell = Shell(session)
    assert not shell.handover.begin("make", 0.0, marked=True)
    shell.takes(LINE_ORDER, SHOW_ORDER)
    shell.handover.acknowledged()
    assert shell.sent == [KEY, b"\r"]


def test_a_line_that_the_widget_has_taken_is_not_typed_again_because_the_prompt_is_slow(session: Session) -> None:
    shell = Shell(session)
    shell.handover.begin("rm a", 0.0, marked=True)
    shell.takes(LINE_ORDER)
    assert shell.handover.overdue(LATE) == 0.0
    assert shell.sent == [KEY, b"\r"]
    assert not session.withdraw(SHOW_ORDER)


def test_a_prompt_that_is_slow_is_not_asked_for_twice(session: Session) -> None:
    shell = Shell(session)
    shell.handover.begin(None, 0.0, marked=True)
    shell.takes(SHOW_ORDER)
    assert shell.handover.overdue(LATE) == 0.0
    assert shell.sent == [KEY]


def test_several_lines_are_pasted_once_the_widget_has_drawn_or_begun_to(session: Session) -> None:
    shell = Shell(session)
    shell.handover.begin("a\nb", 0.0, marked=True)
    shell.takes(SHOW_ORDER)
    assert shell.handover.overdue(LATE) == 0.0
    assert shell.sent == [KEY, b"\x1b[200~a\rb\x1b[201~\r"]


def test_a_widget_that_takes_nothing_is_given_up_and_the_line_typed(session: Session) -> None:
    shell = Shell(session)
    shell.handover.begin("make", 0.0, marked=True)
    assert 0.0 < shell.handover.overdue(0.4) <= ACK_SEC
    assert shell.handover.overdue(LATE) == 0.0
    assert shell.sent == [KEY, b"make\r"]
    assert not session.withdraw(LINE_ORDER)
    assert shell.handover.begin("ls", LATE, marked=True)
    assert shell.sent[2:] == [b"ls\r"]
