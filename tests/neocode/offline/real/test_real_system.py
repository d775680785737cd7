"""What apt, dpkg, systemctl, ssh, the shell and the C library really print."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


def is_root() -> bool:
    return bool(getattr(os, "geteuid", lambda: 1)() == 0)


def test_a_package_that_apt_does_not_know_is_searched(tools: Any) -> None:
    if not is_root():
        pytest.skip("apt asks for root before it looks for the package")
    fault = tools.expect("apt-no-package", ["apt-get", "install", "-y", "--no-download", "frobnicate-nope"])
    assert fault.check[0] == "apt-cache search frobnicate-nope"


def test_a_misspelt_apt_command_is_told(tools: Any) -> None:
    tools.expect("apt-invalid-operation", ["apt-get", "instal"])


def test_a_file_that_is_no_package_is_told(tools: Any) -> None:
    tools.write({"tool.deb": "<html>404</html>\n"})
    tools.expect("dpkg-not-archive", ["dpkg-deb", "--info", "tool.deb"])


def test_systemctl_without_systemd_is_told(tools: Any) -> None:
    if Path("/run/systemd/system").exists():
        pytest.skip("systemd runs here")
    tools.expect("systemd-not-booted", ["systemctl", "start", "nginx"])


def test_a_refused_ssh_port_is_told(tools: Any, closed_port: int) -> None:
    fault = tools.expect("ssh-refused", ["ssh", "-p", str(closed_port), "-o", "BatchMode=yes", "127.0.0.1", "true"])
    assert f"port {closed_port}" in fault.cause


def test_a_key_that_others_can_read_is_closed(tools: Any) -> None:
    tools.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"])
    (tools.directory / "key").chmod(0o644)
    assert tools.expect("ssh-key-too-open", ["ssh-keygen", "-y", "-f", "key"]).fix == ("chmod 600 key",)


def test_an_unknown_option_in_the_ssh_config_is_told(tools: Any) -> None:
    tools.write({"config": "IdentityFil x\n"})
    tools.expect("ssh-config", ["ssh", "-F", "config", "127.0.0.1"])


def test_ssh_add_without_an_agent_is_told(tools: Any) -> None:
    tools.expect("ssh-no-agent", ["ssh-add", "-l"])


SHELL = [
    ("sys-disk-full", "cat /etc/passwd > disk; cp disk /dev/full"),
    ("sys-open-files", "ulimit -n 16; exec bash -c 'for i in {3..40}; do eval \"exec $i</dev/null\"; done'"),
    ("sys-symlink-loop", "ln -s a b; ln -s b a; cat a"),
    ("sys-name-too-long", "touch " + "x" * 300),
    ("sys-killed", "sh -c 'kill -9 $$'; false"),
    ("sys-segfault", "sh -c 'kill -SEGV $$'; false"),
    ("sys-abort", "sh -c 'kill -ABRT $$'; false"),
]


@pytest.mark.parametrize(("rule", "script"), SHELL, ids=[rule for rule, _ in SHELL])
def test_the_shell_gives_the_rule(rule: str, script: str, tools: Any) -> None:
    tools.expect(rule, ["bash", "-c", script])


def test_a_broken_heap_is_told_by_the_c_library(tools: Any) -> None:
    tools.write({"a.c": "#include <stdlib.h>\nint main(void){char*p=malloc(8);free(p);free(p);return 0;}\n"})
    tools.run(["gcc", "-w", "a.c", "-o", "prog"])
    tools.expect("sys-abort", ["bash", "-c", "./prog; exit $?"])


def test_memory_that_is_refused_is_told(tools: Any) -> None:
    tools.write({"a.cpp": "int main(int c, char**) { return *new char[(1UL << 60) + c]; }\n"})
    tools.run(["g++", "-w", "a.cpp", "-o", "prog"])
    tools.expect("sys-no-memory", ["bash", "-c", "./prog; exit $?"])


@pytest.mark.parametrize(("number", "rule"), [(9, "sys-exit-137"), (11, "sys-exit-139")])
def test_a_silent_death_is_told_by_its_exit_code(number: int, rule: str, tools: Any) -> None:
    tools.expect(rule, ["python3", "-c", f"import os; os.kill(os.getpid(), {number})"])
