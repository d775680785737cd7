"""A visit as a conversation: what the model is sent, what is shown, how an answer is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import threading
from typing import Any

from fake_openai import Connection, FakeServer, answers, chunk, refuses, sse
from seat import Home

ANSWER = (
    "## Cause\nThe file is missing.\n\n## Fix\n```sh\ntouch notes\nrm -rf /srv\n```\n\n## Confidence\nhigh - seen\n"
)
KEY = "ghp_" + "a1B2c3D4e5F6" * 3


def turns(server: FakeServer) -> list[list[dict[str, Any]]]:
    """The messages of every question, without the system's."""
    return [
        [one for one in request.json["messages"] if one["role"] != "system"]
        for request in server.requests
        if request.target.endswith("/chat/completions")
    ]


def test_a_visit_is_one_conversation(home: Home, model: FakeServer) -> None:
    """The first turn carries the recent commands with their output, secrets masked; later ones what happened since."""
    model.script(answers("It is **not there**."), answers("Because *you* removed it."), answers("Nothing new."))
    with home.shell("--no-auto") as seat:
        seat.run(f"echo token {KEY}")
        seat.run("cat notes")
        seat.enter()
        seat.type("@ai why didn't that work?\r")
        seat.until_shown("It is not there.")
        seat.until_last("ai>")
        seat.type("ls /gone\r")
        seat.until_shown("cannot access '/gone'")
        seat.until_last("ai>")
        seat.type("@ai and now?\r")
        seat.until_shown("Because you removed it.")
        seat.until_last("ai>")
        seat.type("@ai so?\r")
        seat.until_shown("Nothing new.")
        seat.leave()
    first, second, third = turns(model)
    assert len(first) == 1
    assert first[0]["content"].endswith("why didn't that work?")
    assert "cat notes" in first[0]["content"]
    assert "cat: notes: No such file or directory" in first[0]["content"]
    assert "echo token" in first[0]["content"]
    assert KEY not in str(model.requests)
    assert [one["role"] for one in second] == ["user", "assistant", "user"]
    assert second[1]["content"] == "It is **not there**."
    assert "cannot access '/gone'" in second[2]["content"]
    assert "cat notes" not in second[2]["content"]
    assert [one["role"] for one in third] == ["user", "assistant", "user", "assistant", "user"]
    assert third[4]["content"].strip().endswith("so?")
    assert "/gone" not in third[4]["content"]


def test_each_visit_begins_anew(home: Home, model: FakeServer) -> None:
    """The session is deleted with the visit; the next one tells the past again."""
    model.script(answers("one"), answers("two"))
    with home.shell("--no-auto") as seat:
        seat.run("cat notes")
        for question, answer in (("first?", "one"), ("second?", "two")):
            seat.enter()
            seat.type(f"@ai {question}\r")
            seat.until(lambda answer=answer: answer in seat.lines())
            seat.leave()
    first, second = turns(model)
    assert [one["role"] for one in second] == ["user"]
    assert "cat: notes" in first[0]["content"]
    assert "cat: notes" in second[0]["content"]


def test_ctrl_c_stops_the_answer_at_the_provider(home: Home, model: FakeServer) -> None:
    """As bakks/butterfish@85d66c did not: Ctrl-C was ignored while the model was waited for."""
    gone = threading.Event()

    def slow(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("", role="assistant"), chunk("It begins\n\nand goes"), done=False))
        if connection.wait_for_disconnect():
            gone.set()

    model.script(slow, answers("The second answer."))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("@ai explain\r")
        seat.until_shown("It begins")
        seat.type("forgotten\x03")
        seat.until_shown("neocode: stopped")
        seat.until_last("ai>")
        assert gone.wait(20)
        seat.type("@ai again\r")
        seat.until_shown("The second answer.")
        seat.leave()


