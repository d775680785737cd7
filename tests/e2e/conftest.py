"""One home, and so one gateway, per test; short paths, since a socket's path has a limit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli import NeoHome, neo_home
from seat import Home


@pytest.fixture
def home() -> Iterator[NeoHome]:
    with neo_home() as home:
        yield home


@pytest.fixture
def shell_home() -> Iterator[Home]:
    """A home whose bash has the prompt that `seat` waits for."""
    with tempfile.TemporaryDirectory(prefix="neo") as path:
        home = Home(Path(path))
        try:
            yield home
        finally:
            home.close()
