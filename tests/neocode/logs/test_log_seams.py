"""No secret survives in part, wherever the reduction cuts, breaks, wraps or recodes the log around it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from secret_samples import ALNUM, IN_CONTEXT, TOKENS, pem

import neocode.logs
from neocode.logs import prepare, stream
from ptyproxy.redact import Redactor

REDACTOR = Redactor()
AKIA = "AKIA" + "IOSFODNN7EXAMPLE"
GHP = "ghp_" + ALNUM[:36]
LINES = [
    f"12:0{i % 10}:{i % 60:02d} {'ERROR connection refused' if i % 97 == 5 else 'INFO served'} /item/{i} in {i % 13} ms"
    for i in range(3000)
]
SECRETS = [*(s for secrets in TOKENS.values() for s in secrets), *(text for text, _ in IN_CONTEXT)]


@pytest.fixture(scope="module", autouse=True)
def _small_blocks() -> object:
    """Blocks and the limit for whole logs so small that a short log has many seams."""
    patch = pytest.MonkeyPatch()
    patch.setattr(stream, "BLOCK", 16 * 1024)
    patch.setattr(neocode.logs, "WHOLE", 4 * 1024)
    yield
    patch.undo()


def pieces_left(text: str, secret: str, size: int = 8) -> list[str]:
    """Parts of `secret` (without what is public about it) of `size` characters in a row that `text` still holds."""
    public = r"^[\w.]+\.com/(?:api/webhooks/)?|-----[A-Z ]+-----"
    text = re.sub(r"\[redacted:[a-z0-9-]+\]", "", text)
    hidden = re.sub(public, "\n", secret)
    parts = re.split(r"\\n|\n", hidden)
    return [p[i : i + size] for p in parts for i in range(max(0, len(p) - size + 1)) if p[i : i + size] in text]


def chunked(data: bytes, sizes: Callable[[], int]) -> Callable[[int], bytes]:
    """A read function that returns as little as it likes."""
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        piece = data[at : at + max(1, min(size, sizes()))]
        at += len(piece)
        return piece

    return read


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(LINES) - 1), st.sampled_from(range(len(TOKENS))), st.booleans())
def test_a_token_at_any_line_is_masked_or_left_out(line: int, kind: int, in_error: bool) -> None:
    secret = list(TOKENS.values())[kind][0]
    lines = LINES[:]
    lines[line] = f"{'ERROR' if in_error else 'x'} {lines[line]} {secret}"
    prepared = prepare("\n".join(lines), REDACTOR, 4096)
    assert pieces_left(prepared.text, secret) == []
    assert prepared.truncated
    assert prepared.masked == prepared.text.count("[redacted:")


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 60_000), st.sampled_from([AKIA, GHP, f"password={GHP[4:]}"]))
def test_a_token_at_any_byte_of_one_endless_line_is_masked(at: int, secret: str) -> None:
    """The seam of head and tail: a key astride byte 4,096 survived truncating first."""
    filler = "x" * at
    text = f"{filler} {secret} {'y' * (60_000 - at)}"
    prepared = prepare(text, REDACTOR, 4096)
    hidden = secret.removeprefix("password=")
    assert pieces_left(prepared.text, hidden) == []


@pytest.mark.parametrize(
    "at", [*range(4080, 4100, 2), *range(16 * 1024 - 24, 16 * 1024 + 4, 4), 8192, 12_288, 512, 1024]
)
@pytest.mark.parametrize("filler", ["x", "lorem ipsum, ", "é"])
def test_a_token_astride_a_seam_is_masked(at: int, filler: str) -> None:
    text = (filler * 70_000)[:at] + AKIA + (filler * 70_000)[:60_000]
    assert pieces_left(prepare(text, REDACTOR, 8192).text, AKIA) == []


@pytest.mark.parametrize("prefix", ["", "web_1  | ", "2024-05-01T12:00:00Z ", "> "])
@pytest.mark.parametrize("lines", [8, 700, 2500])
def test_a_key_whose_begin_line_is_left_out_is_masked(prefix: str, lines: int) -> None:
    """A private key with its BEGIN line in the dropped middle survived masking after truncation."""
    key = pem("RSA PRIVATE KEY", lines)
    body = "\n".join(prefix + line for line in key.split("\n"))
    for text in (f"{LINES[0]}\n" * 90 + body, "\n".join([*LINES[:1500], body, *LINES[1500:]]), body):
        prepared = prepare(text, REDACTOR, 4096)
        assert pieces_left(prepared.text, key, 12) == []
    cut = "\n".join(body.split("\n")[: lines // 2])  # and its END line never came
    assert pieces_left(prepare("\n".join([*LINES, cut]), REDACTOR, 4096).text, key, 12) == []


@pytest.mark.parametrize("width", [80, 97])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD=", "hunterhunter"),
        ("DB_PASSWORD=", "hUn7er2-pa55"),
        ("deploy --password ", "swordfishes"),
        ("export API_TOKEN=", "abcdefabcdefabcdef"),
        ("Authorization: Bearer ", "abcdefghijklmnopqrstu1"),
    ],
)
def test_a_name_broken_by_the_terminal_still_gives_its_secret_away(name: str, value: str, width: int) -> None:
    """Nothing but the line's width says that it was broken, and no other line has that width."""
    for cut in range(len(name) + len(value)):
        line = ("running with the settings that were given: " * 3)[: width - cut - 1] + f" {name}{value}"
        text = "\n".join([*(line[at : at + width] for at in range(0, len(line), width)), "done"])
        prepared = prepare(text, REDACTOR)
        assert value not in prepared.text.replace("\n", ""), (cut, prepared.text)
        assert prepared.masked == 1
        assert prepared.text.endswith("\ndone")


