"""A model's answer -> a `Diagnosis`: cause, commands to try, commands to look closer, confidence.

Invariants: `parse_answer` takes any text and never raises; every string it returns has passed the sanitiser; a
command that needed cleaning, spans lines or may be cut off is in `flagged` and never in a command list.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from neocode.render.commands import Flagged, Found, find_commands, offered
from neocode.render.sections import Fence, Prose, Section, compiled, split_sections
from ptyproxy.sanitize import sanitize

Confidence = Literal["high", "medium", "low"]

_LEVELS: tuple[tuple[Confidence, str], ...] = (
    (
        "low",
        r"(?i)\bnot (?:very |too |so )?(?:high|sure|certain|confident)|\blow\b|\buncertain"
        r"|低|niedrig|\bbaj[ao]\b|faible",
    ),
    ("medium", r"(?i)\b(?:medium|moderate|middle|mid|fair)\b|中|mittel|\bmedi[ao]\b|moyen"),
    ("high", r"(?i)\b(?:high|certain|sure)\b|高|hoch|\balt[ao]\b|élev|haute"),
)
_MARK = r"^(?:[-*+•]|\d{1,2}[.)]) "
_PERCENT = r"(\d{1,3}) ?%"
HIGH_PERCENT, MEDIUM_PERCENT = 80, 50
_CONFIDENCE_SCAN = 400  # characters read for the level; the reason behind it may be long
_THINK = r"(?s)\s*<think(?:ing)?>.*?</think(?:ing)?>"


class Diagnosis(msgspec.Struct, frozen=True):
    """What an answer says. Explanation is Markdown; the commands are single lines, ready to be inserted."""

    confidence: Confidence = "low"
    root_cause: str = ""
    explanation: str = ""
    fix_commands: tuple[str, ...] = ()
    investigation_commands: tuple[str, ...] = ()
    flagged: tuple[Flagged, ...] = ()
    well_formed: bool = False


def parse_answer(text: str, *, cut: bool = False) -> Diagnosis:
    """Read an answer in the form Cause / Fix / Check / Confidence, or in whatever a small model made of it.

    `cut` says that the answer ended at an output limit or a broken stream: a last command in an unclosed fence
    is then flagged. Text that does not keep the form becomes the `explanation` of a `well_formed=False` result.
    """
    text = text.replace("\r\n", "\n")
    thought = compiled(_THINK).match(text)
    if thought:
        text = text[thought.end() :]
    sections = split_sections(text)
    commands = {id(section): _commands_of(section, cut and section is sections[-1]) for section in sections}
    fixes = [commands[id(section)] for section in sections if section.kind == "fix"]
    checks = [commands[id(section)] for section in sections if section.kind == "check"]
    if not any(found.commands for found in fixes + checks) and not any(map(_is_cause, sections)):
        return Diagnosis(explanation=_clean(text))
    cause, explanation = _words(sections, commands)
    return Diagnosis(
        confidence=_confidence(sections),
        root_cause=cause,
        explanation=explanation,
        fix_commands=_merged(fixes),
        investigation_commands=_merged(checks),
        flagged=tuple(item for section in sections for item in commands[id(section)].flagged),
        well_formed=True,
    )


def may_insert(command: str) -> bool:
    """Whether `command` may be put into a shell's line editor: one line, nothing the sanitiser would change."""
    text, reason = offered(command)
    return not reason and text == command


def _commands_of(section: Section, cut: bool) -> Found:
    if section.kind == "fix" or section.kind == "check":
        return find_commands(section.kind, section.blocks, cut=cut)
    return Found()


def _merged(parts: list[Found]) -> tuple[str, ...]:
    """All commands in order, each once."""
    return tuple(dict.fromkeys(command for part in parts for command in part.commands))


def _words(sections: list[Section], commands: dict[int, Found]) -> tuple[str, str]:
    """`(root cause, explanation)`: the first cause's first paragraph, and everything else that is prose."""
    cause = ""
    rest: list[str] = []
    has_cause = any(map(_is_cause, sections))
    for section in sections:
        if section.kind == "confidence":
            continue
        if section.kind in ("fix", "check"):
            rest.append("\n".join(commands[id(section)].prose))
            continue
        body = _markdown(section)
        if not cause and (section.kind == "cause" or not has_cause):
            cause, body = _first_paragraph(body)
        rest.append(f"**{section.title}**\n\n{body}" if section.kind == "other" and body else body)
    return cause, "\n\n".join(part for part in map(_clean, rest) if part)


def _is_cause(section: Section) -> bool:
    return section.kind == "cause" and bool(_markdown(section))


def _markdown(section: Section) -> str:
    """A section's blocks as Markdown again."""
    parts: list[str] = []
    for block in section.blocks:
        if isinstance(block, Prose):
            parts.extend(block.lines)
        elif any(line.strip() for line in block.lines):
            parts.extend(_fenced(block))
    return "\n".join(parts).strip()


def _fenced(block: Fence) -> list[str]:
    return [f"```{block.tag}", *block.lines, "```"]


def _first_paragraph(body: str) -> tuple[str, str]:
    """The first paragraph as one line without list mark or bold around it, and what follows. Code is no cause."""
    head, _, rest = body.partition("\n\n")
    if head.startswith(("```", "~~~")):
        return "", body
    line = " ".join(_clean(head).split())
    line = compiled(_MARK).sub("", line)
    if len(line) > 4 and line[:2] == line[-2:] == "**" and "**" not in line[2:-2]:
        line = line[2:-2]
    return line, rest.strip("\n")


def _confidence(sections: list[Section]) -> Confidence:
    """The level the answer names; low when it names none, because silence is no assurance."""
    for section in sections:
        if section.kind == "confidence":
            words = _markdown(section).strip()[:_CONFIDENCE_SCAN]
            if words:
                return _level(words)
    return "low"


def _level(words: str) -> Confidence:
    """The level named first; else by a percentage."""
    found = [(match.start(), level) for level, pattern in _LEVELS if (match := compiled(pattern).search(words))]
    if found:
        return min(found)[1]
    percent = compiled(_PERCENT).search(words)
    if not percent:
        return "low"
    value = int(percent[1])
    return "high" if value >= HIGH_PERCENT else "medium" if value >= MEDIUM_PERCENT else "low"


def _clean(text: str) -> str:
    return sanitize(text).strip()
