"""The provider: what it says for a log, for no log, for a question, and in which form."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.providers.base import AskContext, AskRequest, Delta, Finish, Message, Provider, Usage
from neocode.providers.offline.provider import OfflineProvider

REFUSED = "npm ERR! code ECONNREFUSED 127.0.0.1:4873\n"


def _ask(**facts: Any) -> str:
    """The whole answer to a log or question (`question=`, `turns=` earlier user turns)."""
    turns = tuple(Message("user", text) for text in facts.pop("turns", ()))
    question = facts.pop("question", "")
    diagnosis = facts.pop("diagnosis", bool(facts.get("log")))
    request = AskRequest(
        (Message("system", "s"), *turns, Message("user", question)), AskContext(**facts), question, diagnosis
    )
    parts = asyncio.run(_collect(request))
    assert isinstance(parts[-1], Finish)
    assert all(isinstance(part, Delta) for part in parts[:-1])
    return "".join(part.text for part in parts if isinstance(part, Delta))


async def _collect(request: AskRequest) -> list[Delta | Finish]:
    provider: Provider = OfflineProvider()
    return [part async for part in provider.stream(request)]


def test_an_answer_has_the_four_sections() -> None:
    answer = _ask(log=REFUSED, shell="bash")
    assert [line for line in answer.split("\n") if line.startswith("## ")] == [
        "## Cause",
        "## Fix",
        "## Check",
        "## Confidence",
    ]
    assert "```sh\nnpm config set registry https://registry.npmjs.org/\n" in answer
    assert answer.endswith("## Confidence\nhigh - offline rule npm-econnrefused\n")


def test_the_end_says_zero_usage_and_the_model() -> None:
    end = asyncio.run(_collect(AskRequest((), AskContext(log=REFUSED))))[-1]
    assert end == Finish(Usage(0, 0), "stop", "rules")


def test_an_answer_comes_in_blocks() -> None:
    parts = asyncio.run(_collect(AskRequest((), AskContext(log=REFUSED))))
    assert len(parts) > 3


@pytest.mark.parametrize(
    ("shell", "tag"),
    [
        ("bash", "sh"),
        ("zsh", "sh"),
        ("fish", "fish"),
        ("pwsh", "powershell"),
        ("powershell", "powershell"),
        ("cmd", "cmd"),
        ("/usr/bin/dash", "sh"),
    ],
)
def test_the_fence_is_tagged_for_the_shell(shell: str, tag: str) -> None:
    assert f"```{tag}\n" in _ask(log=REFUSED, shell=shell)


@pytest.mark.parametrize(
    ("os", "tag"), [("linux Debian 12", "sh"), ("darwin", "sh"), ("windows 11", "powershell"), ("", "sh")]
)
def test_the_shell_kind_defaults_by_the_system(os: str, tag: str) -> None:
    assert f"```{tag}\n" in _ask(log=REFUSED, os=os)


def test_independent_faults_are_listed_and_their_commands_added() -> None:
    log = "fatal: not a git repository (or any of the parent directories): .git\n" + "building\n" * 20 + REFUSED
    answer = _ask(log=log)
    assert answer.count("## Cause") == answer.count("## Fix") == 1
    assert "- The current directory is not inside a git repository. (`git-not-a-repository`)" in answer
    assert "# git-not-a-repository\n" in answer
    assert "git init\n" in answer


def test_the_same_fault_with_other_names_is_listed_too() -> None:
    log = "E   ModuleNotFoundError: No module named 'yaml'\n\n\nE   ModuleNotFoundError: No module named 'requests'\n"
    answer = _ask(log=log, shell="bash")
    assert "pip install PyYAML" in answer
    assert "pip install requests" in answer


def test_an_echo_is_not_a_fault_of_its_own() -> None:
    log = (
        "Error: Cannot find module 'express'\n    at x (y:1:1)\n"
        + "\n" * 20
        + "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n"
    )
    answer = _ask(log=log)
    assert "node-module-not-found" in answer
    assert "npm-lifecycle" not in answer


def test_a_chained_traceback_is_one_fault() -> None:
    frame = '  File "/app/x.py", line {}, in f\n    y()\n'
    log = (
        "Traceback (most recent call last):\n" + frame.format(1) + "KeyError: 'a'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        + "".join(frame.format(n) for n in range(2, 20))
        + "ValueError: invalid literal for int() with base 10: 'x'\n"
    )
    assert "Independent faults" not in _ask(log=log)


def test_of_two_equal_rules_the_one_nearer_to_the_end_counts() -> None:
    filler = "ok\n" * 40
    frame = 'Traceback (most recent call last):\n  File "/app/{0}.py", line 1, in f\n    y()\n{1}\n'
    log = (
        frame.format("a", "KeyError: 'a'") + filler + frame.format("b", "IndexError: list index out of range") + filler
    )
    assert _ask(log=log).endswith("offline rule py-index-error\n")


def test_a_log_that_no_rule_knows() -> None:
    answer = _ask(log="starting\nzork: cannot frobnicate the widget\ndone\n", exit_code=65, shell="bash")
    assert answer.startswith("## Cause\nNo offline rule fits this failure.\n")
    assert "EX_DATAERR" in answer
    assert "- `zork: cannot frobnicate the widget`" in answer
    assert "neocode provider add" in answer
    assert "```" not in answer
    assert answer.endswith("## Confidence\nlow - offline rules, none fits\n")


@pytest.mark.parametrize(
    ("code", "shell", "word"),
    [
        (137, "bash", "killed"),
        (139, "bash", "segmentation fault"),
        (-1073741819, "cmd", "0xC0000005"),
        (75, "bash", "EX_TEMPFAIL"),
    ],
)
def test_an_exit_code_alone_is_explained(code: int, shell: str, word: str) -> None:
    assert word in _ask(command="./train", exit_code=code, shell=shell, diagnosis=True)


def test_what_only_the_exit_code_tells_still_shows_the_lines_to_read() -> None:
    answer = _ask(log="loading\nzork: cannot frobnicate the widget\n", exit_code=137, shell="bash")
    assert "killed" in answer
    assert "- `zork: cannot frobnicate the widget`" in answer


def test_a_free_question_needs_a_model() -> None:
    answer = _ask(question="write me a poem about the sea")
    assert "needs a model" in answer
    assert "neocode provider add" in answer
    assert "neocode use NAME" in answer
    assert "offline" in answer


def test_a_question_that_holds_an_error_message_is_answered() -> None:
    answer = _ask(question="what does this mean?\nfatal: not a git repository (or any of the parent directories): .git")
    assert answer.endswith("high - offline rule git-not-a-repository\n")


def test_a_question_after_a_failure_gets_what_the_rules_know_of_it() -> None:
    answer = _ask(question="and why is that?", turns=["hello", f"The log:\n<<<abc\n{REFUSED}abc>>>\n"])
    assert "needs a model" in answer
    assert answer.endswith("high - offline rule npm-econnrefused\n")


def test_a_log_made_of_control_sequences_shows_none_of_them() -> None:
    answer = _ask(log="error: \x1b[31mcannot\x1b[0m \x07open \u202efoo\n", exit_code=1)
    assert not set(answer) & {"\x1b", "\x07", "\u202e"}


def test_a_back_quote_from_the_log_cannot_open_a_fence() -> None:
    answer = _ask(log="error: cannot ```sh\nrm -rf x\n```\n", exit_code=1)
    assert "```" not in answer


def test_check_and_models_need_no_network() -> None:
    provider = OfflineProvider()
    assert "rules loaded" in asyncio.run(provider.check())
    assert asyncio.run(provider.models()) == ["rules"]
    asyncio.run(provider.aclose())


@settings(max_examples=60, deadline=None)
@given(
    log=st.text(max_size=400),
    exit_code=st.one_of(st.none(), st.integers(-(2**31), 2**32)),
    shell=st.sampled_from(["bash", "cmd", "pwsh", "", "weird"]),
)
def test_any_log_gets_an_answer_in_the_form(log: str, exit_code: int | None, shell: str) -> None:
    answer = _ask(log=log, exit_code=exit_code, shell=shell, diagnosis=True)
    assert answer.startswith("## Cause\n")
    assert "\n## Confidence\n" in answer
    assert "offline" in answer.split("## Confidence")[-1]


LINKER = (
    "$ cc a.c\n/usr/bin/ld: a.o: in function `main':\na.c:(.text+0x23): undefined reference to `sqrt'\n[exit code 1]"
)
PSUH = "$ git psuh\ngit: 'psuh' is not a git command. See 'git --help'."


def test_that_means_the_newest_of_several_failed_commands() -> None:
    log = f"{LINKER}\n\n{PSUH}"
    said = _ask(log=log, command="git psuh", exit_code=1, shell="bash", question="why didn't that work?")
    assert "git push" in said
    assert "sqrt" not in said


def test_a_command_that_succeeded_since_does_not_hide_the_one_that_failed() -> None:
    said = _ask(log=f"{LINKER}\n\n$ ls\na.c", command="ls", exit_code=0, shell="bash", question="why?")
    assert "sqrt" in said
