"""Skills by id: instructions that an ask adds to the system text. The user's own win over the bundled ones.

Invariants: an id never leaves its directory; a skill that cannot be read is skipped with one warning per fault, never
an error; a changed file counts from the next look on. Only a user's skill needs the YAML parser.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from neocode.ask.types import AskRefused
from neocode.skills.textfile import TextFile, UnreadableText

BUNDLED_DIR = Path(__file__).parent / "bundled"
SKILL_FILE = "SKILL.md"
MAX_SKILLS = 8  # of one session; more would fill the prompt before the question
MAX_FILES = 256  # of the registry's cache
MAX_LISTED = 64  # ids that an error message names

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_log = logging.getLogger("neocode.skills")


class SkillRegistry:
    """The skills below `user_dir`, then `bundled_dir`, each a directory `<id>/SKILL.md`."""

    def __init__(self, user_dir: Path, bundled_dir: Path = BUNDLED_DIR) -> None:
        self._user_dir = user_dir
        self._bundled_dir = bundled_dir
        self._files: dict[Path, TextFile] = {}
        self._bodies: dict[Path, tuple[str, str]] = {}  # text of the file -> its instructions
        self._faults: dict[Path, str] = {}

    def check(self, ids: tuple[str, ...]) -> None:
        """Raise AskRefused unless every id is known; the message names the known ones."""
        if len(ids) > MAX_SKILLS:
            raise AskRefused(f"{len(ids)} skills are too many for one session", f"name at most {MAX_SKILLS}")
        for skill_id in ids:
            if self.instructions(skill_id) is None:
                known = ", ".join(self.known()[:MAX_LISTED]) or "none"
                raise AskRefused(f"unknown skill {skill_id[:64]!r} (known: {known})")

    def instructions(self, skill_id: str) -> str | None:
        """The text of a skill without its front matter; None when there is no readable skill of that id."""
        if not _ID.fullmatch(skill_id):
            return None
        for directory in (self._user_dir, self._bundled_dir):
            body = self._body(directory / skill_id / SKILL_FILE, trusted=directory == self._bundled_dir)
            if body is not None:
                return body
        return None

    def known(self) -> list[str]:
        """The ids of all readable skills, sorted."""
        found = {name for directory in (self._user_dir, self._bundled_dir) for name in _ids_in(directory)}
        return sorted(name for name in found if self.instructions(name) is not None)

    def refresh(self) -> list[str]:
        """Look at every skill again; one warning for each that is skipped."""
        self._faults.clear()
        self.known()
        return sorted(self._faults.values())

    def _body(self, path: Path, *, trusted: bool) -> str | None:
        try:
            if len(self._files) >= MAX_FILES and path not in self._files:
                self._files.clear()
                self._bodies.clear()
            text = self._files.setdefault(path, TextFile(path)).read()
            if text is None:
                del self._files[path]
                return None
            cached = self._bodies.get(path)
            if cached is None or cached[0] != text:
                cached = self._bodies[path] = (text, parse_skill(text, path, check_yaml=not trusted))
        except UnreadableText as error:
            self._warn(path, f"skill skipped: {error}")
            return None
        self._faults.pop(path, None)
        return cached[1]

    def _warn(self, path: Path, warning: str) -> None:
        if self._faults.get(path) != warning:
            if len(self._faults) >= MAX_FILES:
                self._faults.clear()
            self._faults[path] = warning
            _log.warning("%s", warning)


def parse_skill(text: str, path: Path, *, check_yaml: bool) -> str:
    """The instructions in the text of a SKILL.md. A file without front matter is all instructions.

    Raises:
        UnreadableText: the front matter is no YAML mapping or is not closed, or no instructions follow it.
    """
    body = text
    if text.startswith("---"):
        match = _FRONT_MATTER.match(text)
        if match is None:
            raise UnreadableText(f"{path}: the front matter has no closing ---")
        if check_yaml:
            _check_front_matter(match.group(1) or "", path)
        body = text[match.end() :]
    body = body.strip()
    if not body:
        raise UnreadableText(f"{path} holds no instructions")
    return body


def _check_front_matter(source: str, path: Path) -> None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        fields = YAML(typ="safe", pure=True).load(source)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        raise UnreadableText(f"{path}{where}: the front matter is not YAML") from error
    if fields is not None and not isinstance(fields, dict):
        raise UnreadableText(f"{path}: the front matter is not a mapping")


def _ids_in(directory: Path) -> Iterator[str]:
    try:
        for index, entry in enumerate(directory.iterdir()):
            if index >= MAX_FILES:
                return
            if _ID.fullmatch(entry.name):
                yield entry.name
    except OSError:
        return
