"""Through a real sshd to another shell and back: what happened there is one command here, and ours go on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from fake_openai import chunk, fake_server, sse
from seat import SHELL_PROMPT, Home

SSHD = "/usr/sbin/sshd"

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="ptys"),
    pytest.mark.skipif(not os.access(SSHD, os.X_OK) or shutil.which("ssh") is None, reason="no sshd here"),
    pytest.mark.timeout(120),
]


def configure(home: Home) -> None:
    """Keys for both sides; sshd is started by ssh itself, on a pipe, so that no port is needed."""
    for name in ("host", "me"):
        done = subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home.path / name], check=False)
        assert done.returncode == 0
    if os.getuid() == 0:
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)  # where root's sshd locks its children in
    (home.path / "sshd.conf").write_text(
        f"HostKey {home.path}/host\nAuthorizedKeysFile {home.path}/me.pub\n"
        "StrictModes no\nUsePAM no\nPrintMotd no\nPrintLastLog no\n"
    )
    (home.path / "ssh.conf").write_text(
        f"Host far\nProxyCommand {SSHD} -i -f {home.path}/sshd.conf\nIdentityFile {home.path}/me\n"
        f"StrictHostKeyChecking no\nUserKnownHostsFile {home.path}/known\nLogLevel ERROR\nRequestTTY force\n"
        "RemoteCommand env PS1='far$ ' bash --norc\n"
    )


def test_records_are_right_after_a_visit_to_another_machine(shell_home: Home) -> None:
    """Marks of the remote shell (kitty's ssh kitten, fish 4) end nothing here: warpdotdev/warp#2317."""
    configure(shell_home)
    with fake_server() as server, shell_home.shell("--no-auto") as seat:
        shell_home.use_model(server.url)
        seat.run("echo before")
        seat.type("ssh -F ssh.conf far\r")
        seat.until_last("far$")
        seat.type("ech remote\r")
        seat.until(lambda: "bash: ech: command not found" in seat.lines() and seat.last == "far$", "its error")
        seat.type("printf '\\e]133;D;0\\a\\e]133;A\\a\\e]7;file://elsewhere/etc\\a'\r")
        seat.until(lambda: b"\x1b]7;file://elsewhere/etc\x07" in seat.raw and seat.last == "far$", "its marks")
        seat.type("exit 3\r")
        seat.until_last(SHELL_PROMPT)
        seat.run("echo after; pwd")

        def answer(connection) -> None:  # type: ignore[no-untyped-def]
            connection.head()
            connection.send(sse(chunk("Because."), chunk(finish="stop")))

        server.script(answer)
        seat.run("@ai what was that")
        seat.until_shown("Because.")
        asked = str(server.requests[-1].json["messages"])
    assert "$ echo before" in asked
    assert "$ ssh -F ssh.conf far" in asked
    assert "ech: command not found" in asked
    assert "$ echo after; pwd" in asked
    assert asked.count("$ echo after") == 1
    assert "/etc" not in asked.partition("$ echo after")[2].partition("what was that")[0]
