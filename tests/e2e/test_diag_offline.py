"""`neocode diag` with a log, from nothing: a real CLI process, the gateway it starts, the offline rules."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from cli import NEOCODE, NeoHome

LOG = "npm ERR! code ECONNREFUSED\nnpm ERR! connect ECONNREFUSED 127.0.0.1:4873\n"


def test_an_error_log_is_answered_with_nothing_configured(home: NeoHome) -> None:
    done = home.run("diag", "--error-log", "npm ERR! code ECONNREFUSED 127.0.0.1:4873")
    assert (done.returncode, done.stderr) == (0, "")
    assert "127.0.0.1:4873" in done.stdout
    assert "## Fix" in done.stdout
    assert "offline" in done.stdout.splitlines()[-1]
    assert "\x1b" not in done.stdout


def test_a_log_is_read_from_a_pipe_or_a_file(home: NeoHome, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(LOG)
    piped = home.run("diag", stdin=LOG)
    from_file = home.run("diag", "--file", str(log))
    dashed = home.run("diag", "--file", "-", stdin=LOG)
    assert "4873" in piped.stdout
    assert piped.stdout == from_file.stdout == dashed.stdout


def test_json_is_one_object_with_exactly_the_named_members(home: NeoHome) -> None:
    done = home.run("diag", "--json", "--error-log", "bash: gti: command not found")
    answer = json.loads(done.stdout)
    assert list(answer) == [
        "confidence",
        "root_cause",
        "explanation",
        "fix_commands",
        "investigation_commands",
        "provider",
        "model",
        "usage",
        "masked",
        "truncated",
    ]
    assert answer["provider"] == "offline"
    assert answer["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert (answer["masked"], answer["truncated"]) == (0, False)
    assert any("git" in command for command in answer["fix_commands"])


def test_one_gateway_serves_all_commands(home: NeoHome) -> None:
    first = home.run("diag", "--error-log", LOG)
    pid = home.status()["pid"]
    second = home.run("diag", "--error-log", LOG)
    assert first.stdout == second.stdout
    assert home.status()["pid"] == pid


def test_ten_first_commands_at_once_start_one_gateway(home: NeoHome) -> None:
    runs = [home.start("diag", "--error-log", LOG) for _ in range(10)]
    results = [process.communicate(timeout=60) for process in runs]
    assert [process.returncode for process in runs] == [0] * 10
    assert {err for _, err in results} == {b""}
    log = (home.dir / "logs" / "gateway.log").read_text()
    assert log.count("listens at") == 1


def test_secrets_are_masked_and_counted(home: NeoHome) -> None:
    token = "ghp_" + "a1B2" * 9
    done = home.run("diag", stdin=f"fatal: Authentication failed, token {token}\n")
    assert "1 secret masked" in done.stdout
    assert token not in done.stdout
    stored = b"".join(path.read_bytes() for path in (home.dir / "state").iterdir())
    assert token.encode() not in stored
    open_run = home.run("diag", "--no-redact", "--json", stdin=f"error: token {token} was refused\n")
    assert json.loads(open_run.stdout)["masked"] == 0


def test_colour_and_rendering_only_where_asked_for(home: NeoHome) -> None:
    assert "\x1b[" in home.run("diag", "--color", "always", "--error-log", LOG).stdout
    assert "\x1b[" not in home.run("diag", "--color", "never", "--error-log", LOG).stdout


def test_a_large_log_is_reduced(home: NeoHome) -> None:
    noise = "".join(f"step {number} of many done in {number % 7} ms\n" for number in range(60_000))
    done = home.run("diag", "--json", stdin=noise + LOG)
    answer = json.loads(done.stdout)
    assert answer["truncated"] is True
    assert "4873" in answer["root_cause"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01\x02\xff\xfe" * 500 + b"\nerror: bad\n",
        'Der Befehl "gti" ist entweder falsch geschrieben\n'.encode("cp1252"),
        "错误: 找不到命令 gti\n".encode("gbk"),
        "error: npm ERR! code ECONNREFUSED\r\n".encode("utf-16"),
        b"10%\r20%\r100%\rerror: broken\r\n",
        b"\x1b]0;title\x07\x1b[31merror:\x1b[0m broken\n",
    ],
)
def test_odd_bytes_are_answered_without_a_traceback(home: NeoHome, raw: bytes) -> None:
    done = home.run("diag", stdin=raw)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("diag",), 3, "no neocode shell is running; start one with neocode shell, or give a log"),
        (("diag", "-i"), 3, "no neocode shell is running; start one with neocode shell\n"),
        (("diag", "auto", "status"), 3, "no neocode shell is running; start one with neocode shell\n"),
        (("diag", "--session", "shell-1-1-deadbeef"), 3, "no neocode shell is running"),
        (("diag", "--error-log", ""), 2, "--error-log is empty"),
        (("diag", "--file", "/nonexistent"), 2, "cannot read /nonexistent"),
        (("diag", "atuo", "on"), 2, "not understood"),
        (("diag", "--frobnicate"), 2, "unrecognized arguments"),
        (("frobnicate",), 2, "invalid choice"),
        (("diag", "--error-log", "\x1b[2J \x07"), 2, "no readable text"),
    ],
)
def test_what_cannot_work_is_one_line_and_its_exit_code(
    home: NeoHome, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = home.run(*arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr


def test_a_reader_that_has_had_enough_is_no_error(home: NeoHome) -> None:
    command = " ".join(f"'{word}'" for word in [*NEOCODE, "diag", "--error-log", "bash: gti: command not found"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -c 1; echo ${{PIPESTATUS[0]}}"],
        env=home.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1][-3:] in ("141", "#0", "0")


def test_a_full_disk_under_stdout_is_one_line(home: NeoHome) -> None:
    with open("/dev/full", "wb") as full:
        process = home.start("diag", "--error-log", LOG, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert len(err.splitlines()) == 1
    assert b"Traceback" not in err


def test_ctrl_c_while_a_log_is_awaited_ends_with_130(home: NeoHome) -> None:
    process = home.start("diag", stdin=subprocess.PIPE)
    assert process.stderr is not None
    assert b"waiting for a log" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")
