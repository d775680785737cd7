"""The default provider: answers from rules, in the daemon, without network or key.

Invariant: every answer says that it came from offline rules; the log decides nothing but which rule and which values.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from neocode.providers.base import AskContext, AskRequest, Delta, Finish
from neocode.providers.offline import markdown, unknown
from neocode.providers.offline.answer import Fault, fault
from neocode.providers.offline.load import rules
from neocode.providers.offline.match import find
from neocode.providers.offline.select import shell_kind
from neocode.providers.offline.transcript import failures

MAX_HISTORY = 6  # user turns looked at, newest first; older failures are no longer what is asked about


class OfflineProvider:
    """The rules as a `Provider`."""

    @property
    def name(self) -> str:
        return "offline"

    @property
    def model(self) -> str:
        return "rules"

    async def stream(self, request: AskRequest) -> AsyncIterator[Delta | Finish]:
        """The answer by blocks, then `Finish` without usage. Never raises ProviderError."""
        # in a thread: reading the rules takes 0.1 s the first time, and the loop serves other asks meanwhile
        for block in await asyncio.to_thread(answer, request):
            yield Delta(block)
        yield Finish(model=self.model)

    async def check(self) -> str:
        return f"offline: {len(rules())} rules loaded; nothing leaves this machine"

    async def models(self) -> list[str]:
        return [self.model]

    async def aclose(self) -> None:
        """Nothing to release."""


def answer(request: AskRequest) -> list[str]:
    """The blocks of the answer to `request`."""
    context = request.context
    if context.log.strip() or context.exit_code not in (None, 0):
        return _diagnosis(context)
    kind = shell_kind(context.shell, context.os)
    asked = _confident(_faults(msgspec.structs.replace(context, log=request.question)))
    if asked:
        return markdown.diagnosis(asked, kind)
    if request.diagnosis:
        return markdown.no_rule(unknown.explanation(context))
    earlier = _earlier_failure(request)
    if earlier:
        intro = "A free question needs a model; this is what the offline rules know of the failure shown before.\n\n"
        return [intro, *markdown.diagnosis(earlier, kind)]
    return [markdown.NEEDS_MODEL]


def _diagnosis(context: AskContext) -> list[str]:
    """The newest failure that the rules are sure of, else the newest; without any, whatever the log holds."""
    failed = failures(context)
    sure = ((each, _confident(_faults(each))) for each in failed)
    context, faults = next((pair for pair in sure if pair[1]), (failed[0] if failed else context, []))
    faults = faults or _faults(context)
    if faults and not faults[0].seen_in_log:
        said = filter(None, (faults[0].explanation, unknown.lines_to_read(context.log)))
        faults[0] = faults[0]._replace(explanation="\n\n".join(said))
    if faults:
        return markdown.diagnosis(faults, shell_kind(context.shell, context.os))
    return markdown.no_rule(unknown.explanation(context))


def _faults(context: AskContext) -> list[Fault]:
    return [fault(hit, context) for hit in find(context)]


def _confident(faults: list[Fault]) -> list[Fault]:
    return faults if faults and faults[0].confidence != "low" else []


def _earlier_failure(request: AskRequest) -> list[Fault]:
    """The faults in the newest user turn before this one that holds any the rules are sure of."""
    turns = [message.content for message in request.messages if message.role == "user"]
    facts = msgspec.structs.replace(request.context, command="", exit_code=None, near_commands=())
    for content in reversed(turns[:-1][-MAX_HISTORY:]):
        found = _confident(_faults(msgspec.structs.replace(facts, log=content)))
        if found:
            return found
    return []
