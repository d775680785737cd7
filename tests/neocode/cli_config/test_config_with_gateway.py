"""The commands that ask the gateway, and the ones that tell a running one what changed: real daemon, real HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import NeoHome


@pytest.fixture
def key_file(home: NeoHome) -> Path:
    path = home.path / "key"
    path.write_text("secret-key\n")
    path.chmod(0o600)
    return path


def add(home: NeoHome, endpoint: str, *more: str) -> None:
    done = home.run("provider", "add", "work", "--base-url", endpoint, "--model", "small", *more)
    assert done.returncode == 0, done.stderr


def test_a_provider_is_tested_and_its_models_listed_by_the_daemon(home: NeoHome, endpoint: str, key_file: Path) -> None:
    add(home, endpoint, "--api-key-file", str(key_file))
    tested = home.run("provider", "test", "work")
    assert (tested.returncode, tested.stderr) == (0, "")
    assert tested.stdout.startswith("work: ")
    listed = home.run("model", "list", "--provider", "work")
    assert sorted(listed.stdout.splitlines()) == ["  large", "* small"]
    assert sorted(json.loads(home.run("model", "list", "--provider", "work", "--json").stdout)) == ["large", "small"]


def test_a_wrong_key_and_a_missing_variable_are_one_line_each(home: NeoHome, endpoint: str, key_file: Path) -> None:
    key_file.write_text("another-key\n")
    add(home, endpoint, "--api-key-file", str(key_file))
    wrong = home.run("provider", "test", "work")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (1, "", 1)
    assert "another-key" not in wrong.stderr
    add(home, endpoint, "--api-key-env", "NOT_IN_THE_DAEMON", "--force")
    missing = home.run("provider", "test", "work", env={"NOT_IN_THE_DAEMON": "secret-key"})
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert "NOT_IN_THE_DAEMON" in missing.stderr
    unknown = home.run("provider", "test", "wrok")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
    assert "wrok" in unknown.stderr


def test_the_offline_rules_can_be_tested_without_any_file(home: NeoHome) -> None:
    done = home.run("provider", "test")
    assert done.returncode == 0, done.stderr
    assert "offline" in done.stdout


def test_a_running_gateway_takes_a_change_at_once(home: NeoHome, endpoint: str) -> None:
    home.run("provider", "test")  # starts it
    pid = home.status()["pid"]
    add(home, endpoint)
    used = home.run("use", "work")
    assert (used.returncode, used.stderr) == (0, "")
    status = home.status()
    assert (status["pid"], status["provider"], status["model"]) == (pid, "work", "small")


def test_a_gateway_that_does_not_answer_is_a_warning_and_the_file_is_written(home: NeoHome) -> None:
    import socket

    home.dir.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(home.path / "mute.sock"))
        mute.listen(1)
        done = home.run("--gateway", str(home.path / "mute.sock"), "config", "set", "ask.max_concurrent", "3")
    assert (done.returncode, done.stdout) == (0, "ask.max_concurrent = 3\n")
    assert done.stderr.startswith("neocode: warning: the running gateway has not taken the change: ")
    assert done.stderr.count("\n") == 1
    assert "max_concurrent: 3" in (home.dir / "config.yaml").read_text()
