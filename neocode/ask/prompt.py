"""The prompt of one ask as chat turns: rules and skills, summary, last turns, the question.

Invariants: captured text, and every fact an attacker may have chosen (command, directory), stands between two
delimiters that occur nowhere else in the prompt; what the prompt costs by the estimate stays within the budget where
the rules and skills alone leave room for it.
"""

from __future__ import annotations

import logging
import secrets
import string
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from neocode import paths
from neocode.ask.compaction import Compaction, compact, fit_turns, summary_budget
from neocode.ask.session import AskSession, Situation
from neocode.ask.tokens import estimate_tokens
from neocode.ask.turn import Turn
from neocode.config import AskContextConfig
from neocode.providers.base import AskContext, Message
from neocode.skills.textfile import TextFile, UnreadableText

PROMPTS_DIR = Path(__file__).parent / "prompts"
CUT = "[...]"  # an answer of which no room is left for a word; endpoints refuse an empty one
NONCE_LETTERS = 14  # 26**14 is 65 bits: not to be guessed by what is in the log

_LANGUAGES = {
    "zh": "Chinese",
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "ru": "Russian",
    "ja": "Japanese",
    "ko": "Korean",
}
_log = logging.getLogger("neocode.ask")


class PromptTexts:
    """The texts of the package, the system text replaceable by the file that `prompts.system` names."""

    def __init__(self, system: str = "") -> None:
        self._bundled = {name: TextFile(PROMPTS_DIR / f"{name}.md") for name in ("system", "data", "question")}
        self._replacement = TextFile(paths.home() / Path(system).expanduser()) if system else None
        self._fault = ""

    def system(self) -> str:
        """The system text as it stands in the file now; the bundled one, with a warning, when it cannot be used."""
        if self._replacement is not None:
            try:
                text = self._replacement.read()
                fault = f"{self._replacement.path} does not exist" if text is None else ""
            except UnreadableText as error:
                text, fault = None, str(error)
            if fault and fault != self._fault:
                _log.warning("prompts.system is not used: %s", fault)
            self._fault = fault
            if text is not None and text.strip():
                return text.strip()
        return self._read("system")

    def data(self, nonce: str) -> str:
        """The rule about captured text. It stands in every prompt, whatever the system text."""
        return self._read("data").replace("{{open}}", _open(nonce)).replace("{{close}}", _close(nonce))

    def question(self) -> str:
        """What is asked when captured text comes alone."""
        return self._read("question")

    def _read(self, name: str) -> str:
        return (self._bundled[name].read() or "").strip()


class Prompt(msgspec.Struct, frozen=True):
    """`messages` for the provider, the conversation as compacted, and whether anything was summarised or cut."""

    messages: tuple[Message, ...]
    conversation: Compaction
    nonce: str
    compacted: bool


def build_prompt(
    session: AskSession,
    turn: Turn,
    texts: PromptTexts,
    skills: Sequence[str],
    limits: AskContextConfig,
    *,
    random_nonce: Callable[[], str] | None = None,
) -> Prompt:
    """The prompt that asks `turn` in `session`; `skills` are instruction texts, in order."""
    nonce = _fresh_nonce(session, turn, skills, random_nonce or _random_nonce)
    rules = "\n\n".join([texts.system(), texts.data(nonce), *skills, *_facts(session.situation)])
    # The turn being asked counts, and is never part of the summary.
    room = limits.max_input_tokens - estimate_tokens(rules) - turn.tokens()
    conversation = compact(
        session.summary,
        session.turns,
        budget=room,
        retain=limits.retain_turns,
        summary_tokens=summary_budget(limits.max_input_tokens),
    )
    summary = conversation.summary.text()
    if summary:
        rules = f"{rules}\n\n{_open(nonce)}\n{summary}\n{_close(nonce)}"
    asked = (*conversation.turns, turn)
    fitted = fit_turns(asked, limits.max_input_tokens - estimate_tokens(rules))
    messages = [Message("system", rules)]
    for past in fitted[:-1]:
        messages.append(Message("user", render_turn(past, nonce, texts.question())))
        messages.append(Message("assistant", past.answer or CUT, past.reasoning))
    messages.append(Message("user", render_turn(fitted[-1], nonce, texts.question())))
    return Prompt(tuple(messages), conversation, nonce, bool(conversation.summarised) or fitted != asked)


def render_turn(turn: Turn, nonce: str, default_question: str) -> str:
    """A user's message: what was captured between the delimiters, then the user's own words."""
    question = turn.question or default_question
    lines = _captured(turn.context)
    if not lines:
        return question
    return "\n".join([_open(nonce), *lines, _close(nonce), "", question])


def _captured(context: AskContext) -> list[str]:
    """The facts of a failed command, one line each, and its output. Empty when nothing but the directory is known."""
    lines = [f"command: {context.command}"] if context.command else []
    if context.exit_code is not None:
        lines.append(f"exit code: {context.exit_code}")
    if context.duration_ms is not None:
        lines.append(f"duration: {context.duration_ms / 1000:.1f} s")
    if context.near_commands:
        lines.append(f"similar commands that exist: {', '.join(context.near_commands)}")
    if context.log:
        lines += ["output:", context.log]
    if lines and context.cwd:
        lines.insert(0, f"directory: {context.cwd}")
    return lines


def _facts(situation: Situation) -> list[str]:
    facts = []
    if situation.os:
        facts.append(f"The user's operating system: {situation.os}.")
    if situation.shell:
        facts.append(f"The user's shell: {situation.shell}.")
    if situation.lang:
        name = _LANGUAGES.get(situation.lang[:2].lower() if situation.lang[2:3] in ("", "-", "_") else "", "")
        tag = f"{name} ({situation.lang})" if name else f"the language with the tag {situation.lang}"
        facts.append(f"Answer in {tag}.")
    return ["\n".join(facts)] if facts else []


def _fresh_nonce(session: AskSession, turn: Turn, skills: Sequence[str], random_nonce: Callable[[], str]) -> str:
    """The session's nonce, so that endpoints can reuse their work on the prompt's start; a new one once it occurs."""
    texts = [session.summary.text(), *msgspec.structs.astuple(session.situation), *skills]
    for each in (*session.turns, turn):
        texts += [*each.pieces(), each.context.command, each.context.cwd, *each.context.near_commands]
    everything = "\n".join(texts).casefold()
    nonce = session.nonce or random_nonce()
    while nonce in everything:
        nonce = random_nonce()
    return nonce


def _random_nonce() -> str:
    return "".join(secrets.choice(string.ascii_lowercase) for _ in range(NONCE_LETTERS))


def _open(nonce: str) -> str:
    return f"<data-{nonce}>"


def _close(nonce: str) -> str:
    return f"</data-{nonce}>"
