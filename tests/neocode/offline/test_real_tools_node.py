"""The messages of the real npm and node lead to their rules. Registries are closed ports of this machine or names under
`.invalid`, which never resolve."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("npm") is None or shutil.which("node") is None, reason="no node here; the recorded logs are cases"
)

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command in `tmp_path` with npm's files below it; both outputs as one text."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "npm_config_cache": str(tmp_path / "cache"),
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "0",
        "NO_COLOR": "1",
    }

    def call(*argv: str) -> str:
        done = subprocess.run(
            argv, cwd=tmp_path, env=env, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    return call


def _first(rules: Any, log: str, **facts: Any) -> Any:
    found = rules.log(log, **facts)
    assert found, log
    return found[0]


def test_npm_and_a_registry_that_refuses(run: Run, rules: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connecting to it is refused
        port = taken.getsockname()[1]
        log = run("npm", "install", "foo", "--registry", f"http://127.0.0.1:{port}/")
    found = _first(rules, log)
    assert found.rule_id == "npm-econnrefused"
    assert f"curl -v http://127.0.0.1:{port}/" in found.check


def test_npm_and_a_registry_without_address(run: Run, rules: Any) -> None:
    found = _first(rules, run("npm", "install", "foo", "--registry", "http://nope.invalid/"))
    assert found.rule_id == "npm-dns"


def test_npm_outside_of_a_project(run: Run, rules: Any) -> None:
    assert _first(rules, run("npm", "run", "build")).rule_id == "npm-no-package-json"


def test_npm_and_a_mistyped_command(run: Run, rules: Any) -> None:
    found = _first(rules, run("npm", "instal2"))
    assert (found.rule_id, found.fix) == ("npm-unknown-command", ("npm install",))


@pytest.mark.parametrize(
    ("package_json", "argv", "rule"),
    [
        ('{"name":"x","scripts":{"build":"true"}}', ["npm", "run", "bild"], "npm-missing-script"),
        ('{"name":"x"}', ["npm", "ci"], "npm-ci-lock"),
        ('{"name":"x",}', ["npm", "install"], "npm-json-parse"),
        ('{"name":"x","scripts":{"nf":"nopecmd"}}', ["npm", "run", "nf"], "sh-command-not-found"),
    ],
)
def test_npm_in_a_project(package_json: str, argv: list[str], rule: str, run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package_json)
    log = run(*argv)
    found = [fault.rule_id for fault in rules.log(log)]
    if rule == "sh-command-not-found" and found[:1] == ["bash-command-not-found"]:
        found = [rule]  # where sh is bash
    assert found[:1] == [rule], log


@pytest.mark.parametrize(
    ("name", "code", "rule"),
    [
        ("a.js", 'require("express")', "node-module-not-found"),
        ("a.mjs", 'import x from "express"', "node-module-not-found"),
        ("a.js", 'require("./nope.js")', "node-file-not-found"),
        ("a.mjs", 'import x from "./nope.js"', "node-file-not-found"),
        ("a.mjs", 'const x = require("fs")', "node-esm-in-cjs"),
        ("a.js", "let a = ;", "node-syntax-error"),
        ("a.js", "null.x", "node-type-error"),
        ("a.js", "undefinedName", "node-type-error"),
        ("a.js", "function f() { f() }\nf()", "node-stack-overflow"),
        ("a.js", "Promise.reject(1)", "node-unhandled-rejection"),
        ("a.js", 'require("fs").readFileSync("/nope/x")', "node-enoent"),
        ("a.js", 'require("child_process").spawn("nope-program")', "node-spawn-enoent"),
        (
            "a.js",
            'const n = require("net"); const s = n.createServer().listen(0, "127.0.0.1",'
            ' () => n.createServer().listen(s.address().port, "127.0.0.1"))',
            "node-eaddrinuse",
        ),
        (
            "a.js",
            'const n = require("net"); const s = n.createServer().listen(0, "127.0.0.1", () => {'
            " const p = s.address().port; s.close(() => n.connect(p, '127.0.0.1')) })",
            "node-econnrefused",
        ),
    ],
)
def test_node_and_a_faulty_program(name: str, code: str, rule: str, run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / name).write_text(code)
    log = run("node", name)
    assert _first(rules, log).rule_id == rule, log


def test_node_without_its_script(run: Run, rules: Any) -> None:
    assert _first(rules, run("node", "nope.js")).rule_id == "node-file-not-found"


def test_node_and_an_unknown_option(run: Run, rules: Any) -> None:
    assert _first(rules, run("node", "--nope")).rule_id == "node-bad-option"


def test_node_out_of_heap(run: Run, rules: Any) -> None:
    log = run("node", "--max-old-space-size=20", "-e", "let a=[];while(1)a.push(new Array(1e5).fill(1))")
    assert _first(rules, log).rule_id == "node-heap"
