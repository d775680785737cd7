"""`neocode doctor` on set-ups that are broken in one way or in all of them; inside and beside a running shell."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import NeoHome
from seat import SHELL_PROMPT, Home

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys, modes"), pytest.mark.timeout(120)]


def checks(home: NeoHome, *arguments: str, code: int, env: dict[str, str] | None = None) -> list[dict[str, Any]]:
    done = home.run("doctor", "--json", *arguments, env=env)
    assert done.returncode == code, done.stdout
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["ok"] is (code == 0)
    assert found["ok"] is not any(check["status"] == "broken" for check in found["checks"])
    for check in found["checks"]:
        assert set(check) == {"name", "status", "what", "do"}
        assert "\n" not in check["what"]
        assert check["do"] or check["status"] == "ok", check
    return list(found["checks"])


def of(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(check for check in found if check["name"] == name)


def test_a_new_user_has_nothing_broken_and_nothing_is_made_or_started(home: NeoHome) -> None:
    found = checks(home, code=0)
    assert {"neocode", "python", "packages", "terminal", "shell", "hotkey", "home", "gateway", "provider"} <= {
        check["name"] for check in found
    }
    assert list(home.path.iterdir()) == []


def test_the_text_says_what_to_change_below_each_finding(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text("provider: nobody\n")
    done = home.run("doctor")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("broken  config"))
    assert "nobody" in lines[at]
    assert lines[at + 1].strip().startswith("-> ")
    assert lines[-1].startswith("1 broken, ")


def test_everything_broken_at_once(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o755)
    (home.dir / "config.yaml").write_text(": : [\n")
    (home.dir / "state").mkdir(mode=0o777)
    (home.dir / "state" / "ask.db").write_bytes(b"no database at all" * 100)
    (home.dir / "auth.json").symlink_to("/etc/passwd")
    (home.dir / "run").mkdir()
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(home.dir / "run" / "gateway.sock"))
    dead.close()
    (home.path / ".bashrc").symlink_to(home.path / ".bashrc")
    found = checks(home, code=1, env={"TERM": "dumb", "LANG": "xx_YY.UTF-8", "LC_ALL": "xx_YY.UTF-8"})
    assert of(found, "config")["status"] == "broken"
    assert "config.yaml" in of(found, "config")["what"]
    assert of(found, "permissions")["status"] == "broken"
    assert f"chmod 700 {home.dir}" in [check["do"] for check in found]
    assert of(found, "token")["what"].endswith("is a symlink")
    assert "damaged" in of(found, "store")["what"]
    assert of(found, "gateway")["status"] == "ok"  # a stale socket is replaced when one is needed
    assert of(found, "locale")["status"] == "warn"
    assert of(found, "python")["status"] == "ok"


@pytest.mark.parametrize("where", ["/proc/neocode", "/dev/null/x"])
def test_a_home_that_cannot_be_written(home: NeoHome, where: str) -> None:
    found = checks(home, code=1, env={"NEOCODE_HOME": where})
    assert of(found, "home")["status"] == "broken"
    assert "NEOCODE_HOME" in of(found, "home")["do"]


def test_without_a_home_directory(home: NeoHome) -> None:
    found = checks(home, code=1, env={"HOME": "not/absolute"})
    assert "not an absolute path" in of(found, "permissions")["what"]
    assert of(found, "python")["status"] == "ok"


def test_the_gateway_that_runs_and_the_one_that_hangs(home: NeoHome) -> None:
    home.run("diag", "--error-log", "bash: gti: command not found")
    pid = int(str(home.status()["pid"]))
    found = checks(home, code=0)
    assert str(pid) in of(found, "gateway")["what"]
    os.kill(pid, signal.SIGSTOP)
    try:
        found = checks(home, code=1)
        assert of(found, "gateway")["status"] == "broken"
        assert of(found, "gateway")["do"]
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_key_that_only_this_shell_has_but_not_the_gateway(home: NeoHome) -> None:
    home.run("diag", "--error-log", "bash: gti: command not found")
    home.run(
        "provider", "add", "far", "--base-url", "https://api.example.com/v1", "--model", "m", "--api-key-env", "FAR_KEY"
    )
    home.run("use", "far")
    found = checks(home, code=1, env={"FAR_KEY": "secret-value"})
    assert "started without FAR_KEY" in of(found, "key")["what"]
    assert "neocode gateway restart" in of(found, "key")["do"]
    assert "secret-value" not in str(found)
    home.run("gateway", "restart", env={"FAR_KEY": "secret-value"})
    found = checks(home, code=0)
    assert of(found, "key")["what"] == "the gateway has FAR_KEY"


def test_a_provider_that_does_not_answer_is_called_only_online(home: NeoHome) -> None:
    home.run("provider", "add", "near", "--base-url", "http://127.0.0.1:9/v1", "--model", "m")
    home.run("use", "near")
    assert of(checks(home, code=0), "provider test")["what"] == "not called"
    assert of(checks(home, "--online", code=1), "provider test")["status"] == "broken"


def test_beside_a_shell_whose_integration_works(shell_home: Home) -> None:
    with shell_home.shell() as seat:
        seat.run("true")
        found = checks(shell_home, code=0)
        assert of(found, "integration")["what"].startswith("seen in shell-")
        assert of(found, "hotkey")["what"] == "ctrl-g"


def test_the_line_that_replaces_the_shell_is_named(shell_home: Home) -> None:
    """aws/amazon-q-developer-cli#2114: a doctor has to name the cause and the line to change."""
    bashrc = shell_home.path / ".bashrc"
    bashrc.write_text("# mine\nPS1='me:$ '\nexport PS1\nexec sh\n")
    with shell_home.shell() as seat:
        seat.until_last(SHELL_PROMPT)
        seat.type("echo inside\r")
        seat.until(lambda: "inside" in seat.lines(), "its output")
        found = checks(shell_home, code=1)
        assert of(found, "integration")["status"] == "broken"
        assert f"{bashrc}:4" in of(found, "start-up file")["what"]


def test_a_hotkey_of_the_users_own_stays_theirs_and_its_line_is_named(shell_home: Home) -> None:
    inputrc = shell_home.path / ".inputrc"
    inputrc.write_text('"\\C-g": "mine"\n')
    with shell_home.shell() as seat:
        seat.run("true")
        seat.type(b"\x07")
        seat.until_last(f"{SHELL_PROMPT} mine")
        found = checks(shell_home, code=0)
        assert f"{inputrc}:1" in of(found, "hotkey")["what"]


def test_a_shell_without_integration_says_why(shell_home: Home) -> None:
    with shell_home.shell("--no-integration") as seat:
        seat.until_last(SHELL_PROMPT)
        seat.until(lambda: any(Path(shell_home.dir, "run").glob("shell-*/status")), "the shell's facts")
        assert "switched off" in of(checks(shell_home, code=0), "integration")["what"]
