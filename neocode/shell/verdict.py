"""Whether an output says by itself that its command failed, for shells that tell no exit code (CMD without Clink).

Invariant: in doubt it does not. A rule has to be sure, and to fit near the end: a command that went on did not fail.
"""

from __future__ import annotations

from neocode.providers.base import AskContext
from neocode.providers.offline.logtext import clean
from neocode.providers.offline.match import find

END_LINES = 30  # what a tool still says after its fault: npm's and pip's advice, a stack
OWN_TOOL = "cmd"  # whose messages need no command to be believed


def says_failure(log: str, command: str, shell: str, system: str) -> bool:
    """Whether an offline rule finds the fault in `log` for certain. `shell`: its kind, `system`: as in AskContext."""
    last = clean(log).text.rstrip("\n").count("\n")
    return any(
        hit.first >= 0
        and hit.last >= last - END_LINES
        and hit.rule.confidence != "low"
        and not hit.rule.symptom
        and (bool(command) or hit.rule.tool == OWN_TOOL)
        for hit in find(AskContext(log=log, command=command, shell=shell, os=system))
    )
