"""A log given on the command line or piped in: reduced, redacted, asked about, the answer shown while it arrives.

Invariants: what leaves this process has been stripped, joined, redacted and truncated, in that order; however we
leave, the provider's call is cancelled and the ask session deleted, within `GOODBYE_SEC`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import BinaryIO

from neocode import facts
from neocode.ask.types import DIAGNOSIS_QUESTION, TERMINAL_DIAGNOSIS, AskEvent, AskParams
from neocode.cli.connect import gateway
from neocode.cli.windows_console import legacy_encoding
from neocode.config.file import load_config
from neocode.errors import DiagnosisFailed, NeocodeError, UsageError
from neocode.gateway.answers import AskStream
from neocode.gateway.client import GatewayClient
from neocode.logs import PreparedLog, make_redactor, prepare
from neocode.logs.powershell import lost_characters
from neocode.providers.base import AskContext
from neocode.render.answer import parse_answer
from neocode.render.stream import open_stream, use_color, writer
from neocode.render.summary import answer_facts, answer_json, closing_line
from ptyproxy.redact import Redactor

SILENCE_SEC = 120.0  # the provider's own time-outs and its retries are shorter; past this the gateway is stuck
# said once, when the log has `?` where words have none
LOST_CHARACTERS = (
    "the pipe of Windows PowerShell 5.1 carries only ASCII, so `?` may stand for other characters; "
    "before it, run: $OutputEncoding = [Text.Encoding]::UTF8"
)
GOODBYE_SEC = 1.0  # for cancel and delete on the way out; the gateway cleans up by itself 2 s later
_asks = count(1)


def diagnose(args: argparse.Namespace, stream: BinaryIO) -> int:
    """Diagnose the log in `stream` as `args` say; returns 0. Raises NeocodeError."""
    config = load_config().config
    redactor = None if args.no_redact else make_redactor(config.redact.patterns)
    log = prepare(stream.read, redactor, config.ask.max_log_bytes, legacy=legacy_encoding())
    if not log.text.strip():
        raise UsageError("the log holds no readable text", "there is nothing to diagnose in it")
    context = context_of(log, redactor)
    piped = args.error_log is None and args.file in (None, "-")
    if piped and context.shell == "powershell" and lost_characters(log.text):
        print(f"neocode: {LOST_CHARACTERS}", file=sys.stderr, flush=True)
    return asyncio.run(_ask(args, log, context))


def context_of(log: PreparedLog, redactor: Redactor | None) -> AskContext:
    """The ask's context: the log and the facts of this process, redacted as well."""
    try:
        cwd = os.getcwd()
    except OSError:  # the directory was removed
        cwd = ""
    return AskContext(
        log=log.text,
        shell=facts.shell_kind(),
        os=facts.os_name(),
        cwd=redactor.redact(cwd).text if redactor else cwd,
        lang=facts.language(),
        near_commands=facts.near_commands(log.text),
    )


async def _ask(args: argparse.Namespace, log: PreparedLog, context: AskContext) -> int:
    session = f"diag-ask-{os.getpid()}-{next(_asks)}-{token_hex(4)}"
    params = AskParams(DIAGNOSIS_QUESTION, session, (TERMINAL_DIAGNOSIS,), context.cwd, context)
    async with gateway(args) as client:
        answer = await client.ask(params)
        try:
            if args.json:
                await _show_json(answer, log)
            else:
                await _show(answer, log, args)
        finally:
            await _say_goodbye(client, answer, session)
    return 0


async def _show(answer: AskStream, log: PreparedLog, args: argparse.Namespace) -> None:
    """Stream the answer to stdout and close with the dim line."""
    sink = open_stream(sys.stdout, args.color, os.environ)
    try:
        done = await _follow(answer, sink.feed)
    finally:
        sink.finish()
    known = answer_facts(done.payload, masked=log.masked, truncated=log.truncated)
    color = use_color(args.color, sys.stdout, os.environ)
    writer(sys.stdout)(f"\n{closing_line(known, color=color)}\n")


async def _show_json(answer: AskStream, log: PreparedLog) -> None:
    """Wait for the whole answer and print the one object."""
    done = await _follow(answer, lambda delta: None)
    known = answer_facts(done.payload, masked=log.masked, truncated=log.truncated)
    diagnosis = parse_answer(str(done.payload.get("full_response", "")), cut=known.finish_reason == "length")
    answer_object = answer_json(diagnosis, known)
    if sys.platform == "win32":
        answer_object = for_any_code_page(answer_object, sys.stdout.encoding)
    sys.stdout.buffer.write(answer_object + b"\n")
    sys.stdout.flush()


def for_any_code_page(answer: bytes, encoding: str) -> bytes:
    """The object as it is into UTF-8; into a pipe of another code page (only Windows has that) in ASCII."""
    if answer.isascii() or encoding.lower().replace("-", "") == "utf8":
        return answer
    import json  # msgspec cannot escape

    return json.dumps(json.loads(answer), indent=2).encode()


async def _follow(answer: AskStream, feed: Callable[[str], None]) -> AskEvent:
    """Hand every delta to `feed`; return the ask_done event. Raises DiagnosisFailed on ask_error or silence."""
    while True:
        try:
            event = await asyncio.wait_for(anext(answer), SILENCE_SEC)
        except asyncio.TimeoutError:
            raise DiagnosisFailed("TIMEOUT", "the gateway fell silent", "neocode gateway restart") from None
        if event.event_type == "ask_chunk":
            feed(str(event.payload.get("delta", "")))
        elif event.event_type == "ask_done":
            return event
        else:
            payload = event.payload
            raise DiagnosisFailed(
                str(payload.get("code", "")), str(payload.get("message", "")), str(payload.get("hint", ""))
            )


async def _say_goodbye(client: GatewayClient, answer: AskStream, session: str) -> None:
    """Cancel what still runs and delete the session; also when we are cancelled ourselves (Ctrl-C)."""

    async def goodbye() -> None:
        await answer.cancel()
        await client.call("gateway.deleteAskSession", {"session_id": session})

    with suppress(NeocodeError, asyncio.TimeoutError):
        await asyncio.wait_for(goodbye(), GOODBYE_SEC)
