"""The lines of a code fence -> logical command lines, as a shell's reader would join them.

Invariants: linear in the lines; what needs more than one line (a heredoc, an open quote, a loop's body) comes out as
one `Logical` with `multi` set, never as the pieces, because a piece alone would do something else.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from neocode.render.sections import compiled

POWERSHELL_TAGS = ("powershell", "pwsh", "ps1", "ps")
CMD_TAGS = ("cmd", "bat", "batch", "dos")
POSIX_TAGS = ("sh", "bash", "zsh", "ksh", "dash")

_PROMPT = (
    r"[ \t]*(?:\([\w.-]{1,40}\)[ \t]*)?"  # (venv)
    r"(?:PS(?:[ \t][^>\n]{0,200})?>[ \t]?"  # PS C:\>
    r"|[A-Za-z]:\\(?:[^>\n|&\"]{0,200}[^\s>\n|&\"])?>[ \t]?"  # C:\Users>
    r"|[\w.-]{1,40}@[^\s$#%>]{1,80}(?:[ :][^\s$#%>]{0,80})?[$#%>][ \t]"  # user@host:~$
    r"|\[[^\]\n]{1,80}\][$#][ \t]"  # [user@host dir]$
    r"|[$%❯➜»][ \t]+)"
)
_QUOTE_PROMPT = r"[ \t]*>[ \t]+(?=[A-Za-z_][\w-]*(?:[ \t]|$))"  # not `> file`, which empties a file
_BULLET = r"[ \t]*(?:\d{1,2}[.)]|[-•])[ \t]+"
_HEREDOC = r"<<-?[ \t]*\\?(['\"]?)([A-Za-z_]\w{0,60})\1"
_WINDOWS_DIR = r"[A-Za-z]:\\\S*\\$"
_EDGES = r"(?:^|[;&|(]|\b(?:then|do|else)\b)\s*(?:(if|for|while|until|case|select)|(fi|done|esac))\b"
_FISH_EDGES = r"(?:^|[;&|])\s*(?:(if|for|while|switch|function|begin)|(end))\b"


class Logical(msgspec.Struct, frozen=True):
    """One command. `multi`: it needs several lines, or more than there are. `note`: the comments right before it."""

    text: str
    multi: bool = False
    note: str = ""


def logical_lines(lines: list[str], tag: str) -> Iterator[Logical]:
    """Join the lines of a fence with language `tag`; prompts and a transcript's output are left out, comments noted."""
    reader = _Reader(_without_prompts(lines), tag)
    while reader.skip_comments():
        note = reader.note
        command = reader.read()
        yield msgspec.structs.replace(command, note=note) if note else command


def _without_prompts(lines: list[str]) -> list[str]:
    """Prompts and bullets taken off. Where a line has a prompt, a line without one is output, unless it continues."""
    filled = [line for line in lines if line.strip()]
    if filled and all(compiled(_QUOTE_PROMPT).match(line) for line in filled):
        return [compiled(_QUOTE_PROMPT).sub("", line, count=1) for line in lines]
    if not any(compiled(_PROMPT).match(line) for line in filled):
        return [_unquoted(_without_bullet(line)) for line in lines]
    kept: list[str] = []
    continues = False
    for line in lines:
        prompt = compiled(_PROMPT).match(line)
        if prompt or continues:
            kept.append(line[prompt.end() :] if prompt else compiled(_QUOTE_PROMPT).sub("", line, count=1))
            continues = kept[-1].rstrip().endswith("\\")
    return kept


def _without_bullet(line: str) -> str:
    bullet = compiled(_BULLET).match(line)
    return line[bullet.end() :] if bullet else line


def _unquoted(line: str) -> str:
    """A line that is wholly one inline code span, without its back quotes."""
    text = line.strip()
    whole = len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]
    return text[1:-1] if whole else line


