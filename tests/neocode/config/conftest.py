"""A configuration file in a home of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def config_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of config.yaml; its directory is there, the file is not."""
    home = tmp_path / "neo"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("NEOCODE_HOME", str(home))
    return home / "config.yaml"
