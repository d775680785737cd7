"""The answer in the one form that `neocode/render` reads, in blocks that can be streamed.

Invariant: every answer names the offline rules as its source, in its Confidence section or in its only paragraph.
"""

from __future__ import annotations

from collections.abc import Sequence

from neocode.providers.offline.answer import Fault

FENCE_TAGS = {"fish": "fish", "pwsh": "powershell", "powershell": "powershell", "cmd": "cmd"}
ADD_MODEL = (
    "`neocode provider add NAME --kind openai --base-url URL --model MODEL`, then `neocode use NAME`; "
    "a local one works too."
)
NEEDS_MODEL = (
    "This needs a model: the offline rules only know error messages. To add one, run "
    f"{ADD_MODEL} (Answered by the offline rules.)\n"
)


def diagnosis(faults: Sequence[Fault], kind: str) -> list[str]:
    """Blocks of the answer for `faults` (at least one, the first is the main one) and shell kind `kind`."""
    main, others = faults[0], faults[1:]
    blocks = [f"## Cause\n{main.cause}\n\n"]
    if main.explanation:
        blocks.append(f"{main.explanation}\n\n")
    if others:
        listed = "\n".join(f"- {other.cause} (`{other.rule_id}`)" for other in others)
        blocks.append(f"Independent faults in the same log:\n\n{listed}\n\n")
    blocks += _commands("Fix", [(f, f.fix) for f in faults], kind)
    blocks += _commands("Check", [(f, f.check) for f in faults], kind)
    blocks.append(f"## Confidence\n{main.confidence} - offline rule {main.rule_id}\n")
    return blocks


def _commands(title: str, parts: Sequence[tuple[Fault, tuple[str, ...]]], kind: str) -> list[str]:
    lines: list[str] = []
    for index, (fault, commands) in enumerate(parts):
        new = [command for command in commands if command.startswith("#") or command not in lines]
        if not any(not command.startswith("#") for command in new):
            continue
        if index:
            lines.append(f"# {fault.rule_id}")
        lines += new
    if not lines:
        return []
    return [f"## {title}\n```{FENCE_TAGS.get(kind, 'sh')}\n" + "\n".join(lines) + "\n```\n\n"]


def no_rule(explanation: str) -> list[str]:
    """Blocks of the answer when no rule fits."""
    blocks = ["## Cause\nNo offline rule fits this failure.\n\n"]
    if explanation:
        blocks.append(f"{explanation}\n\n")
    blocks.append(f"A model may know more: {ADD_MODEL}\n\n")
    blocks.append("## Confidence\nlow - offline rules, none fits\n")
    return blocks