class _Reader:
    """Reads logical lines; `_scan` keeps the shell's state (quote, brackets, heredocs) over the joined lines."""

    def __init__(self, lines: list[str], tag: str) -> None:
        self._lines = lines
        self._tag = tag
        self._at = 0
        self.note = ""
        self._windows = tag in POWERSHELL_TAGS or tag in CMD_TAGS

    def skip_comments(self) -> bool:
        """Step over blank and comment lines; `note` has the latter. False at the end."""
        notes: list[str] = []
        while self._at < len(self._lines):
            text = self._lines[self._at].strip()
            mark = self._comment_mark(text)
            if text and not mark:
                break
            notes.append(text[len(mark) :].strip())
            self._at += 1
        self.note = " ".join(filter(None, notes))
        return self._at < len(self._lines)

    def _comment_mark(self, text: str) -> str:
        """What makes the line a comment, empty when it is none."""
        if self._tag in CMD_TAGS and (text.startswith("::") or text[:4].lower() in ("rem", "rem ")):
            return text[:2] if text[0] == ":" else text[:3]
        return "#" * (len(text) - len(text.lstrip("#")))

    def read(self) -> Logical:
        """The next logical line."""
        self._quote = ""
        self._depth = 0
        self._blocks = 0
        self._heredocs: list[str] = []
        parts = [self._next().strip()]
        multi = False
        while True:
            line, joins = self._continuation(parts[-1])
            self._scan(line)
            if self._heredocs:
                parts.extend(f"\n{body}" for body in self._heredoc_bodies())
                multi = True
            elif joins and self._quote != "'":
                if self._at == len(self._lines):
                    return Logical("".join(parts), multi=True)
                parts[-1] = line
                parts.append(self._joined(line))
                continue
            elif self._ends_with_operator(line) and self._at < len(self._lines):
                parts.append(" " + self._next().strip())
                continue
            if not (self._quote or self._depth or self._blocks):
                break
            multi = True
            if self._at == len(self._lines):
                break
            parts.append("\n" + self._next().rstrip())
        return Logical("".join(parts), multi)

    def _next(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _continuation(self, line: str) -> tuple[str, bool]:
        """`line` without the mark that joins it to the next, and whether there was one."""
        text = line.rstrip()
        mark = "`" if self._tag in POWERSHELL_TAGS else "^" if self._tag in CMD_TAGS else "\\"
        count = len(text) - len(text.rstrip(mark))
        if count % 2 == 0 or (mark == "\\" and compiled(_WINDOWS_DIR).search(text[-300:])):
            return line, False
        return text[:-1], True

    def _joined(self, line: str) -> str:
        """What follows `line`. A shell joins `a\\` + `b` to `ab`; blanks at the seam become one, as for a person."""
        following = self._next()
        if self._quote or not (line[-1:].isspace() or following[:1].isspace()):
            return following.rstrip()
        return ("" if line[-1:].isspace() else " ") + following.strip()

    def _ends_with_operator(self, line: str) -> bool:
        if self._quote or self._tag in CMD_TAGS:
            return False
        return line.rstrip().endswith(("&&", "|"))

    def _heredoc_bodies(self) -> Iterator[str]:
        for word in self._heredocs:
            while self._at < len(self._lines):
                line = self._next()
                yield line
                if line.strip() == word:
                    break
        self._heredocs = []

    def _scan(self, text: str) -> None:
        """Follow quotes, brackets, heredocs and block keywords through one physical line."""
        bare: list[str] = []  # the text outside of quotes, for the keywords
        index = 0
        while index < len(text):
            character = text[index]
            if self._quote:
                if character == "\\" and self._quote == '"' and not self._windows:
                    index += 1
                elif character == self._quote:
                    self._quote = ""
            elif character == "\\" and not self._windows:
                index += 1
            elif character == '"' or (character == "'" and self._tag not in CMD_TAGS):
                self._quote = character
            elif character == "#" and (index == 0 or text[index - 1].isspace()) and self._tag not in CMD_TAGS:
                break
            elif character == "<" and not self._windows and text.startswith("<<", index):
                index += self._operator(text, index) - 1
            else:
                self._bracket(character)
                bare.append(character)
            index += 1
        self._keywords("".join(bare))

    def _bracket(self, character: str) -> None:
        if character in "({":
            self._depth += 1
        elif character in ")}" and self._depth:
            self._depth -= 1

    def _operator(self, text: str, index: int) -> int:
        """Length of `<<<` or of `<<WORD`; a word is noted as a heredoc's end."""
        if text.startswith("<<<", index):
            return 3
        found = compiled(_HEREDOC).match(text, index)
        if not found:
            return 2
        self._heredocs.append(found[2])
        return found.end() - index

    def _keywords(self, bare: str) -> None:
        """Count shell blocks that stay open. Without a POSIX tag a block must show itself by its line's last word."""
        if self._windows or self._quote:
            return
        words = bare.split()
        fish = self._tag == "fish"
        armed = (
            fish or self._blocks > 0 or self._tag in POSIX_TAGS or (bool(words) and words[-1] in ("then", "do", "in"))
        )
        if armed:
            for opener, closer in compiled(_FISH_EDGES if fish else _EDGES).findall(bare):
                self._blocks += 1 if opener else -1 if closer and self._blocks else 0
