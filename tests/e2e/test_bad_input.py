"""Homes, configs, stores and tokens as bad as they come: one line, the right exit code, and what can work works."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from cli import NeoHome

from neocode.ask.store import STORE_FILE

LOG = "bash: gti: command not found"
DIAG = ("diag", "--error-log", LOG)


def one_line(stderr: str) -> str:
    assert len(stderr.splitlines()) == 1, stderr
    assert "Traceback" not in stderr
    return stderr


def test_a_home_that_is_unset_is_found_or_named(home: NeoHome) -> None:
    del home.env["HOME"]
    home.env["NEOCODE_HOME"] = str(home.dir)
    assert home.run(*DIAG).returncode == 0


def test_a_home_that_cannot_hold_a_directory_is_named(home: NeoHome) -> None:
    done = home.run(*DIAG, env={"HOME": "/proc/nowhere"})
    assert done.returncode == 2
    assert "/proc" in one_line(done.stderr)


def test_a_home_that_is_a_file_is_named(home: NeoHome, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = home.run(*DIAG, env={"HOME": str(tmp_path / "file")})
    assert done.returncode == 2
    one_line(done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="pipes have no path there")
def test_a_home_too_long_for_a_socket_moves_the_socket_and_says_so(home: NeoHome) -> None:
    deep = home.path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="run") as runtime:
        env = {"HOME": str(deep), "XDG_RUNTIME_DIR": runtime}
        done = home.run(*DIAG, env=env)
        stopped = home.run("gateway", "stop", env=env)
    assert done.returncode == 0
    assert runtime in one_line(done.stderr)
    assert "stopped" in stopped.stdout


def test_a_config_that_is_no_yaml_names_file_and_line(home: NeoHome) -> None:
    home.dir.mkdir()
    (home.dir / "config.yaml").write_text("provider: offline\nask: [1,\n")
    done = home.run(*DIAG)
    assert done.returncode == 2
    line = one_line(done.stderr)
    assert "config.yaml" in line
    assert "line" in line


def test_a_running_gateway_keeps_the_config_it_had(home: NeoHome) -> None:
    home.run(*DIAG)
    pid = home.status()["pid"]
    (home.dir / "config.yaml").write_text("provider: [")
    assert home.status()["pid"] == pid
    (home.dir / "config.yaml").unlink()
    assert home.run(*DIAG).returncode == 0
    assert home.status()["pid"] == pid


def test_a_corrupt_store_is_moved_aside_and_the_answer_given(home: NeoHome) -> None:
    home.run(*DIAG)
    home.run("gateway", "stop")
    state = home.dir / "state"
    (state / STORE_FILE).write_bytes(b"not a database at all" * 100)
    done = home.run(*DIAG)
    assert done.returncode == 0
    assert any("corrupt" in path.name for path in state.iterdir())


def test_a_token_file_that_is_a_symlink_is_refused(home: NeoHome) -> None:
    home.run(*DIAG)
    home.run("gateway", "stop")
    token = home.dir / "auth.json"
    token.rename(home.path / "elsewhere")
    token.symlink_to(home.path / "elsewhere")
    done = home.run(*DIAG)
    assert done.returncode in (2, 4)
    assert "auth.json" in one_line(done.stderr)


def test_a_token_file_with_a_second_name_is_refused(home: NeoHome) -> None:
    home.run(*DIAG)
    home.run("gateway", "stop")
    os.link(home.dir / "auth.json", home.path / "second")
    done = home.run(*DIAG)
    assert done.returncode in (2, 4)
    assert "auth.json" in one_line(done.stderr)


def test_somebody_else_listening_at_the_address_is_unreachable(home: NeoHome) -> None:
    home.run(*DIAG)
    home.run("gateway", "stop")
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(home.path / "mute.sock"))
        mute.listen(8)
        done = home.run(*DIAG, "--gateway", str(home.path / "mute.sock"), timeout=90)
    assert done.returncode == 4
    one_line(done.stderr)


def test_files_of_ours_are_the_users_alone(home: NeoHome) -> None:
    old = os.umask(0)
    try:
        home.run(*DIAG)
        home.run("config", "set", "ask.max_log_bytes", "8192")
    finally:
        os.umask(old)
    for path in [home.dir, *home.dir.rglob("*")]:
        mode = path.stat().st_mode & 0o777
        assert mode & 0o077 == 0, f"{path} {mode:o}"
