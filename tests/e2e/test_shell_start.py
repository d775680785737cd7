"""What the user's first prompt waits for: which modules are imported before it, and before the shell is started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from seat import SHELL_PROMPT, Home, Seat

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="ptys"), pytest.mark.timeout(120)]

RUNNER = Path(__file__).parent.parent / "support" / "prompt_runner.py"
HEAVY = {
    "rich", "openai", "prompt_toolkit", "pyte", "msgspec", "asyncio", "ruamel", "httpx", "psutil", "markdown_it",
    "argparse", "json", "pathlib", "subprocess", "logging", "inspect", "ssl", "socket", "tempfile", "sqlite3",
    "hashlib", "selectors", "multiprocessing", "concurrent", "email", "importlib.metadata", "importlib.resources",
    "dataclasses",
}  # fmt: skip
OURS = ("neocode", "ptyproxy", "ringbuffer", "conpty")
# what may be there when the shell is started; whatever else comes while it starts
OURS_AT_SPAWN = {
    "neocode", "neocode.cli", "neocode.cli.main", "neocode.cli.shell_cmd", "neocode.errors", "neocode.shell",
    "neocode.shell.default_shell", "neocode.shell.launch", "neocode.shell.settings", "neocode.userdir",
    "ptyproxy", "ptyproxy.integration", "ptyproxy.integration.base", "ptyproxy.integration.bash",
    "ptyproxy.integration.plan", "ptyproxy.options", "ptyproxy.platform",
    "ptyproxy.platform.base", "ptyproxy.platform.unix", "ptyproxy.platform.unix_inherited",
    "ptyproxy.platform.unix_signals", "ptyproxy.platform.unix_tty", "ptyproxy.proxy", "ptyproxy.session",
    "ptyproxy.platform.unix_writer",  # the runner's own doing
}  # fmt: skip
PUMP = {
    "ptyproxy.pump", "ptyproxy.pump_base", "ptyproxy.tap_guard", "ptyproxy.late_tap", "ptyproxy.child_input",
    "ptyproxy.child_output", "ptyproxy.end_of_input", "ptyproxy.shell_end", "ptyproxy.platform.unix_poller",
    "ptyproxy.platform.unix_writer",
}  # fmt: skip


def first_prompt(home: Home, *arguments: str) -> dict[str, set[str]]:
    """The modules at the spawn and at the first prompt."""
    report = home.path / "report"
    command = [sys.executable, "-I", str(RUNNER), str(report), "shell", "--shell", "/bin/bash", *arguments]
    seat = Seat(command, home.env, home.path)
    try:
        seat.until_last(SHELL_PROMPT)
        seat.type("exit\r")
        assert seat.status() == 0
    finally:
        seat.close()
    lines = [line.split() for line in report.read_text().splitlines()]
    report.unlink()
    return {words[0]: set(words[1:]) for words in lines}


def heavy(modules: set[str]) -> set[str]:
    return {name for name in modules if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_nothing_heavy_is_imported_before_the_first_prompt(shell_home: Home) -> None:
    found = first_prompt(shell_home)
    assert heavy(found["prompt"]) == set()


def test_only_what_starts_the_shell_is_imported_before_it_is_started(shell_home: Home) -> None:
    found = first_prompt(shell_home)
    ours = {
        name for name in found["spawn"] if name.partition(".")[0] in ("neocode", "ptyproxy", "ringbuffer", "conpty")
    }
    assert ours <= OURS_AT_SPAWN


def test_a_configuration_file_is_no_reason_to_wait(shell_home: Home) -> None:
    """It is read by a child once after each change; what that found is kept."""
    shell_home.dir.mkdir()
    (shell_home.dir / "config.yaml").write_text("shell:\n  hotkey: ctrl-t\ndiag:\n  auto: false\n  ignore: [ech]\n")
    stored = shell_home.dir / "state" / "shell-options"
    for _ in range(5):  # what was just written is not kept: it may be written again within a tick of the clock
        assert heavy(first_prompt(shell_home)["prompt"]) <= {"subprocess", "selectors"}  # to run the child
        if stored.exists():
            break
    assert stored.read_text().splitlines()[1:] == ["auto 0", "marker 1", "hotkey ctrl-t", "ring_kib 1024", "ignore ech"]
    assert heavy(first_prompt(shell_home)["prompt"]) == set()


def test_a_changed_configuration_is_noticed(shell_home: Home) -> None:
    shell_home.run("config", "set", "diag.auto", "false")
    first_prompt(shell_home)
    with shell_home.shell() as seat:
        seat.run("ech silent")
        seat.run("true")
        assert not any(row == "Cause" for row in seat.scrollback())
    shell_home.run("config", "set", "diag.auto", "true")
    with shell_home.shell() as seat:
        seat.run("ech loud")
        seat.until_shown("named ech")


def test_what_looks_at_the_bytes_is_imported_after_the_first_prompt(shell_home: Home) -> None:
    found = first_prompt(shell_home)
    late = {name for name in found["prompt"] - found["spawn"] if name.partition(".")[0] in OURS}
    assert late <= PUMP


def test_every_module_that_is_imported_late_is_a_step_of_its_own() -> None:
    """Otherwise a step would import several, and a byte would wait for all of them."""
    program = """if True:
        import sys
        from importlib import import_module
        import ptyproxy.proxy, ptyproxy.pump
        from ptyproxy.late_tap import MODULES
        for name in MODULES:
            before = set(sys.modules)
            import_module(name)
            new = {each for each in set(sys.modules) - before if each.startswith(("ptyproxy", "ringbuffer"))}
            packages = {name.rpartition(".")[0]}
            assert new <= {name} | packages, (name, new)
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
