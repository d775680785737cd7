"""What a line typed in the `@ai` mode means. Invariant: what is not ours is the shell's, as it was typed."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ptyproxy.policy import expands_history, is_destructive

ASK_WORD, FIX_WORD, LEAVE_WORD = "@ai", "@fix", "exit"
MAX_FIX_DIGITS = 3

Kind = Literal["nothing", "ask", "fix", "leave", "run", "hint"]


class Line(NamedTuple):
    """`text`: the question, the line for the shell, or the hint to show. `number`: of `@fix`, from 1."""

    kind: Kind
    text: str = ""
    number: int = 0


def read_line(text: str) -> Line:
    """What to do with what the user ended with Enter. `\\@ai` reaches the shell as it is, which unquotes it itself."""
    words = text.split(None, 1)
    if not words:
        return Line("nothing")
    rest = words[1].strip() if len(words) > 1 else ""
    if words[0] == ASK_WORD:
        return Line("ask", rest) if rest else Line("hint", "ask like this: @ai why did that fail?")
    if words[0] == FIX_WORD:
        if rest.isascii() and rest.isdigit() and len(rest) <= MAX_FIX_DIGITS:
            return Line("fix", number=int(rest))
        return Line("hint", "@fix takes the number of a suggested command, like @fix 1")
    if text.strip() == LEAVE_WORD:
        return Line("leave")
    return Line("run", text.rstrip("\n"))


def chosen_fix(number: int, suggested: tuple[str, ...]) -> tuple[str, str]:
    """`(command, "")` for the line, or `("", why not)`."""
    if not suggested:
        return "", "no command has been suggested yet"
    if not 1 <= number <= len(suggested):
        return "", f"there is no suggestion {number}, only {len(suggested)}"
    command = suggested[number - 1]
    if is_destructive(command):
        return "", f"suggestion {number} can destroy data and is only shown; type it yourself if you mean it"
    if expands_history(command):
        return "", f"suggestion {number} has a ! or ^ that the shell would replace and is only shown"
    return command, ""