def test_a_suggestion_is_put_into_the_line_and_a_destructive_one_is_not(home: Home, model: FakeServer) -> None:
    model.script(answers(ANSWER))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("@fix 1\r")
        seat.until_shown("no command has been suggested yet")
        seat.type("@ai help\r")
        seat.until_shown("@fix 1 to @fix 2")
        seat.until_last("ai>")
        seat.type("@fix 2\r")
        seat.until_shown("suggestion 2 can destroy data")
        seat.until_last("ai>")
        seat.type("@fix 9\r")
        seat.until_shown("there is no suggestion 9")
        seat.until_last("ai>")
        seat.type("@fix 1\r")
        seat.until_last("ai> touch notes")
        assert not (home.path / "notes").exists()
        seat.type("; ls\r")
        seat.until_shown("me:$ touch notes; ls")
        seat.leave()
    assert (home.path / "notes").exists()


def test_an_error_is_one_line_and_the_visit_goes_on(home: Home, model: FakeServer) -> None:
    model.script(refuses("401 Unauthorized", {"error": {"message": "bad key \x1b[2J"}}), answers("Fine."))
    with home.shell("--no-auto") as seat:
        seat.run("cat notes")
        seat.enter()
        seat.type("@ai why?\r")
        seat.until(lambda: any(line.startswith("neocode: ") and "fake" in line for line in seat.lines()))
        seat.until_last("ai>")
        seat.type("@ai why?\r")
        seat.until_shown("Fine.")
        seat.leave()
    assert "cat: notes" in turns(model)[1][0]["content"]


def test_a_question_may_have_several_lines_and_any_script(home: Home, model: FakeServer) -> None:
    """Pasted lines are one question; wide characters are erased as a whole (two columns)."""
    model.script(answers("好"))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("@ai 日本語x\x7f\x7f")
        seat.until_last("ai> @ai 日本")
        seat.type("\x1b[200~ 为什么\nls: error\n\x1b[201~")
        seat.until_shown("ls: error")
        seat.type("\r")
        seat.until(lambda: any("好" in line for line in seat.lines()))
        seat.until_last("ai>")
        seat.leave()
    assert turns(model)[0][0]["content"].endswith("日本 为什么\nls: error")


def test_a_gateway_that_dies_costs_one_line(home: Home, model: FakeServer) -> None:
    """Killed in the middle of an answer; the next question starts another one."""
    begun = threading.Event()

    def endless(connection: Connection) -> None:
        connection.head()
        connection.send(sse(chunk("", role="assistant"), chunk("It begins.\n\n"), done=False))
        begun.set()
        connection.wait_for_disconnect()

    model.script(endless, answers("It lives."))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("@ai why?\r")
        assert begun.wait(20)
        seat.until_shown("It begins.")
        pid = home.status()["pid"]
        assert isinstance(pid, int)
        os.kill(pid, signal.SIGKILL)
        seat.until(lambda: any(line.startswith("neocode: ") for line in seat.lines()[5:]))
        seat.until_last("ai>")
        seat.type("@ai again?\r")
        seat.until_shown("It lives.")
        seat.leave()


def test_the_talk_is_deleted_with_the_visit(home: Home, model: FakeServer) -> None:
    """Nothing of the talk is kept at the gateway after the visit, nor when the shell ends in it."""
    model.script(answers("An answer to remember."))
    with home.shell("--no-auto") as seat:
        seat.enter()
        seat.type("@ai a question?\r")
        seat.until_shown("An answer to remember.")
        seat.until_last("ai>")
        assert stored(home) == 1
        seat.type("\x04")
        seat.until(lambda: stored(home) == 0)
        seat.enter()
        seat.type("@ai a question?\r")
        seat.until(lambda: seat.lines().count("An answer to remember.") == 2)
        seat.until_last("ai>")
        seat.type("exit 0\r")
        assert seat.status() == 0
    assert stored(home) == 0


def stored(home: Home) -> int:
    """How many talks the gateway keeps."""
    path = home.dir / "state" / "ask.db"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return int(database.execute("select count(*) from sessions").fetchone()[0])
