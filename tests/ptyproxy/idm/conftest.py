"""A home of its own with its gateway for each test, and a model that is scripted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_openai import FakeServer, fake_server
from seat import Home


@pytest.fixture
def home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="neo") as path:
        neo = Home(Path(path))
        try:
            yield neo
        finally:
            neo.close()


@pytest.fixture
def model(home: Home) -> Iterator[FakeServer]:
    with fake_server() as server:
        home.use_model(server.url)
        yield server
