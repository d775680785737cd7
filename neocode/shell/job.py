"""What the shell process and its extracting child say to each other: a line of JSON and raw bytes in, JSON out.

Invariants: light to import (the shell process does); every part is bounded before it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ptyproxy.records import Output

MAX_TAIL_BYTES = 1 << 20  # the default ring; the cause of a failure does not lie further back
MAX_HEAD_BYTES = 64 * 1024  # what the capture keeps
MAX_TEXT_CHARS = 4096  # of a command line or a directory; the gateway shows models 1000
MAX_RESULT_BYTES = 4 << 20  # ask.max_log_bytes is 512 KiB at most, and JSON may double it


class OutputJob(NamedTuple):
    """One output as the ring gave it, the terminal's width then, and its share of `ask.max_log_bytes`."""

    output: Output
    cols: int
    share: float = 1.0


class Job(NamedTuple):
    """`outputs` become text; `texts` (command lines, directories, questions) are redacted only. `literals`: secrets
    that are known as they are. `near`: look on PATH for the command that the last output says is missing. `judge`: the
    shell's kind, for saying whether the last output is that of a failure (`texts`: the question, then its command).
    """

    outputs: tuple[OutputJob, ...] = ()
    texts: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    near: bool = False
    judge: str = ""


class Extract(NamedTuple):
    """An output's text, how many secrets were masked in it, and whether parts were left out."""

    text: str
    masked: int
    truncated: bool


class Result(NamedTuple):
    """What became of a job. `masked`: secrets in `texts`. `os` and `lang` as in AskContext.

    `failed`: the last output says for certain that its command failed; always False without `Job.judge`.
    """

    outputs: tuple[Extract, ...]
    texts: tuple[str, ...]
    masked: int
    near: tuple[str, ...]
    os: str
    lang: str
    failed: bool = False


def encode_job(job: Job) -> bytes:
    """The bytes for the child's standard input; what is over the limits is cut."""
    parts: list[bytes] = []
    outputs: list[dict[str, Any]] = []
    for output, cols, share in job.outputs:
        head, tail = output.head[:MAX_HEAD_BYTES], output.tail[-MAX_TAIL_BYTES:]
        skipped = output.skipped + len(output.head) - len(head) + len(output.tail) - len(tail)
        parts += head, tail
        outputs.append({"head": len(head), "skipped": skipped, "tail": len(tail), "cols": cols, "share": share})
    header = {
        "outputs": outputs,
        "texts": [text[:MAX_TEXT_CHARS] for text in job.texts],
        "literals": list(job.literals),
        "near": job.near,
        "judge": job.judge,
    }
    return b"\n".join([json.dumps(header).encode("ascii"), b"".join(parts)])


def decode_job(data: bytes) -> Job:
    """The inverse of `encode_job`. Raises ValueError or KeyError for anything else."""
    line, _, raw = data.partition(b"\n")
    header = json.loads(line)
    outputs: list[OutputJob] = []
    at = 0
    for each in header["outputs"]:
        middle, end = at + each["head"], at + each["head"] + each["tail"]
        output = Output(raw[at:middle], each["skipped"], raw[middle:end])
        outputs.append(OutputJob(output, each["cols"], each["share"]))
        at = end
    return Job(tuple(outputs), tuple(header["texts"]), tuple(header["literals"]), header["near"], header["judge"])


def decode_result(members: Mapping[str, Any]) -> Result:
    """What the child wrote. Raises TypeError or KeyError when it is none."""
    return Result(
        tuple(Extract(*each) for each in members["outputs"]),
        tuple(members["texts"]),
        members["masked"],
        tuple(members["near"]),
        members["os"],
        members["lang"],
        members["failed"],
    )
