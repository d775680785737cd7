"""One model server for the whole session. A package that is missing on Linux is an error, not a skip."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from model_server import ModelServer, model_server


@pytest.fixture(scope="session")
def model() -> Iterator[ModelServer]:
    if sys.platform != "linux":
        pytest.skip("the model server is a test dependency on Linux only")
    with model_server() as running:
        yield running
