"""The short-lived child that turns captured bytes into text that may leave the machine. In a thread of the shell
process this work would hold the interpreter lock against the pump.

Invariants: strip sequences -> join wrapped lines -> redact -> truncate; nothing is written but the one answer, so a
failure of ours tells nobody what was captured.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from neocode.shell.job import Extract, Job, OutputJob, decode_job
from ptyproxy.redact import Redactor

NICENESS = 10  # the user's own programs come first
LIFETIME_SEC = 30  # for a child whose parent is gone
NO_WIDTH = 1 << 30  # lines are whole already: nothing is to be joined again
MASK = b"[redacted:"
MIN_TOLD_CHARS = 8  # a shorter value may be any word of the output
QUOTES = "\"'`;,)&| "  # what a mask may take along at the end of a word
SEAM_BYTES = 64 * 1024  # how far a seam looks for a line's end


def main() -> int:
    """Read a job from standard input, write its result to standard output."""
    _be_modest()
    job = decode_job(sys.stdin.buffer.read())
    sys.stdout.buffer.write(json.dumps(answer(job)).encode("ascii"))
    return 0


def answer(job: Job) -> dict[str, Any]:
    """The result as JSON members, or `{"error": line}` when the configuration cannot be used."""
    from neocode import facts
    from neocode.config.file import load_config
    from neocode.errors import NeocodeError

    try:
        config = load_config().config
        redactor = _redactor(config.redact.patterns, job.literals)
        told = secrets_told(job.texts, redactor)
        everywhere = _redactor(config.redact.patterns, (*job.literals, *told)) if told else redactor
    except NeocodeError as error:
        return {"error": error.one_line()}
    outputs = [extract(each, everywhere, int(config.ask.max_log_bytes * each.share)) for each in job.outputs]
    texts = [redactor.redact(_encodable(text)) for text in job.texts]
    return {
        "outputs": outputs,
        "texts": [text.text for text in texts],
        "masked": sum(text.count for text in texts),
        "near": facts.near_commands(outputs[-1].text) if job.near and outputs else [],
        "os": facts.os_name(),
        "lang": facts.language(),
        "failed": bool(job.judge) and _failed(outputs, [text.text for text in texts], job.judge, facts.os_name()),
    }


def _failed(outputs: list[Extract], texts: list[str], kind: str, system: str) -> bool:
    from neocode.shell.verdict import says_failure

    return says_failure(outputs[-1].text, texts[1], kind, system)


def secrets_told(texts: tuple[str, ...], redactor: Redactor) -> tuple[str, ...]:
    """The values that a command line gives away (`TOKEN=...`): its output may repeat them without the name."""
    words = (text[mask.start : mask.end].strip(QUOTES) for text in texts for mask in redactor.find(text))
    found = {word for word in words if len(word) >= MIN_TOLD_CHARS and "$" not in word}
    return tuple(word for word in found if not redactor.find(word))


def extract(job: OutputJob, redactor: Redactor, max_bytes: int) -> Extract:
    """One output as text of at most `max_bytes` of UTF-8."""
    from neocode.logs import prepare

    text, cut = seen(job, redactor)
    log = prepare(text, redactor, max(max_bytes, 1), NO_WIDTH)
    before = job.output.head.count(MASK) + job.output.tail.count(MASK)  # of a log that shows masks itself
    masked = max(log.masked, log.text.count(MASK.decode()) - before)  # those of overwritten lines are known only here
    return Extract(log.text.strip("\n"), masked, log.truncated or cut)


def seen(job: OutputJob, redactor: Redactor) -> tuple[str, bool]:
    """What a person saw of it, and whether its middle is missing."""
    from neocode.logs.compose import left_out
    from ptyproxy.screen import screen_text

    output = job.output
    if not output.skipped:
        return screen_text(_states_masked(output.head + output.tail, redactor), job.cols), False
    head, tail = whole_lines(output.head, end=True), whole_lines(output.tail, end=False)
    missing = output.skipped + len(output.head) - len(head) + len(output.tail) - len(tail)
    parts = [screen_text(_states_masked(part, redactor), job.cols).strip("\n") for part in (head, tail)]
    return f"{parts[0]}\n{left_out(missing)}\n{parts[1]}".strip("\n"), True


def whole_lines(data: bytes, *, end: bool) -> bytes:
    """`data` without the line that is cut at its end (or start): half a secret is not recognised."""
    if end:
        at = data.rfind(b"\n", max(0, len(data) - SEAM_BYTES))
        return data[: at + 1] if at >= 0 else data[: len(data) - SEAM_BYTES] if len(data) > SEAM_BYTES else b""
    at = data.find(b"\n", 0, SEAM_BYTES)
    return data[at + 1 :] if at >= 0 else data[SEAM_BYTES:]


def _states_masked(data: bytes, redactor: Redactor) -> bytes:
    """Lines that overwrite themselves, each state redacted by itself: what an overwriting leaves of a secret is not
    recognised any more."""
    if b"\r" not in data.replace(b"\r\n", b"\n"):
        return data
    lines = data.split(b"\n")
    for i, line in enumerate(lines):
        body = line.rstrip(b"\r")
        if b"\r" in body:
            text = body.decode("utf-8", "surrogateescape")
            masked = redactor.redact(text.replace("\r", "\n"))
            if masked.count:
                lines[i] = masked.text.replace("\n", "\r").encode("utf-8", "surrogateescape") + line[len(body) :]
    return b"\n".join(lines)


def _redactor(patterns: tuple[str, ...], literals: tuple[str, ...]) -> Redactor:
    """With the config's own patterns. Raises ConfigError that names the bad one."""
    from neocode.errors import ConfigError

    try:
        return Redactor(patterns, literals)
    except ValueError as error:
        raise ConfigError(str(error), "correct redact.patterns in config.yaml") from None


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _be_modest() -> None:
    """Low priority, and an end of our own should the parent die."""
    if sys.platform != "win32":
        import signal

        signal.alarm(LIFETIME_SEC)
        try:
            os.nice(NICENESS)
        except OSError:
            pass


if __name__ == "__main__":
    sys.exit(main())
