"""What is kept of a long log: its head, its tail, what failed, and how often it repeated itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neocode.errors import ConfigError
from neocode.logs import make_redactor, prepare
from neocode.logs.errorlines import grade
from ptyproxy.redact import Redactor

REDACTOR = Redactor()
GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau"
WORDS = GREEK.split()


def noise(count: int, seed: int = 0) -> list[str]:
    """Lines that say nothing, no two of one shape in a row."""
    return [f"step {i} {WORDS[(i + seed) % 19]} {WORDS[(i * 7 + seed) % 19]} took {i % 17} ms" for i in range(count)]


def test_a_short_log_stays_as_it_is() -> None:
    text = "$ npm install\nnpm ERR! code ECONNREFUSED\n"
    prepared = prepare(text, REDACTOR)
    assert prepared == (text, 0, {}, False, len(text), 2, "utf-8")


def test_head_tail_first_and_last_failure_of_a_long_log_are_kept() -> None:
    lines = ["$ make all", *noise(20_000)]
    lines[5000:5000] = ["src/a.c:3:1: error: unknown type name 'foo'", "  3 | foo x;", "    | ^~~"]
    lines[15_000:15_000] = ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>', "KeyError: 'b'"]
    lines.append("make: *** [all] Error 2")
    prepared = prepare("\n".join(lines).encode(), REDACTOR)
    assert prepared.text.startswith("$ make all\nstep 0")
    assert prepared.text.endswith("make: *** [all] Error 2")
    assert "error: unknown type name 'foo'\n  3 | foo x;\n    | ^~~" in prepared.text
    assert "Traceback (most recent call last):\n  File" in prepared.text
    assert "left out ...]" in prepared.text
    assert prepared.truncated
    assert prepared.total_lines == len(lines)
    assert len(prepared.text.encode()) <= 16 * 1024
    kept = set(lines)
    assert all(line in kept or line.startswith("[... ") for line in prepared.text.split("\n")), "only whole lines"


def test_the_last_failures_weigh_most_when_there_are_too_many() -> None:
    lines = [
        f"error: {WORDS[i % 19]} {WORDS[i // 19 % 19]} {WORDS[i // 361 % 19]} cannot be linked" for i in range(6000)
    ]
    mixed = [line for pair in zip(lines, noise(6000), strict=True) for line in pair]
    text = prepare("\n".join([*mixed, *noise(3000, 3)]), REDACTOR, 8192).text
    found = [i for i, line in enumerate(lines) if line in text]
    assert found[-1] == 5999
    assert sum(i > 5000 for i in found) >= sum(100 < i <= 5000 for i in found)


@pytest.mark.parametrize("count", [50, 200_000])
def test_repeated_lines_are_folded_with_a_count(count: int) -> None:
    text = prepare("start\n" + "Retrying in 5 s\n" * count + "gave up", REDACTOR).text
    assert text == f"start\nRetrying in 5 s\n[... the line above repeated {count - 1} more times ...]\ngave up"


def test_similar_lines_are_folded_where_that_brings_other_lines_into_view() -> None:
    progress = [f"[{i}/1500] Compiling" for i in range(1500)]
    lines = [*noise(3000), "x.c:1: note: the cause", *noise(9), *progress, "ld: exit 1"]
    text = prepare("\n".join(lines), REDACTOR).text
    end = ["[0/1500] Compiling", "[... 1498 similar lines ...]", "[1499/1500] Compiling", "ld: exit 1"]
    assert text.split("\n")[-4:] == end
    assert "x.c:1: note: the cause" in text


def test_similar_lines_are_shown_where_there_is_nothing_else() -> None:
    lines = [f"GET /item/{i} {500 if i == 59_990 else 200}" for i in range(60_000)]
    text = prepare("\n".join(lines), REDACTOR).text
    assert "GET /item/59990 500\n" in text
    assert "similar" not in text
    assert len(text) > 8000


@pytest.mark.parametrize(
    "line",
    [
        "0 errors, 0 failed",
        "no errors found",
        "errors: 0",
        "cc -Werror -c a.c",
        "Compiling error-handling v1.2",
        "12 passed, 0 failed",
        "src/error.rs",
        "running without errors",
        "GET /errors.css 200",
        "info: done",
    ],
)
def test_lines_that_only_mention_failure_are_none(line: str) -> None:
    assert grade(line.lower().encode()) == 0


@pytest.mark.parametrize(
    "line",
    [
        "error: x",
        "FAILED tests/test_a.py",
        "E: Unable to locate package",
        "bash: foo: command not found",
        "panic: runtime error",
        "npm ERR! code 1",
        "1 failed, 0 errors",
        "Permission denied",
        "Segmentation fault (core dumped)",
        "'x' is not recognized as",
    ],
)
def test_lines_that_tell_of_failure_are_graded(line: str) -> None:
    assert grade(line.lower().encode()) == 2


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("héllo ‘quoted’ – é".encode("cp1252"), "héllo ‘quoted’ – é", "cp1252"),
        ("naïve für straße".encode("cp1252"), "naïve für straße", "cp1252"),
        ("错误：无法连接到服务器".encode("gbk"), "错误：无法连接到服务器", "gbk"),
        ("ok\nnpm 错误 a\n".encode("gb18030"), "ok\nnpm 错误 a\n", "gbk"),
        ("\ufeffhéllo".encode(), "héllo", "utf-8"),
        (b"a\rb\rc", "a\nb\nc", "utf-8"),
        (b" 10%\r 50%\r100%", "100%", "utf-8"),
        (b"a\r\nb\r\n", "a\nb\n", "utf-8"),
        (b"A=1\x00B=2\x00", "A=1 B=2", "binary"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00usage: prog\x00\xff\xfe", "[binary] usage: prog", "binary"),
        (b"first\n" + "zwei\n".encode("utf-16-le"), "first\nzwei\n", "utf-8"),
        (b"\x81\x8d\x8f", "\ufffd\ufffd\ufffd", "cp1252"),
        (b"", "", "utf-8"),
        (b"\n\n", "\n\n", "utf-8"),
    ],
)
def test_any_encoding_becomes_readable_text(data: bytes, text: str, encoding: str) -> None:
    prepared = prepare(data, REDACTOR)
    assert prepared.text == text
    assert prepared.encoding == encoding


def test_arguments_with_undecodable_bytes_are_read() -> None:
    assert prepare("caf\udce9 error", REDACTOR).text == "café error"
    assert prepare("lone \ud83d half", REDACTOR).text == "lone ? half"


def test_off_means_off() -> None:
    """warpdotdev/warp#5974: values were masked even when redaction was switched off."""
    secret = "ghp_" + "a1B2" * 9
    key = "-----BEGIN " + "PRIVATE KEY-----\n" + "a1B2" * 16 + "\n-----END " + "PRIVATE KEY-----"
    assert prepare(f"{secret}\n{key}", None).text == f"{secret}\n{key}"


