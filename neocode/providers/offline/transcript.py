"""The commands in a log that shows several of them, as an `@ai` talk is told them. What was asked about is the newest.

Invariant: pure; a log that is one command's output stays one piece.
"""

from __future__ import annotations

import re

import msgspec

from neocode.providers.base import AskContext

_NEXT_COMMAND = re.compile(r"\n\n(?=\$ )")
_EXIT_CODE = re.compile(r"\n\[exit code (-?\d{1,10})\]\s*\Z")


def failures(context: AskContext) -> list[AskContext]:
    """A context for each command in the log that may have failed, newest first; one for the whole where it is no
    transcript that ends with the context's own command.
    """
    pieces = _NEXT_COMMAND.split(context.log)
    if not context.command or not pieces[-1].startswith(f"$ {context.command}\n"):
        return [context]
    newest = msgspec.structs.replace(context, log=pieces[-1].partition("\n")[2])
    found = [newest, *(_earlier(context, piece) for piece in reversed(pieces[:-1]))]
    return [each for each in found if each.exit_code != 0]


def _earlier(context: AskContext, piece: str) -> AskContext:
    code = _EXIT_CODE.search(piece)
    line, _, output = piece[: code.start() if code else len(piece)].partition("\n")
    return msgspec.structs.replace(
        context,
        log=output,
        command=line.removeprefix("$ "),
        exit_code=int(code[1]) if code else None,
        near_commands=(),
        duration_ms=None,
    )
