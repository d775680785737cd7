"""What a conversation is: complete turns only, so that no question without an answer can be stored.

Pure: no clock, no files, no randomness of its own. Invariant: every text that a client sent has been bounded and its
one-line facts folded (`open_turn`) before it stands in a `Turn`.
"""

from __future__ import annotations

import re

import msgspec

from neocode.ask.compaction import Summary
from neocode.ask.tokens import LOOKED_AT, cut_chars, cut_line
from neocode.ask.turn import Turn
from neocode.ask.types import TERMINAL_DIAGNOSIS, AskParams
from neocode.providers.base import AskContext, Message

LOG_CHARS = 64 * 1024  # four times what our own clients send; the prompt's budget cuts further
QUESTION_CHARS = 16 * 1024
FACT_CHARS = 1000  # a command line or a path; longer ones explain nothing more
NEAR_COMMANDS = 16
TITLE_CHARS = 60

_LANG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")


class Situation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stays true over a conversation: the last known system, shell and language to answer in."""

    os: str = ""
    shell: str = ""
    lang: str = ""


class AskSession(msgspec.Struct, frozen=True, omit_defaults=True):
    """One conversation. Times are seconds since the epoch; `nonce` names the delimiters of captured text."""

    id: str
    created_at: float
    updated_at: float
    title: str = ""
    workdir: str = ""
    skills: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    summary: Summary = Summary()
    situation: Situation = Situation()
    nonce: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The turns as the design's message list: user and assistant, alternating."""
        return tuple(message for turn in self.turns for message in turn.messages())

    @property
    def fresh(self) -> bool:
        """True until a first turn was answered; only then do `workdir` and `skills` of an ask count."""
        return not self.turns and not self.summary.turns


def begin(session: AskSession, ask: AskParams) -> tuple[AskSession, Turn]:
    """The session as this ask finds it, and its turn, still without an answer.

    A first ask sets the working directory and the skills, and with the skill `terminal-diagnosis` and no log its
    `user_query` is the log, as NeoCode's own clients send it.
    """
    context = ask.context or AskContext()
    question, log = ask.user_query, context.log
    if session.fresh:
        session = msgspec.structs.replace(session, workdir=one_line(ask.workdir, FACT_CHARS), skills=ask.skills)
        if TERMINAL_DIAGNOSIS in ask.skills and not log.strip():
            question, log = "", ask.user_query
    situation = Situation(
        os=one_line(context.os, 80) or session.situation.os,
        shell=one_line(context.shell, 32) or session.situation.shell,
        lang=_language(context.lang) or session.situation.lang,
    )
    turn = Turn(
        question=cut_chars(question.strip(), QUESTION_CHARS),
        context=AskContext(
            log=cut_chars(log.strip("\r\n"), LOG_CHARS) if log.strip() else "",
            command=one_line(context.command, FACT_CHARS),
            exit_code=context.exit_code,
            shell=situation.shell,
            os=situation.os,
            cwd=one_line(context.cwd, FACT_CHARS) or session.workdir,
            duration_ms=context.duration_ms,
            lang=situation.lang,
            near_commands=tuple(one_line(name, 64) for name in context.near_commands[:NEAR_COMMANDS]),
        ),
    )
    title = session.title or make_title(turn)
    return msgspec.structs.replace(session, situation=situation, title=title), turn


def one_line(text: str, limit: int) -> str:
    """`text` on one line: escape sequences gone, every unprintable character a space, blanks folded, cut to `limit`."""
    if not text.isprintable():
        text = _ESCAPE_SEQUENCE.sub("", text[: limit * LOOKED_AT])
        text = "".join(char if char.isprintable() else " " for char in text)
    return cut_line(text, limit)


def make_title(turn: Turn) -> str:
    """A short line for a list: the failed command, else the question, else the log's first line."""
    for text in (turn.context.command, turn.question, turn.context.log):
        for line in text.splitlines():
            title = one_line(line, TITLE_CHARS)
            if title:
                return title
    return ""


def _language(tag: str) -> str:
    return tag if _LANG.fullmatch(tag) else ""