def test_a_limit_of_zero_sends_nothing() -> None:
    """AnswerDotAI/shell_sage#44: zero lines of history still sent the screen."""
    assert prepare("error: x\n" * 9, REDACTOR, 0).text == ""


def test_a_bad_pattern_in_the_config_is_named() -> None:
    with pytest.raises(ConfigError, match=r"\(") as caught:
        make_redactor(["ok", "("])
    assert "redact.patterns" in caught.value.hint
    assert make_redactor(["ACME-[0-9]+"]).redact("ACME-12").count == 1


@pytest.mark.skipif(sys.platform == "win32", reason="resource is a Unix module")
@pytest.mark.parametrize("shape", ["ordinary", "one line"])
def test_memory_stays_bounded(shape: str) -> None:
    """96 MiB from a generator leave the child's peak resident size below 100 MiB."""
    script = """
import resource, sys
from neocode.logs import prepare
from ptyproxy.redact import Redactor
line = b"12:00:00 INFO nothing happened at /srv/item/%d in the usual way of things"
block = b"\\n".join(line % i for i in range(15000)) if sys.argv[1] == "ordinary" else b"word,x" * 180000
left = [96]
def read(size):
    left[0] -= 1
    return block[: 1 << 20] if left[0] >= 0 else b""
prepared = prepare(read, Redactor())
assert prepared.total_bytes > 90 << 20, prepared.total_bytes
if sys.platform == "linux":  # ru_maxrss counts what the parent had when it forked
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20))
"""
    child = subprocess.run(
        [sys.executable, "-c", script, shape], capture_output=True, text=True, timeout=50, check=True
    )
    assert int(child.stdout) < 100
