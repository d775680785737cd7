"""The messages of the real bash, dash, zsh and fish lead to their rules."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CASES = [
    # (shell, command, rule, a fix among those shown or "")
    ("bash", "gtti", "bash-command-not-found", ""),
    ("bash", "./noexec.sh", "shell-permission-denied", "chmod +x ./noexec.sh"),
    ("bash", "./missing.sh", "shell-no-such-program-file", ""),
    ("bash", "cd nope", "cd-no-such-directory", ""),
    ("bash", "cd noexec.sh", "cd-not-a-directory", ""),
    ("bash", "cat nope.txt", "file-not-found", ""),
    ("bash", "cat adir", "is-a-directory", ""),
    ("bash", "rm adir", "is-a-directory", "rm -ri adir"),
    ("bash", "cp adir other", "is-a-directory", "cp -r adir DESTINATION"),
    ("bash", "mkdir adir", "file-exists", "mkdir -p adir"),
    ("bash", "rmdir full", "directory-not-empty", "rm -ri full"),
    ("bash", "ls --foo", "invalid-option", ""),
    ("bash", "read -z", "bash-builtin-invalid-option", ""),
    ("bash", 'echo "abc', "bash-unmatched-quote", ""),
    ("bash", "echo )", "bash-syntax-near-token", ""),
    ("bash", "if true; then echo", "bash-unexpected-end", ""),
    ("bash", "set -u; echo $UNDEFINED_V", "shell-unbound-variable", "export UNDEFINED_V=VALUE"),
    ("bash", "export FOO = bar", "shell-not-an-identifier", "export NAME=VALUE"),
    ("bash", "echo ${x!}", "shell-bad-substitution", ""),
    ("bash", "[ 1 -eq a ]", "bash-test-operator", ""),
    ("bash", "bash crlf.sh", "script-crlf", "sed -i 's/\\r$//' crlf.sh"),
    ("bash", "./badint.sh", "bad-interpreter", ""),
    ("bash", "./badenv.sh", "env-program-missing", ""),
    ("bash", "./badelf", "exec-format-error", ""),
    ("bash", "kill -0 4194303", "kill-no-such-process", ""),
    ("bash", "/bin/true $(seq 500000)", "argument-list-too-long", ""),
    ("bash", "tar xf nope.tgz", "tar-cannot-open", ""),
    ("bash", "tar xzf noexec.sh", "tar-not-gzip", ""),
    ("bash", "find . -nme x", "find-unknown-predicate", ""),
    ("bash", "sed s/a noexec.sh", "sed-bad-expression", ""),
    ("dash", "gtti", "sh-command-not-found", ""),
    ("ksh", "gtti", "sh-command-not-found", ""),
    ("mksh", "gtti", "sh-command-not-found", ""),
    ("dash", "source x", "sh-source-not-found", "bash SCRIPT"),
    ("dash", "[[ a == b ]]", "sh-bashism", "bash SCRIPT"),
    ("dash", "if true; then echo", "sh-syntax-error", ""),
    ("dash", 'echo "abc', "unmatched-quote", ""),
    ("dash", "cd nope", "cd-no-such-directory", ""),
    ("zsh", "gtti", "zsh-command-not-found", ""),
    ("zsh", "./noexec.sh", "zsh-permission-denied", "chmod +x ./noexec.sh"),
    ("zsh", "./missing.sh", "zsh-no-such-file", ""),
    ("zsh", "cd nope", "zsh-fish-cd-no-such-directory", ""),
    ("zsh", "ls *.nomatch", "zsh-no-matches", ""),
    ("zsh", "a && && b", "zsh-parse-error", ""),
    ("zsh", "./crlfbang.sh", "script-crlf", "sed -i 's/\\r$//' ./crlfbang.sh"),
    ("fish", "gtti", "fish-command-not-found", ""),
    ("fish", "./noexec.sh", "fish-not-executable", "chmod +x ./noexec.sh"),
    ("fish", "cd nope", "zsh-fish-cd-no-such-directory", ""),
    ("fish", "if true; then echo", "fish-syntax-error", "bash -c 'COMMAND'"),
    ("fish", 'echo "abc', "unmatched-quote", ""),
]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory with the files that the commands stumble over."""
    (tmp_path / "adir").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    (tmp_path / "noexec.sh").write_text("echo hi\n")
    (tmp_path / "crlf.sh").write_bytes(b"echo hi\r\nls\r\n")
    for name, content in {
        "crlfbang.sh": b"#!/bin/bash\r\necho hi\r\n",
        "badint.sh": b"#!/usr/bin/nopython\nx\n",
        "badenv.sh": b"#!/usr/bin/env nopython\nx\n",
        "badelf": b"\x7fELF" + bytes(60),
    }.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX shells")
@pytest.mark.parametrize(("shell", "command", "rule", "fix"), CASES)
def test_a_real_shell_message_gives_the_rule(
    shell: str, command: str, rule: str, fix: str, workplace: Path, rules: Any
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; its recorded log is a case")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(workplace), "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    run = subprocess.run(
        [shell, "-c", command],
        cwd=workplace,
        capture_output=True,
        timeout=30,
        env=env,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    log = (run.stdout + run.stderr).decode("utf-8", "replace")
    kind = "sh" if shell in ("dash", "ksh", "mksh") else shell
    found = rules.log(log, shell=kind, exit_code=run.returncode or None)
    assert found, log
    assert found[0].rule_id == rule, log
    assert not fix or fix in found[0].fix
