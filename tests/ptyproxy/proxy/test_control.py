"""The control thread and its ends: a fault in it costs an answer, never the answers after it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from ptyproxy.control import ControlThread
from ptyproxy.messages import Ask, Block, Done, Failed, FromControl, Publish
from ptyproxy.ports import Answer, AssistantError, Finding, Show
from ptyproxy.records import Output

PATIENCE_SEC = 10.0
FINDING = Finding(None, Output(b"", 0, b"boom"), 80, "bash", False)
ANSWER = Answer("a cause", (), "closing")


class Scripted:
    """An assistant that answers, but for what it is told to fail in."""

    def __init__(self, fails_in: str = "") -> None:
        self.fails_in = fails_in

    def _maybe(self, where: str) -> None:
        if where == self.fails_in:
            raise RuntimeError(where)

    async def run(self, session_id: str, notified: Callable[[str, Mapping[str, object]], None]) -> None:
        self._maybe("run")

    async def publish(self, state: Mapping[str, object]) -> None:
        self._maybe("publish")

    async def diagnose(self, finding: Finding, show: Show) -> Answer:
        self._maybe("diagnose")
        show("a line\n")
        return ANSWER

    async def turn(self, talk: str, question: str, finding: Finding | None, show: Show) -> Answer:
        return ANSWER

    async def end_talk(self, talk: str) -> None:
        self._maybe("end_talk")

    async def allow_automatic(self, allowed: bool) -> None: ...

    async def close(self) -> None: ...


class Rig:
    """A control thread whose assistants are made by `make`, and what it has said so far."""

    def __init__(self, make: Callable[[], Scripted]) -> None:
        self.said: list[FromControl] = []
        self._woken = threading.Event()
        self.control = ControlThread(make, "shell-1-1-00000000", self._woken.set)

    def until(self, message: FromControl) -> None:
        while message not in self.said:
            assert self._woken.wait(PATIENCE_SEC), self.said
            self._woken.clear()
            self.said += self.control.receive()


@pytest.fixture
def rig() -> Iterator[Callable[[Callable[[], Scripted]], Rig]]:
    rigs: list[Rig] = []

    def make(make_assistant: Callable[[], Scripted]) -> Rig:
        rigs.append(Rig(make_assistant))
        return rigs[-1]

    yield make
    for each in rigs:
        each.control.close()


MakeRig = Callable[[Callable[[], Scripted]], Rig]


def test_an_answer_comes_in_blocks_and_is_closed(rig: MakeRig) -> None:
    one = rig(Scripted)
    one.control.post(Ask(1, FINDING))
    one.until(Done(1, ANSWER))
    assert one.said == [Block(1, "a line\n"), Done(1, ANSWER)]


def test_a_fault_in_an_answer_is_its_end_and_not_the_threads(rig: MakeRig) -> None:
    assistant = Scripted("diagnose")
    one = rig(lambda: assistant)
    one.control.post(Ask(1, FINDING))
    one.until(Failed(1, "internal error: RuntimeError"))
    assistant.fails_in = ""
    one.control.post(Ask(2, FINDING))
    one.until(Done(2, ANSWER))


@pytest.mark.parametrize("where", ["run", "publish"])
def test_a_thread_that_ended_by_a_fault_is_started_again_by_the_next_question(rig: MakeRig, where: str) -> None:
    made = iter([Scripted(where), Scripted()])
    one = rig(lambda: next(made))
    one.control.post(Publish({}))
    one.control.start()
    thread = one.control._thread
    assert thread is not None
    thread.join(PATIENCE_SEC)
    assert not one.control.alive
    one.control.post(Ask(2, FINDING))
    one.until(Done(2, ANSWER))


def test_whoever_waits_when_the_thread_cannot_begin_is_told_why(rig: MakeRig) -> None:
    def refuse() -> Scripted:
        raise AssistantError("the token file cannot be read")

    one = rig(refuse)
    for ticket in (1, 2):
        one.control.post(Ask(ticket, FINDING))
        one.until(Failed(ticket, "the token file cannot be read"))
