"""A finding -> what is sent of it. Pure: the bytes are read and redacted by the child in between.

Invariant: no text of a finding reaches an AskContext but through the child's result.
"""

from __future__ import annotations

from neocode.providers.base import NO_OUTPUT, AskContext
from neocode.shell.job import Extract, Job, OutputJob, Result
from ptyproxy.ports import Finding
from ptyproxy.records import CommandRecord

MAX_NEAR = 8  # earlier commands that a talk is told of; their output shares the other half of the log
LAST_SHARE = 0.5  # of the log for the last command when there are earlier ones
NO_COMMAND = "[no command was run in this shell since]"


def job_of(finding: Finding | None, literals: tuple[str, ...], question: str = "") -> Job:
    """What the child has to do; `texts` are the question, then command and directory of each record, the last first."""
    if finding is None:
        return Job(texts=(question,), literals=literals)
    near = finding.near[-MAX_NEAR:]
    last_share = LAST_SHARE if near else 1.0
    outputs = [OutputJob(output, finding.cols, (1 - LAST_SHARE) / len(near)) for _, output in near]
    texts = [question, *_names(finding.record)]
    for record, _ in near:
        texts += _names(record)
    return Job(
        outputs=(*outputs, OutputJob(finding.output, finding.cols, last_share)),
        texts=tuple(texts),
        literals=literals,
        near=True,
        judge=finding.shell if finding.unsure else "",
    )


def context_of(finding: Finding | None, result: Result) -> AskContext:
    """The context of an ask about `finding`, from what the child made of `job_of(finding)`."""
    if finding is None:
        return AskContext(log=NO_COMMAND, os=result.os, lang=result.lang)
    record = finding.record
    _, command, cwd, *earlier = result.texts
    last = result.outputs[-1].text or NO_OUTPUT
    near = finding.near[-MAX_NEAR:]
    parts = [transcript(earlier[2 * i], near[i][0].exit_code, result.outputs[i]) for i in range(len(near))]
    if parts and command:
        last = f"$ {command}\n{last}"
    return AskContext(
        log="\n\n".join([*parts, last]),
        command=command,
        exit_code=record.exit_code if record else None,
        shell=finding.shell,
        os=result.os,
        cwd=cwd,
        duration_ms=_duration_ms(record),
        lang=result.lang,
        near_commands=result.near,
    )


def transcript(command: str, exit_code: int | None, output: Extract) -> str:
    """An earlier command as a terminal would show it, and how it ended."""
    lines = [f"$ {command}"] if command else []
    if output.text:
        lines.append(output.text)
    if exit_code is not None:
        lines.append(f"[exit code {exit_code}]")
    return "\n".join(lines)


def _names(record: CommandRecord | None) -> tuple[str, str]:
    return (record.command or "", record.cwd or "") if record else ("", "")


def _duration_ms(record: CommandRecord | None) -> int | None:
    if record is None or record.ended is None:
        return None
    return max(0, round((record.ended - record.started) * 1000))
