"""An answer's text cut into sections, by headings as models really write them.

Invariants: linear in the text; no text is lost (what belongs to no known section is "other" or "preamble"); a line
inside a fence is code, but for a second-level heading with a known title: there the model forgot to close the fence.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

Kind = Literal["preamble", "cause", "explanation", "fix", "check", "confidence", "other"]

MAX_TITLE_CHARS = 60  # longer than any heading worth knowing; bounds the work per line
PLAIN_LEVEL = 7  # a bold or plain heading: below every `#` heading

# Titles in the languages that models answer in when the user's locale asks for it.
TITLES: dict[Kind, str] = {
    "cause": "cause|causes|root cause|root causes|the cause|likely cause|most likely cause|probable cause"
    "|possible cause|possible causes|root cause analysis|原因|根本原因|根因|可能原因|問題原因|问题原因"
    "|ursache|causa|causa raíz|cause racine",
    "explanation": "explanation|details|说明|解释|詳細|説明|erklärung|explication|explicación",
    "fix": "fix|fixes|the fix|fix command|fix commands|suggested fix|suggested fixes|possible fixes|recommended fix"
    "|how to fix|how to fix it|solution|solutions|resolution|commands to fix|修复|修復|解决|解决方案|解决方法|修复命令"
    "|修正|対処|解決方法|lösung|behebung|solución|arreglo|correction",
    "check": "check|checks|check command|check commands|how to check|investigate|investigation|further investigation"
    "|investigation commands|verify|verification|检查|排查|调查|验证|检查命令|確認|調査"
    "|prüfen|prüfung|comprobar|vérifier|vérification|verificar",
    "confidence": "confidence|confidence level|置信度|可信度|信心|確信度|sicherheit|zuverlässigkeit|confianza"
    "|confiance",
}
KNOWN: dict[str, Kind] = {title: kind for kind, titles in TITLES.items() for title in titles.split("|")}
# Too common as words of prose to count without `#` or bold.
WEAK_TITLES = {"details", "explanation", "verify", "solution", "resolution", "correction", "说明", "解释"}

_FENCE = r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(`{3,}|~{3,})([^`\n]*)$"
LIST_MARKER = r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+"
_MARKDOWN_TAGS = ("markdown", "md")


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: all of them together would cost a start-up 8 ms."""
    return re.compile(pattern)


class Prose(msgspec.Struct):
    """Lines outside of fences."""

    lines: list[str]


class Fence(msgspec.Struct):
    """The lines between two fence lines; `closed` is false when the answer never closed it."""

    tag: str
    lines: list[str]
    closed: bool = False


class Section(msgspec.Struct):
    """One heading and what follows it, in document order."""

    kind: Kind
    level: int
    title: str = ""
    blocks: list[Prose | Fence] = []

    def add_prose(self, line: str) -> None:
        """Append a line of prose, to the last block when that is prose."""
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, Prose):
            last.lines.append(line)
        else:
            self.blocks.append(Prose([line]))


class Heading(msgspec.Struct, frozen=True):
    """A heading line. `kind` None: a title we do not know. `rest`: text on the same line."""

    level: int
    kind: Kind | None
    title: str
    rest: str = ""


class FenceTracker:
    """Says of each line whether it opens, closes or fills a fence, as CommonMark does but for forgotten closings."""

    def __init__(self) -> None:
        self._marker = ""
        self.tag = ""

    def step(self, line: str) -> Literal["open", "close", "code", "text"]:
        """Take the next line. An opening line within a fence ends that fence too; so does a section's heading."""
        found = compiled(_FENCE).match(line)
        if found and (not self._marker or self._matches(found[1])):
            tag = found[2].strip().lower()
            if self._marker and not tag:
                self._marker = ""
                return "close"
            self._marker, self.tag = found[1], tag
            return "open"
        if self._marker and not self._is_section(line):
            return "code"
        self._marker = ""
        return "text"

    def _matches(self, candidate: str) -> bool:
        return candidate[0] == self._marker[0] and len(candidate) >= len(self._marker)

    def _is_section(self, line: str) -> bool:
        heading = heading_of(line) if line.startswith("#") else None
        if heading is None or heading.kind is None or heading.rest:
            return False
        return heading.level >= 2 or self.tag in _MARKDOWN_TAGS


