"""The messages of this Python and its pip lead to their rules. No network: pip gets no index."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run this Python in `tmp_path` with `argv`; both outputs as one text."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    if sys.platform == "win32":
        env["SYSTEMROOT"] = os.environ["SYSTEMROOT"]

    def call(*argv: str) -> str:
        done = subprocess.run(
            [sys.executable, *argv],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return (done.stdout + done.stderr).decode("utf-8", "replace")

    return call


def _first(rules: Any, log: str, **facts: Any) -> Any:
    found = rules.log(log, **facts)
    assert found, log
    return found[0]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import zz_not_there", "py-module-not-found"),
        ("import os.nope", "py-submodule-not-found"),
        ("from os import nope", "py-cannot-import-name"),
        ("from . import x", "py-relative-import"),
        ('print "x"', "py-print-statement"),
        ("if 1:\npass", "py-indentation"),
        ("if 1:\n  a\n b", "py-indentation"),
        ("if 1:\n\ta=1\n        b=2", "py-indentation"),
        ("x = (1", "py-syntax-error"),
        ('{}["k"]', "py-key-error"),
        ('import os\nos.environ["NOPE"]', "py-environ-key"),
        ("[][1]", "py-index-error"),
        ("None.x", "py-none-attribute"),
        ("None()", "py-none-attribute"),
        ('"".nope', "py-attribute-error"),
        ('1 + "a"', "py-type-error"),
        ("def f(a): 0\nf()", "py-missing-argument"),
        ('int("x")', "py-value-error"),
        ("a, b = 1, 2, 3", "py-value-error"),
        ("nope", "py-name-error"),
        ("def f():\n  return x\n  x = 1\nf()", "py-name-error"),
        ("1 / 0", "py-zero-division"),
        ('open("nope/x")', "py-file-not-found"),
        ('b"\\xff".decode()', "py-unicode-decode"),
        ('"\\u20ac".encode("ascii")', "py-unicode-encode"),
        ("def f(): f()\nf()", "py-recursion"),
        ('import json\njson.loads("{a")', "py-json-decode"),
        ('import subprocess\nsubprocess.run(["nope-program"])', "py-subprocess-not-found"),
        ("import asyncio\nasync def f(): asyncio.run(asyncio.sleep(0))\nasyncio.run(f())", "py-asyncio-running-loop"),
    ],
)
def test_python_and_a_faulty_program(code: str, rule: str, run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(code + "\n", "utf-8")
    log = run("s.py")
    assert _first(rules, log).rule_id == rule, log


def test_a_module_that_imports_itself(run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from b import x\n")
    (tmp_path / "b.py").write_text("from a import y\nx = 1\n")
    assert _first(rules, run("a.py")).rule_id == "py-circular-import"


def test_a_port_in_use_and_a_port_that_refuses(run: Run, rules: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused = run("-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))")
        taken.listen()
        in_use = run("-c", f"import socket; socket.socket().bind(('127.0.0.1', {port}))")
    assert "refused" in _first(rules, refused).cause.lower()
    assert "in use" in _first(rules, in_use).cause.lower()


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid"), reason="POSIX permissions")
def test_a_directory_opened_as_a_file(run: Run, rules: Any) -> None:
    assert _first(rules, run("-c", "open('/')")).rule_id == "py-is-a-directory"


def test_python_without_its_script(run: Run, rules: Any) -> None:
    assert _first(rules, run("nope.py")).rule_id == "py-cannot-open-file"


def test_python_without_its_module(run: Run, rules: Any) -> None:
    assert _first(rules, run("-m", "zz_not_there")).rule_id == "py-dash-m-missing"


@pytest.mark.parametrize(
    ("argv", "rule"),
    [
        (["install", "zz-not-there"], "pip-no-matching"),
        (["install", "zz-not-there==1.0"], "pip-no-matching"),
        (["install", "-r", "nope.txt"], "pip-requirements-missing"),
        (["install", "."], "pip-not-installable"),
        (["install", "-r", "bad.txt"], "pip-invalid-requirement"),
        (["instal"], "pip-unknown-command"),
    ],
)
def test_pip_and_a_wrong_command(argv: list[str], rule: str, run: Run, rules: Any, tmp_path: Path) -> None:
    if "No module named pip" in run("-m", "pip", "--version"):
        pytest.skip("this Python has no pip; its recorded logs are cases")
    (tmp_path / "bad.txt").write_text("==1\n")
    log = run("-m", "pip", *argv)
    assert _first(rules, log).rule_id == rule, log


def test_an_argparse_program_called_wrongly(run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('name')\np.parse_args()\n"
    )
    assert _first(rules, run("tool.py")).rule_id == "argparse-required"
    assert _first(rules, run("tool.py", "x", "--nope")).rule_id == "pytest-unknown-argument"


def test_pytest_called_wrongly(run: Run, rules: Any, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(nope): pass\n")
    assert (
        _first(rules, run("-m", "pytest", "-p", "no:cacheprovider", "test_x.py")).rule_id == "pytest-fixture-not-found"
    )
    assert _first(rules, run("-m", "pytest", "nope.py")).rule_id == "pytest-path-not-found"
