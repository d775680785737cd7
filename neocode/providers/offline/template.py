"""Command templates: `curl -v http://{host}:{port}/` plus typed values gives one line for one shell.

Invariant: a word with placeholders is filled and then quoted as a whole, so a value can never become a second word,
an option, an expansion or another command. A value that does not validate gives no command (None).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from neocode.providers.offline import types
from neocode.providers.offline.quoting import POWERSHELLS, quote

PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_LITERAL = re.compile(r"[A-Za-z0-9_./\\:@+,=?%#-]*", re.ASCII)  # what may stand beside a placeholder in a word
_SEPARATORS = frozenset(["|", "||", "&&", ";", "&", "sudo", "(", "then", "do", "exec"])


class Typed(NamedTuple):
    """A captured value and the name of the type that must accept it."""

    type: str
    value: str


class Draft(NamedTuple):
    """A command to be: a template and the values for its placeholders."""

    template: str
    values: Mapping[str, Typed] = {}


def placeholders(template: str) -> list[str]:
    """The names in `template`, in order, with repeats."""
    return PLACEHOLDER.findall(template)


def render(draft: Draft, kind: str) -> str | None:
    """The command line for shell `kind`, or None when a value does not validate or cannot be quoted there."""
    if draft.template.startswith("#") or "{" not in draft.template:
        return draft.template
    out: list[str] = []
    end = 0
    previous = ""
    for word in _WORD.finditer(draft.template):
        out.append(draft.template[end : word.start()])
        end = word.end()
        filled = _fill_word(word.group(), draft.values, kind, previous)
        if filled is None:
            return None
        out.append(filled)
        previous = word.group()
    out.append(draft.template[end:])
    return "".join(out)


def _fill_word(word: str, values: Mapping[str, Typed], kind: str, previous: str) -> str | None:
    names = [name for name in placeholders(word) if name in values]
    if not names:
        return word
    for name in names:
        if not types.valid(values[name].type, values[name].value):
            return None
    prefix = ""
    assignment = _ASSIGNMENT.match(word)
    if assignment and kind not in ("cmd", *POWERSHELLS):
        prefix, word = assignment.group(), word[assignment.end() :]
    filled = PLACEHOLDER.sub(lambda m: values[m[1]].value if m[1] in values else m[0], word)
    quoted = quote(filled, kind, force=kind in POWERSHELLS and previous == "=")
    return None if quoted is None else prefix + quoted


def problems(template: str, params: Mapping[str, str]) -> list[str]:
    """What is wrong with a template of a rule whose groups have the types `params`; empty when nothing is."""
    found: list[str] = []
    if "\n" in template or template != template.strip() or not template:
        found.append("empty, or has line breaks or outer spaces")
    if template.startswith("#"):
        return found + (["placeholder in a comment"] if placeholders(template) else [])
    found += [f"{{{n}}} has no type" for n in placeholders(template) if params.get(n, types.TEXT) == types.TEXT]
    previous = ""
    for match in _WORD.finditer(template):
        found += _word_problems(match.group(), previous, params)
        previous = match.group()
    if re.search(r"<[a-z][a-z-]*>", template):
        found.append("<name> is a redirection; use UPPER_CASE")
    if _WORD.sub("", template).strip():
        found.append("unbalanced quotes")
    return found


def _word_problems(word: str, previous: str, params: Mapping[str, str]) -> list[str]:
    names = placeholders(word)
    if not names:
        return []
    rest = PLACEHOLDER.sub("", word)
    found = [] if _LITERAL.fullmatch(rest) else [f"{word}: quotes or shell characters beside a placeholder"]
    in_command_position = not previous or previous in _SEPARATORS or previous.endswith(";")
    if in_command_position and not _ASSIGNMENT.match(word):
        bare_command = word == f"{{{names[0]}}}" and params.get(names[0]) == "command"
        if not bare_command and not word.startswith("./"):
            found.append(f"{word}: placeholder in the command position")
    return found
