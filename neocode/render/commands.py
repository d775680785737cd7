"""The commands of a Fix or Check section, from fences or, where there are none, from inline code.

Invariants: what is offered is one line that the sanitiser leaves as it is; everything else that looks like a command
is flagged with the reason, and prose is handed back, a command's comments among it, so nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from neocode.render.logical import Logical, logical_lines
from neocode.render.sections import LIST_MARKER, Fence, Prose, compiled
from ptyproxy.sanitize import clean_command, sanitize

SectionName = Literal["fix", "check"]

MAX_COMMAND_CHARS = 4096  # the line length that every shell's editor takes (N_TTY, cmd 8191)
MAX_COMMANDS = 50  # per section; a list that long helps nobody and would fill a screen

UNSAFE = "control or invisible characters"
MULTI = "spans several lines"
CUT = "may be cut off"
TOO_LONG = "too long"
TOO_MANY = "one of too many"
NOT_SHELL = "not a shell command"

# Fences that hold a file's content or a program. Small models tag shell commands so too; see `_CLI`.
_OTHER_LANGUAGES = (
    " json jsonc yaml yml toml ini conf diff patch xml html css c cpp c++ h java kotlin go rust rs js javascript jsx ts"
    " typescript tsx python py python3 ruby rb php perl sql r lua dockerfile makefile cmake properties env csv log "
)
_CLI = (
    r"(?:sudo[ \t]+)?(?:pip3?|uv|python3?|conda|npm|npx|pnpm|yarn|node|git|cargo|go|docker|kubectl|apt|apt-get|brew"
    r"|cd|ls|cat|export|make|systemctl|curl|chmod|chown|mkdir)[ \t]+[\w./~-]"
)
_CODE = r"(`{1,3})(?!`)([^`\n]{1,4200})\1(?!`)"
_CODE_TAG = r"(?:sh|bash|zsh|shell|console|powershell|cmd)[ \t]+"
_LEAD_IN = r"(?i)(?:\b(?:run|try|use|execute|type|enter|with|using|via)|[:：]|运行|执行|使用|输入)\**[ \t]*$"
_SHELL_PROMPT = r"[ \t]*(?:[$❯][ \t]+|PS[ \t][^>\n]{0,200}>[ \t]?)(?=\S)"


class Flagged(msgspec.Struct, frozen=True):
    """A command that is shown but never inserted or listed. `text` is sanitised and may span lines."""

    section: SectionName
    text: str
    reason: str


class Found(msgspec.Struct):
    """What a section holds. `prose` is Markdown as the answer had it, not yet sanitised."""

    commands: list[str] = []
    flagged: list[Flagged] = []
    prose: list[str] = []


def find_commands(section: SectionName, blocks: list[Prose | Fence], *, cut: bool) -> Found:
    """The commands in `blocks`; `cut`: the text ends here and may end within a command."""
    found = Found()
    fenced = any(isinstance(block, Fence) for block in blocks)
    for block in blocks:
        if isinstance(block, Fence):
            open_end = cut and block is blocks[-1] and not block.closed
            _from_fence(found, section, block, open_end)
        else:
            _from_prose(found, section, block.lines, items_only=fenced)
    return found


def offered(text: str) -> tuple[str, str]:
    """`(text made safe to show, reason)`; an empty reason means it may be inserted."""
    cleaned, needed = clean_command(text)
    if needed:
        return cleaned, UNSAFE
    if "\n" in cleaned or not cleaned:
        return cleaned, MULTI
    return cleaned, TOO_LONG if len(cleaned) > MAX_COMMAND_CHARS else ""


def _from_fence(found: Found, section: SectionName, fence: Fence, open_end: bool) -> None:
    tag = fence.tag.split()[0] if fence.tag.split() else ""
    logical = list(logical_lines(fence.lines, tag))
    if tag and f" {tag} " in _OTHER_LANGUAGES and not all(compiled(_CLI).match(line.text) for line in logical):
        body = sanitize("\n".join(fence.lines)).strip("\n")
        if body.strip():
            found.flagged.append(Flagged(section, body, NOT_SHELL))
        return
    _add(found, section, logical)
    if open_end and logical and found.commands and logical[-1].text.strip() == found.commands[-1]:
        found.flagged.append(Flagged(section, found.commands.pop(), CUT))


def _add(found: Found, section: SectionName, logical: Iterable[Logical]) -> None:
    for line in logical:
        if line.multi:
            found.flagged.append(Flagged(section, sanitize(line.text), MULTI))
            continue
        text, reason = offered(line.text.strip())
        if reason or len(found.commands) >= MAX_COMMANDS:
            found.flagged.append(Flagged(section, text, reason or TOO_MANY))
        elif text not in found.commands:
            found.commands.append(text)
            if line.note:  # what the command costs is said here: a list of commands alone would lose it
                found.prose.append(f"- `{text}`: {line.note}")


def _from_prose(found: Found, section: SectionName, lines: list[str], *, items_only: bool) -> None:
    """Commands from lists with inline code and, but for `items_only`, from sentences, prompts and indented code.

    The other lines are prose, but for those that only lead to a fence ("Run this:").
    """
    indented: list[str] = []
    after_blank = True
    in_list = False
    for line in lines:
        code = (
            not (in_list or items_only)
            and line.startswith(("    ", "\t"))
            and line.strip()
            and (after_blank or indented)
        )
        if code:
            indented.append(line)
            continue
        _flush_indented(found, section, indented)
        after_blank = not line.strip()
        in_list = bool(compiled(LIST_MARKER).match(line)) or (in_list and not after_blank)
        texts = [] if items_only and not compiled(LIST_MARKER).match(line) else _inline_commands(line)
        if texts:
            _add(found, section, (each for text in texts for each in logical_lines([text], "")))
        elif not (items_only and line.rstrip().endswith((":", "："))):
            found.prose.append(line)
    _flush_indented(found, section, indented)


def _flush_indented(found: Found, section: SectionName, indented: list[str]) -> None:
    _add(found, section, logical_lines(indented, ""))
    indented.clear()


def _inline_commands(line: str) -> list[str]:
    """The code spans of a line that are commands: alone, after "run" or a colon, or the only one with a blank in it."""
    if compiled(_SHELL_PROMPT).match(line):
        return [line]
    spans = list(compiled(_CODE).finditer(line))
    if not spans:
        return []
    marked = compiled(LIST_MARKER).match(line)
    around = compiled(_CODE).sub("", line[marked.end() :] if marked else line)
    if not any(character.isalnum() for character in around):
        return [_span_text(span) for span in spans]
    led = [span for span in spans if compiled(_LEAD_IN).search(line[max(0, span.start() - 40) : span.start()])]
    if led:
        return [_span_text(span) for span in led]
    spaced = [span for span in spans if " " in span[2].strip()]
    return [_span_text(spans[0])] if len(spans) == len(spaced) == 1 else []


def _span_text(span: re.Match[str]) -> str:
    text = span[2].strip()
    return compiled(_CODE_TAG).sub("", text, count=1) if len(span[1]) == 3 else text
