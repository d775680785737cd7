"""The messages of the real git, in real repositories, lead to their rules. No network: remotes are directories or a
closed port of this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed; its recorded logs are cases")

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git in `tmp_path/repo` (or `cwd=`) with a config of its own; both outputs as one text."""
    config = tmp_path / "config"
    config.write_text(
        "[user]\n\tname = n\n\temail = a@b\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n"
    )
    env = {
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(tmp_path),
        "GIT_CONFIG_GLOBAL": str(config),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "false",
        "LC_ALL": "C.UTF-8",
    }
    (tmp_path / "repo").mkdir()

    def run(*argv: str, cwd: str = "repo", **extra: str) -> str:
        done = subprocess.run(
            ["git", *argv],
            cwd=tmp_path / cwd,
            env={**env, **extra},
            capture_output=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    return run


@pytest.fixture
def repo(git: Git, tmp_path: Path) -> Git:
    """A repository with one commit on main, pushed to a bare one."""
    git("init", "-q", "--bare", "../remote.git")
    git("init", "-q")
    (tmp_path / "repo" / "f").write_text("1\n")
    git("add", "f")
    git("commit", "-qm", "one")
    git("remote", "add", "origin", "../remote.git")
    git("push", "-q", "-u", "origin", "main")
    return git


def _commit(git: Git, directory: Path, text: str) -> None:
    (directory / "f").write_text(text)
    git("commit", "-qam", text.strip(), cwd=directory.name)


def _first(rules: Any, log: str, **facts: Any) -> Any:
    found = rules.log(log, **facts)
    assert found, log
    return found[0]


def test_outside_of_a_repository(git: Git, rules: Any) -> None:
    assert _first(rules, git("status")).rule_id == "git-not-a-repository"


def test_a_mistyped_subcommand(git: Git, rules: Any) -> None:
    found = _first(rules, git("stauts"), command="git stauts")
    assert (found.rule_id, found.fix) == ("git-unknown-subcommand", ("git status",))


def test_no_identity(git: Git, rules: Any, tmp_path: Path) -> None:
    git("init", "-q")
    (tmp_path / "config").write_text("[user]\n\tuseConfigOnly = true\n")
    assert _first(rules, git("commit", "--allow-empty", "-m", "x")).rule_id == "git-identity-unknown"


@pytest.mark.parametrize(
    ("argv", "rule", "fix"),
    [
        (["checkout", "nope"], "git-pathspec", "git fetch --all"),
        (["add", "nope"], "git-add-no-file", ""),
        (["switch", "nope"], "git-invalid-reference", "git fetch --all --tags"),
        (["merge", "nope"], "git-invalid-reference", "git fetch --all --tags"),
        (["rebase", "nope"], "git-invalid-reference", "git fetch --all --tags"),
        (["diff", "nope"], "git-invalid-reference", "git fetch --all --tags"),
        (["cherry-pick", "nope"], "git-invalid-reference", "git fetch --all --tags"),
        (["branch", "main"], "git-branch-exists", "git switch main"),
        (["remote", "add", "origin", "x"], "git-remote-exists", "git remote set-url origin URL"),
        (["push", "origin", "nope"], "git-src-refspec", "git push --set-upstream origin HEAD"),
        (["push", "nowhere", "main"], "git-remote-not-found", "git remote set-url origin URL"),
        (["clone", "/nope/x"], "git-remote-not-found", "git remote set-url origin URL"),
        (["commit", "--foo"], "git-unknown-option", ""),
        (["commit", "-m", "x"], "git-nothing-to-commit", "git add -A"),
        (["commit", "--allow-empty"], "git-editor-failed", "git config --global core.editor nano"),
        (["clone", "../remote.git", "../repo"], "git-destination-exists", "git -C ../repo pull"),
        (["worktree", "add", "../other", "main"], "git-branch-checked-out-elsewhere", ""),
    ],
)
def test_a_wrong_command_in_a_repository(argv: list[str], rule: str, fix: str, repo: Git, rules: Any) -> None:
    found = _first(rules, repo(*argv), command="git " + " ".join(argv), exit_code=1)
    assert found.rule_id == rule
    assert not fix or fix in found.fix


def test_a_branch_without_upstream(repo: Git, rules: Any) -> None:
    repo("switch", "-qc", "fix/x")
    found = _first(rules, repo("push"))
    assert (found.rule_id, found.fix) == ("git-no-upstream", ("git push --set-upstream origin fix/x",))
    assert _first(rules, repo("pull")).rule_id == "git-no-tracking"


def test_a_detached_head(repo: Git, rules: Any) -> None:
    repo("checkout", "-q", "HEAD~0")
    assert _first(rules, repo("push")).rule_id == "git-not-on-a-branch"


def test_a_repository_without_remote_and_without_commits(git: Git, rules: Any) -> None:
    git("init", "-q")
    assert _first(rules, git("log")).rule_id == "git-no-commits"
    assert _first(rules, git("push")).rule_id == "git-push-no-destination"


@pytest.fixture
def diverged(repo: Git, tmp_path: Path) -> Git:
    """`repo` one commit behind and one ahead of its remote, in the same line."""
    repo("clone", "-q", "remote.git", "other", cwd=".")
    _commit(repo, tmp_path / "other", "theirs\n")
    repo("push", "-q", cwd="other")
    _commit(repo, tmp_path / "repo", "ours\n")
    return repo


def test_a_push_that_would_overwrite(diverged: Git, rules: Any) -> None:
    found = _first(rules, diverged("push"))
    assert (found.rule_id, found.fix) == ("git-push-rejected", ("git pull --rebase", "git push"))


def test_divergent_branches(diverged: Git, rules: Any) -> None:
    assert _first(rules, diverged("pull", "--ff-only")).rule_id == "git-diverged"


def test_a_merge_conflict_and_what_follows(diverged: Git, rules: Any) -> None:
    found = _first(rules, diverged("pull", "--no-rebase"))
    assert found.rule_id == "git-merge-conflict"
    assert "git add f" in found.fix
    assert _first(rules, diverged("commit", "-m", "x")).rule_id == "git-unmerged-files"


def test_a_rebase_conflict(diverged: Git, rules: Any) -> None:
    assert _first(rules, diverged("pull", "--rebase")).rule_id == "git-rebase-conflict"


def test_changes_that_would_be_lost(diverged: Git, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "repo" / "f").write_text("unsaved\n")
    assert _first(rules, diverged("checkout", "HEAD~1")).rule_id == "git-local-changes-overwritten"
    assert _first(rules, diverged("pull", "--rebase")).rule_id == "git-unstaged-changes"


def test_a_branch_that_is_not_merged(repo: Git, rules: Any, tmp_path: Path) -> None:
    repo("switch", "-qc", "o")
    _commit(repo, tmp_path / "repo", "2\n")
    repo("switch", "-q", "main")
    assert _first(rules, repo("branch", "-d", "o")).rule_id == "git-branch-not-merged"


def test_a_stale_lock(repo: Git, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git" / "index.lock").touch()
    found = _first(rules, repo("add", "f"))
    assert found.rule_id == "git-index-lock"
    assert found.fix[-1].startswith("rm ")


def test_a_server_that_refuses(repo: Git, rules: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connecting to it is refused
        log = repo("clone", f"http://127.0.0.1:{taken.getsockname()[1]}/x.git")
    assert _first(rules, log).rule_id == "git-unable-to-access"