def split_sections(text: str) -> list[Section]:
    """Cut `text` (line ends `\\n`) into sections; the first one is the preamble, possibly empty."""
    current = Section("preamble", 0)
    sections = [current]
    tracker = FenceTracker()
    fence = Fence("", [])
    for line in text.split("\n"):
        step = tracker.step(line)
        if step == "code":
            fence.lines.append(line)
        elif step == "close":
            fence.closed = True
        elif step == "open":
            fence = Fence(tracker.tag, [])
            current.blocks.append(fence)
        else:
            heading = heading_of(line)
            if heading is None or (heading.kind is None and heading.level > current.level):
                current.add_prose(line)
                continue
            current = Section(heading.kind or "other", heading.level, heading.title)
            sections.append(current)
            if heading.rest:
                current.add_prose(heading.rest)
    return sections


def heading_of(line: str) -> Heading | None:
    """The heading that `line` is: `## Title`, `**Title:** text`, `Title: text`, or a known title alone."""
    text = line.strip()
    if text.startswith("#"):
        level = len(text) - len(text.lstrip("#"))
        if level > 6:
            return None
        return _hash_heading(level, text[level:].strip().rstrip("#").rstrip())
    marked = compiled(LIST_MARKER).match(text)
    body = text[marked.end() :] if marked else text
    if body[:2] in ("**", "__"):
        return _bold_heading(body)
    title, rest = _at_colon(body)
    if rest is None and marked:
        return None
    name = normal_title(title)
    kind = None if name in WEAK_TITLES else KNOWN.get(name)
    return Heading(PLAIN_LEVEL, kind, title, rest or "") if kind else None


def _bold_heading(text: str) -> Heading | None:
    end = text.find(text[:2], 2, MAX_TITLE_CHARS + 4)
    if end < 0:
        return None
    title, after = text[2:end], text[end + 2 :].lstrip()
    kind = KNOWN.get(normal_title(title))
    separated = not after or title.rstrip().endswith((":", "：")) or after[0] in ":：-–—"
    return Heading(PLAIN_LEVEL, kind, title, after.lstrip(":：-–— \t")) if kind and separated else None


def _hash_heading(level: int, text: str) -> Heading | None:
    if not text:
        return None
    kind = KNOWN.get(normal_title(text[: MAX_TITLE_CHARS + 1]))
    if kind:
        return Heading(level, kind, text)
    title, rest = _at_colon(text)
    kind = KNOWN.get(normal_title(title)) if rest is not None else None
    return Heading(level, kind, title, (rest or "").lstrip("*_ \t")) if kind else Heading(level, None, text)


def _at_colon(text: str) -> tuple[str, str | None]:
    """`text` cut at a colon near its start; None instead of a rest when there is none."""
    head = text[: MAX_TITLE_CHARS + 1]
    found = [index for index in (head.find(":"), head.find("：")) if index >= 0]
    if not found:
        return (text if len(text) <= MAX_TITLE_CHARS else ""), None
    cut = min(found)
    return text[:cut], text[cut + 1 :].strip()


def normal_title(title: str) -> str:
    """A title as the table has it: lower case, one space between words, no marks, numbers or emoji around it."""
    if len(title) > MAX_TITLE_CHARS:
        return ""
    words = title.strip(" \t*_`:：.#").lower().split()
    while words and not any(character.isalpha() for character in words[0]):
        del words[0]
    while words and not any(character.isalpha() for character in words[-1]):
        del words[-1]  # "Fix 2"
    return " ".join(words)