def test_a_key_in_one_endless_line_is_masked() -> None:
    key = pem("PRIVATE KEY", 900, "\\n")
    text = '{"log": "' + "word " * 9000 + '", "private_key": "' + key + '", "rest": "' + "word " * 9000 + '"}'
    assert pieces_left(prepare(text, REDACTOR, 4096).text, key, 12) == []


def wrap(line: str, width: int) -> list[str]:
    return [line[i : i + width] for i in range(0, len(line), width)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, len(LINES) - 1), st.integers(30, 100), st.sampled_from([80, 100, 120]))
def test_a_token_wrapped_by_the_terminal_is_masked(line: int, before: int, width: int) -> None:
    long = f"{'ERROR ' + 'x' * before} token {GHP} and {'words ' * 20}"
    lines = [piece for one in (*LINES[:line], long, *LINES[line:]) for piece in wrap(one, width)]
    for text in ("\n".join(lines), "\r\n".join(lines), "\n".join(wrap(long, width))):
        assert pieces_left(prepare(text, REDACTOR, 4096, width).text, GHP) == []
        if before + 20 < width:
            assert pieces_left(prepare(text, REDACTOR, 4096).text, GHP, 20) == []


@pytest.mark.parametrize("secret", ["cio" + ALNUM[:32], *(token for tokens in TOKENS.values() for token in tokens)])
def test_a_token_at_the_end_of_a_line_that_only_looks_wrapped_is_masked(secret: str) -> None:
    line = f"{'y' * 50} {secret}"
    text = prepare(f"{line}\nmore1text here failed\n{line}\n".encode(), REDACTOR).text
    assert pieces_left(text, secret) == []


@pytest.mark.parametrize("lines", [0, 3000])
@pytest.mark.parametrize(
    "disguised",
    [
        "AKIA\x1b[0mIOSFODNN7EXAMPLE",
        "AKIA\x1b[1;31mIOSF\x1b]0;title\x07ODNN7\x1b(BEXAMPLE",
        "x:\nxxxxIOSFODNN7EXAMPLE\rAKIA\n",
        "x:\nAKIAIOSFODNN7EXAMPLE\rAKIAI\n",
        "AKIAIOSFODNN7EXAMPLX\x08E",
        "AKIA\u200bIOSF\u2060ODNN7EXAMPLE",
        "AKIA\x00IOSFODNN7EXAMPLE",
        "A\x00K\x00I\x00A\x00I\x00O\x00S\x00F\x00O\x00D\x00N\x00N\x007\x00E\x00X\x00A\x00M\x00P\x00L\x00E\x00",
    ],
)
def test_a_token_in_disguise_is_masked(disguised: str, lines: int) -> None:
    """Sequences in the middle of a token hid it from a pattern that looked first."""
    text = "\n".join([*LINES[:lines], f"ERROR bad key {disguised} here", "end"])
    prepared = prepare(text, REDACTOR, 4096)
    assert pieces_left(prepared.text, AKIA, 10) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
@pytest.mark.parametrize("lines", [3, 3000])
def test_a_token_in_a_wide_encoding_is_masked(encoding: str, lines: int) -> None:
    data = "\r\n".join([*LINES[:lines], f"ERROR bad key {AKIA} gefällt nicht", "done"]).encode(encoding)
    prepared = prepare(data, REDACTOR, 4096)
    assert "ERROR bad key [redacted:aws-access-key] gefällt nicht\ndone" in prepared.text


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.lists(st.sampled_from(SECRETS), max_size=6))
def test_the_result_does_not_depend_on_how_the_log_was_read(seed: int, secrets: list[str]) -> None:
    rng = random.Random(seed)
    lines = LINES[: rng.choice([0, 50, 800, 3000])]
    for secret in secrets:
        lines.insert(rng.randrange(len(lines) + 1), f"{rng.choice(['ERROR ', '', '> '])}{secret}")
    text = rng.choice(["\n", "\r\n", "\r"]).join(lines)
    data = text.encode(rng.choice(["utf-8", "utf-8", "utf-16"]))
    whole = prepare(data, REDACTOR, 4096)
    cuts = rng.choice([1 if len(data) < 20_000 else 997, 64 * 1024, 4096])
    assert prepare(chunked(data, lambda: rng.randint(1, cuts)), REDACTOR, 4096) == whole
    for secret in secrets:
        if secret in SECRETS[: -len(IN_CONTEXT)]:
            assert pieces_left(whole.text, secret, 12) == []


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), st.sampled_from([b"error\n", b"\r", b"\n", b"\x00", b"x" * 5000])),
        max_size=30,
    )
)
def test_any_bytes_become_text_within_the_limit(parts: list[bytes]) -> None:
    data = b"".join(parts)
    for limit in (0, 1, 100, 4096):
        prepared = prepare(chunked(data, lambda: 7), REDACTOR, limit)
        assert len(prepared.text.encode()) <= limit
        assert prepared.total_bytes == len(data)
        assert all(c in "\n\t" or c.isprintable() or ord(c) > 0x9F for c in prepared.text)
