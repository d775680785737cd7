"""Every byte arrives, in both directions, unchanged and in order, whatever the chunking."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outer import RUNNER, Outer

Start = Callable[..., Outer]
RAW_CAT = ["/bin/sh", "sh", "-c", "stty raw -echo; printf READY; exec cat"]


@pytest.fixture(scope="module", params=[(), ("--selectors",)], ids=["epoll", "selectors"])
def echo(request: pytest.FixtureRequest) -> Iterator[Outer]:
    """A child whose terminal is raw and that gives back every byte."""
    with Outer([*RUNNER, *request.param, *RAW_CAT]) as outer:
        outer.expect(b"READY")
        yield outer


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(min_size=1, max_size=600), min_size=1, max_size=8))
def test_any_bytes_in_any_chunks_come_back_as_they_were(echo: Outer, chunks: list[bytes]) -> None:
    for chunk in chunks:
        echo.send(chunk)
        echo.step(0)
    whole = b"".join(chunks)
    assert echo.expect_bytes(len(whole)) == whole


@pytest.mark.parametrize("size", [1, 511, 512, 4095, 4096, 4097, 16384, 65537, 262144])
def test_a_chunk_of_every_size_comes_back(echo: Outer, size: int) -> None:
    data = random.Random(size).randbytes(size)
    echo.send(data)
    assert echo.expect_bytes(size) == data


def test_characters_and_sequences_cut_at_any_byte_pass(echo: Outer) -> None:
    """jupyter/terminado#183: a decoder per read fails at a character cut by the end of the read;
    davidbeesley/claude-chill#34: a wrapper that eats mode sets breaks bracketed paste."""
    text = (
        "│日本🌍" + "\x1b[?2004h\x1b]0;名\x07\x1bPq\x1b\\\x1b[>1u\x9c\x1bc"
    ).encode() + b"\xff\xfe\x00\x03\x04\x1a\x1c"
    for cut in range(1, len(text)):
        echo.send(text[:cut])
        assert echo.expect_bytes(cut) == text[:cut]
        echo.send(text[cut:])
        assert echo.expect_bytes(len(text) - cut) == text[cut:]


FLOOD = """
import os, random, sys, tty
tty.setraw(1)
source = random.Random(5)
for _ in range(400):
    data = source.randbytes(source.choice((1, 3, 100, 511, 512, 4096, 5000, 40000)))
    while data:
        data = data[os.write(1, data):]
"""


def flood() -> bytes:
    """What the program prints."""
    source = random.Random(5)
    return b"".join(source.randbytes(source.choice((1, 3, 100, 511, 512, 4096, 5000, 40000))) for _ in range(400))


def test_output_in_writes_of_every_size_arrives_whole(start: Start) -> None:
    outer = start(sys.executable, "python", "-I", "-S", "-c", FLOOD)
    assert hashlib.sha256(outer.finish()).digest() == hashlib.sha256(flood()).digest()


SIP = """
import hashlib, os, sys, tty
tty.setraw(0)
os.write(1, b"READY")
left, digest = int(sys.argv[1]), hashlib.sha256()
while left:
    data = os.read(0, 7)
    left -= len(data)
    digest.update(data)
os.write(1, digest.hexdigest().encode())
"""


def test_input_through_short_writes_arrives_whole(start: Start) -> None:
    """kirodotdev/KiroCrew#6563: the count that a write returns was ignored and the tail of a paste vanished. A reader
    that takes 7 bytes at a time makes writes of ours short ones."""
    data = random.Random(1).randbytes(200_000)
    outer = start(sys.executable, "python", "-I", "-S", "-c", SIP, str(len(data)))
    outer.expect(b"READY")
    outer.send(data)
    outer.expect(hashlib.sha256(data).hexdigest().encode())
    assert outer.status() == 0
