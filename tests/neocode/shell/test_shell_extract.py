"""The child that makes text of captured bytes: what comes out, and what becomes of the process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest
from cli import NeoHome

from neocode.errors import NeocodeError
from neocode.shell import child
from neocode.shell.child import COMMAND, extract
from neocode.shell.job import MAX_TAIL_BYTES, Job, OutputJob, Result, decode_job, encode_job
from ptyproxy.records import Output

Until = Callable[..., Awaitable[None]]
TOKEN = "ghp_" + "a1B2" * 9
NONCE = "0123456789abcdef" * 2
ESC = "\x1b"


def text_job(text: str, **more: object) -> Job:
    return Job(outputs=(OutputJob(Output(b"", 0, text.encode()), 80),), **more)  # type: ignore[arg-type]


def run(job: Job) -> Result:
    return asyncio.run(extract(job))


def test_output_becomes_text_and_secrets_masks(home: NeoHome) -> None:
    mark = f"{ESC}]7781;neocode;D;nc={NONCE}\x07"
    raw = f"{ESC}[31mfatal{ESC}[0m: 10%\rfatal: 99%\r\ntoken {TOKEN}\r\n{mark}echo {NONCE}\r\n"
    done = run(text_job(raw, texts=(f"curl -H 'X: {TOKEN}'", "/home/u", f"why {NONCE}?"), literals=(NONCE,)))
    text, masked, truncated = done.outputs[0]
    assert text == "fatal: 99%\ntoken [redacted:github-token]\necho [redacted:known-secret]"
    assert (masked, truncated) == (2, False)
    assert done.texts == ("curl -H 'X: [redacted:github-token]'", "/home/u", "why [redacted:known-secret]?")
    assert done.masked == 2
    assert done.os.startswith(("linux", "darwin", "windows"))
    assert done.lang == "en"


def test_a_secret_of_which_an_overwriting_left_the_end_is_masked(home: NeoHome) -> None:
    text, masked, _ = run(text_job(f"token {TOKEN}\rdone: yes\r\ntoken {TOKEN}\rab\r\n[redacted:custom]\r\n")).outputs[
        0
    ]
    assert masked == 1
    assert TOKEN[8:] not in text
    assert text.startswith("done: yes")


def test_a_token_that_the_terminal_broke_at_its_edge_is_seen_whole(home: NeoHome) -> None:
    raw = f"x\r\n{ESC}[Akey {'k' * 60} {TOKEN}\r\n"
    text = run(text_job(raw)).outputs[0].text
    assert TOKEN[:10] not in text
    assert TOKEN[-10:] not in text


def test_what_lies_at_a_gap_leaves_no_piece_of_a_secret(home: NeoHome) -> None:
    half = len(TOKEN) // 2
    output = Output(f"first line\nlog {TOKEN[:half]}".encode(), 5000, f"{TOKEN[half:]} more\nlast line\n".encode())
    text, _, truncated = run(Job(outputs=(OutputJob(output, 80),))).outputs[0]
    assert text.startswith("first line\n[... 5.")
    assert text.endswith("left out ...]\nlast line")
    assert truncated
    assert TOKEN[:half] not in text
    assert TOKEN[half:] not in text


def test_the_configs_patterns_and_limit_count(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text("redact:\n  patterns: ['emp-\\d+']\nask:\n  max_log_bytes: 1024\n")
    lines = "".join(f"line {n} of user emp-4711\n" for n in range(500))
    text, masked, truncated = run(text_job(lines + "error: it broke\n")).outputs[0]
    assert len(text.encode()) <= 1024
    assert truncated
    assert "emp-4711" not in text
    assert text.endswith("error: it broke")
    assert masked == text.count("[redacted:custom]") > 0


def test_several_outputs_share_the_limit(home: NeoHome) -> None:
    lines = "".join(f"{n * 7919} is a number\n" for n in range(9000)).encode()
    jobs = tuple(OutputJob(Output(b"", 0, lines), 80, share) for share in (0.25, 0.75))
    small, big = (len(each.text) for each in run(Job(outputs=jobs)).outputs)
    assert 2000 < small <= 4096 < 8000 < big <= 12288


def test_names_near_a_missing_command_come_from_the_path(home: NeoHome, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = home.path / "tools"
    tools.mkdir()
    (tools / "frobnicate").touch(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert run(text_job("bash: frobnicat: command not found\r\n", near=True)).near[0] == "frobnicate"
    assert run(text_job("bash: frobnicat: command not found\r\n")).near == ()


def test_a_config_that_cannot_be_used_is_one_line_and_nothing_is_read(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text("redact:\n  patterns: ['(']\n")
    with pytest.raises(NeocodeError) as caught:
        run(text_job("x"))
    assert "redact.patterns" in caught.value.one_line()


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe\x00\x9b", os.urandom(70_000), b"\x1b[A" * 9000, b"\n" * 70_000])
def test_any_bytes_become_text(home: NeoHome, raw: bytes) -> None:
    done = run(Job(outputs=(OutputJob(Output(b"", 0, raw), 80),), texts=("\udcff lone \ud800", "")))
    done.outputs[0].text.encode()
    done.texts[0].encode()


def test_a_job_survives_its_way_and_is_bounded() -> None:
    output = Output(b"h" * 10, 7, b"t" * (MAX_TAIL_BYTES + 5))
    job = Job((OutputJob(output, 80, 0.5), OutputJob(Output(b"\n", 0, b"\0"), 9)), ("\udcff\n",), ("n",), True)
    back = decode_job(encode_job(job))
    assert back.outputs[0].output == Output(b"h" * 10, 12, b"t" * MAX_TAIL_BYTES)
    assert back.outputs[1] == job.outputs[1]
    assert back[1:] == job[1:]


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "neocode.shell.extract" in each.cmdline()]


def test_a_cancelled_job_leaves_no_process(home: NeoHome, until: Until) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(extract(text_job("x\n" * 400_000)))
        await until(children)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert children() == []

    asyncio.run(cancelled())


def test_a_job_that_takes_too_long_is_one_line_and_leaves_no_process(home: NeoHome) -> None:
    with pytest.raises(NeocodeError, match="took longer"):
        asyncio.run(extract(text_job("x"), timeout=0.001))
    assert children() == []


def test_a_child_that_fails_says_nothing_of_what_was_captured(home: NeoHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "COMMAND", (sys.executable, "-I", "-c", "import sys; sys.exit('boom')"))
    with pytest.raises(NeocodeError) as caught:
        run(text_job("the secret\n" * 100_000))
    assert "secret" not in caught.value.one_line()
    done = subprocess.run(COMMAND, input=b"the secret", capture_output=True, cwd="/", check=False)
    assert done.returncode != 0
    assert b"the secret" not in done.stdout + done.stderr


def test_a_missing_interpreter_is_one_line(home: NeoHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "COMMAND", ("/nonexistent/python",))
    with pytest.raises(NeocodeError, match="could not be read"):
        run(text_job("x"))


@pytest.mark.skipif(sys.platform == "win32", reason="niceness is POSIX")
def test_the_child_gives_way_to_the_users_programs(home: NeoHome, tmp_path: Path) -> None:
    nice = os.nice(0)
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while psutil.Process(process.pid).nice() == nice:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert psutil.Process(process.pid).nice() > nice
    finally:
        process.kill()
        process.communicate()


def test_whether_the_output_is_that_of_a_failure_is_judged_where_that_is_asked(home: NeoHome) -> None:
    missing = "'gti' is not recognized as an internal or external command,\r\noperable program or batch file.\r\n"
    texts = ("why?", "gti", "C:\\")
    assert run(text_job(missing, texts=texts, judge="cmd")).failed
    assert not run(text_job("1 file(s) copied.\r\n", texts=texts, judge="cmd")).failed
    assert not run(text_job(missing, texts=texts)).failed


def test_a_secret_that_the_command_line_names_is_masked_in_its_output_too(home: NeoHome) -> None:
    """The shell and its programs repeat a value where nothing says what it is."""
    value, command = "abcdef1234567890abcdef", "export MY_TOKEN=abcdef1234567890abcdef; ls $MY_TOKEN"
    done = run(text_job(f"ls: cannot access '{value}': No such file\nlocal stays\n", texts=("why?", command)))
    shown = done.outputs[0]
    assert value not in "".join((shown.text, *done.texts))
    assert "local stays" in shown.text
    assert shown.masked == 1


def test_a_short_value_or_a_variable_in_the_command_line_masks_no_word_of_the_output(home: NeoHome) -> None:
    done = run(text_job("run $HOME_TOKEN short\n", texts=("why?", "PASSWORD=short TOKEN=$HOME_TOKEN run")))
    assert done.outputs[0].text == "run $HOME_TOKEN short"
