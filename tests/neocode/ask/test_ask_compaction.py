"""Long conversations: what is summarised, what stays, what is cut, and how long that takes."""

from __future__ import annotations

import sys
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.ask.compaction import Compaction, Summary, compact, fit_turns, summary_budget
from neocode.ask.tokens import estimate_tokens
from neocode.ask.turn import Turn
from neocode.providers.base import AskContext

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("abc/.:-_=@ 127错误端口\n`#'", max_size=200),
    st.integers(1, 400).map("npm ERR! connect ECONNREFUSED db.internal:5432 /srv/app/x.py\n".__mul__),
)
TURNS = st.lists(
    st.builds(
        lambda question, log, command, answer, reasoning: Turn(
            question, AskContext(log=log, command=" ".join(command.split())[:200]), answer, reasoning
        ),
        TEXTS,
        TEXTS,
        st.text("npm install-x ", max_size=40),
        TEXTS,
        st.sampled_from(["", "hm " * 50]),
    ),
    max_size=14,
)


def shrink(turns: list[Turn], *, budget: int, retain: int, summary: Summary | None = None) -> Compaction:
    return compact(summary or Summary(), turns, budget=budget, retain=retain, summary_tokens=summary_budget(budget))


@settings(max_examples=80, deadline=None)
@given(TURNS, st.integers(0, 9000), st.integers(0, 8))
def test_the_last_turns_always_stay_and_the_result_is_stable(turns: list[Turn], budget: int, retain: int) -> None:
    once = shrink(turns, budget=budget, retain=retain)
    assert once == shrink(turns, budget=budget, retain=retain)
    kept = turns[len(turns) - min(retain, len(turns)) :]
    assert list(once.turns[len(once.turns) - len(kept) :]) == kept
    assert once.summary.turns + len(once.turns) == len(turns)
    assert once.summarised == once.summary.turns
    assert estimate_tokens(once.summary.text()) <= summary_budget(budget)
    again = shrink(list(once.turns), budget=budget, retain=retain, summary=once.summary)
    assert (again.summary, again.turns, again.summarised) == (once.summary, once.turns, 0)


@settings(max_examples=80, deadline=None)
@given(TURNS.filter(bool), st.integers(0, 9000))
def test_turns_that_are_cut_keep_the_budget_and_their_number(turns: list[Turn], budget: int) -> None:
    fitted = fit_turns(turns, budget)
    frames = sum(turn.frame_tokens() for turn in turns)
    assert len(fitted) == len(turns)
    assert sum(turn.tokens() for turn in fitted) <= max(budget, 512, frames)
    assert fit_turns(turns, budget) == fitted
    assert [turn.context.command for turn in fitted] == [turn.context.command for turn in turns]
    if sum(turn.tokens() for turn in turns) + 4 * len(turns) <= budget:
        assert list(fitted) == turns


def test_below_the_threshold_nothing_changes() -> None:
    turns = [Turn("q", answer="a")] * 40
    assert shrink(turns, budget=8000, retain=5) == Compaction(Summary(), tuple(turns))


def test_above_the_threshold_all_but_the_last_turns_are_one_summary() -> None:
    turns = [Turn(f"question {n}?", answer=f"answer {n}. " + "word " * 200) for n in range(40)]
    result = shrink(turns, budget=8000, retain=5)
    assert result.turns == tuple(turns[-5:])
    assert result.summarised == 35
    text = result.summary.text()
    assert text.startswith("Summary of 35 earlier turns")
    assert "question 0?" in text
    assert "answer 34." in text


def test_the_names_of_the_first_turn_survive_every_later_compaction() -> None:
    log = (
        "Collecting left-pad@1.3.0 for 'libfoo-dev'\n"
        "ModuleNotFoundError: No module named requests\n"
        "connection to db.internal.example:5432 failed, fallback 10.0.3.17 port 6379\n"
        "C:\\Users\\张三\\项目\\app.ini: ECONNREFUSED, see /srv/app/conf/settings.toml\n"
    )
    names = [
        "left-pad@1.3.0", "libfoo-dev", "requests", "db.internal.example:5432", "10.0.3.17", "6379",
        "C:\\Users\\张三\\项目\\app.ini", "ECONNREFUSED", "/srv/app/conf/settings.toml", "express",
    ]  # fmt: skip
    context = AskContext(log=log * 20, command="npm install express")
    turns = [Turn("what is this?", context, "The port is closed. " * 30)]
    summary, compactions = Summary(), 0
    for number in range(2, 40):
        noise = "".join(
            f"GET /item/{number}/{i} from host{i}.lan:80{i % 90:02} pkg-{i}@{number}.0\n" for i in range(60)
        )
        turns.append(Turn(f"and {number}?", AskContext(log=noise), f"answer {number} " * 60))
        result = shrink(turns, budget=8000, retain=5, summary=summary)
        summary, turns = result.summary, list(result.turns)
        compactions += bool(result.summarised)
        text = summary.text() + "\n".join(turn.question + turn.context.log + turn.context.command for turn in turns)
        assert [name for name in names if name not in text] == []
    assert compactions > 3


def test_a_plain_word_in_a_chinese_question_is_a_name() -> None:
    turns = [Turn("为什么express装不上？端口 4873 也连不上", answer="x")] + [Turn("y", answer="z " * 900)] * 20
    text = shrink(turns, budget=4000, retain=2).summary.text()
    assert "Names that occurred: 端口 4873, express" in text


def test_one_overlong_message_is_cut_head_and_tail_and_says_so() -> None:
    log = "first line\n" + "noise 12345\n" * 4000 + "fatal: last line"
    (turn,) = fit_turns([Turn("why?", AskContext(log=log))], 3000)
    assert turn.question == "why?"
    assert turn.context.log.startswith("first line\n")
    assert turn.context.log.endswith("fatal: last line")
    assert f"[... {len(log)} characters cut to fit" in turn.context.log
    assert 2500 < turn.tokens() <= 3000


def test_the_turn_being_asked_keeps_more_than_an_older_one() -> None:
    log = "noise 12345\n" * 2000
    *older, current = fit_turns([Turn("why?", AskContext(log=log), "answer")] * 5, 8000)
    costs = [estimate_tokens(turn.context.log) for turn in older]
    assert estimate_tokens(current.context.log) > 3.5 * max(costs)
    assert min(costs) > 500


def test_two_hundred_turns_are_compacted_in_under_five_milliseconds() -> None:
    answer = "## Cause\nThe port is closed because nothing listens.\n\n## Fix\n```sh\nnpm start --port 80\n```\n" * 3
    turns = [
        Turn(f"why does svc-{n} on host{n}.lan:54{n:02} fail with /etc/svc/{n}.conf?", answer=answer + f" /opt/{n}/x")
        for n in range(200)
    ]
    times = []
    tracer = sys.gettrace()  # coverage's, which would be what is measured
    sys.settrace(None)
    try:
        for _ in range(25):
            started = time.perf_counter()
            result = shrink(turns, budget=8000, retain=5)
            fit_turns(result.turns, 6000)
            times.append(time.perf_counter() - started)
    finally:
        sys.settrace(tracer)
    assert result.summarised == 195
    assert min(times) < 0.005
