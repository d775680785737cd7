"""Writing: what is not changed stays byte for byte, the file is whole at any moment, writers take turns."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.config.file import HEADER, load_config, update_config
from neocode.config.yamledit import edited
from neocode.config.yamltext import dump, parse
from neocode.errors import ConfigError, UsageError

BEFORE = """\
%YAML 1.2
---
# my settings, kept in dotfiles
provider:   home     # the one at home

providers:
    # at home
    home:
        base_url:   "http://127.0.0.1:11434/v1"   # ollama
        model: 'qwen3'
        future_key: [1,2 , 3]   # from a newer version

    # the office
    work:
        base_url: https://example.org/v1
        model: >-
            folded
        api_key_env:      # to be filled in


# the daemon
gateway: {idle_timeout_sec: 300}   # seconds
unknown:   {a: 1,b: 2}
redact:
  patterns:
  - 'foo.*'   # mine

# the end
"""


def read(path: Path) -> str:
    return path.read_bytes().decode()


def use(name: str) -> Any:
    def mutate(data: Any) -> None:
        data["provider"] = name

    return mutate


@pytest.mark.parametrize(
    ("mutate", "old", "new"),
    [
        (use("work"), "provider:   home     # the", "provider:   work     # the"),
        (
            lambda data: data["providers"]["home"].update(model="a: b"),
            "model: 'qwen3'\n",
            "model: 'a: b'\n",
        ),
        (
            lambda data: data["providers"]["home"].update(idle_timeout_sec=5.5),
            "3]   # from a newer version\n",
            "3]   # from a newer version\n        idle_timeout_sec: 5.5\n",
        ),
        (
            lambda data: data["providers"]["work"].update(api_key_env="KEY"),
            "api_key_env:      # to",
            "api_key_env: KEY      # to",
        ),
        (
            lambda data: data["providers"].update(third={"model": "m", "base_url": "http://h/v1"}),
            "# to be filled in\n",
            "# to be filled in\n    third:\n      model: m\n      base_url: http://h/v1\n",
        ),
        (
            lambda data: data["providers"].pop("home"),
            BEFORE[BEFORE.index("    home:") : BEFORE.index("\n    # the office")],
            "",
        ),
        (
            lambda data: data["providers"].pop("work"),
            BEFORE[BEFORE.index("    work:") : BEFORE.index("\n\n# the daemon")],
            "",
        ),
        (lambda data: data["redact"].update(patterns=["a", "b#"]), "  - 'foo.*'   # mine\n", "  - a\n  - b#\n"),
        (lambda data: data.update(ask={"max_concurrent": 2}), "# mine\n", "# mine\nask:\n  max_concurrent: 2\n"),
        (lambda data: None, "", ""),
    ],
)
def test_an_edit_touches_only_its_own_lines(mutate: Any, old: str, new: str) -> None:
    assert BEFORE.count(old) == 1 or old == ""
    assert edited(BEFORE, mutate, "x") == BEFORE.replace(old, new)


def test_a_file_in_flow_style_is_laid_out_anew_with_its_comment() -> None:
    text = "# mine\n{provider: home, providers: {home: {base_url: 'http://h/v1', model: m}}}\n"
    result = edited(text, lambda data: data["providers"]["home"].update(model="n"), "x")
    assert parse(result, "x")["providers"]["home"]["model"] == "n"
    assert "# mine" in result


def test_windows_line_ends_are_kept(config_path: Path) -> None:
    text = BEFORE.replace("\n", "\r\n")
    config_path.write_bytes(text.encode())
    update_config(use("work"))
    assert read(config_path) == text.replace("provider:   home", "provider:   work")


def test_the_first_write_makes_a_private_file(config_path: Path) -> None:
    loaded = update_config(lambda data: data.update(ask={"max_concurrent": 2}))
    assert loaded.config.ask.max_concurrent == 2
    assert read(config_path) == HEADER + "ask:\n  max_concurrent: 2\n"
    if sys.platform != "win32":
        assert stat.S_IMODE(config_path.stat().st_mode) == 0o600


def test_a_write_narrows_the_mode_and_reports_unknown_keys(config_path: Path) -> None:
    config_path.write_text(BEFORE)
    config_path.chmod(0o644)
    warnings = update_config(use("work")).warnings
    assert [line.removeprefix(f"{config_path}: ") for line in warnings] == [
        "unknown key providers.home.future_key",
        "unknown key unknown",
    ]
    if sys.platform != "win32":
        assert stat.S_IMODE(config_path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "mutate",
    [
        use("nobody"),
        lambda data: data.update(ask={"max_concurrent": 0}),
        lambda data: data["providers"]["home"].update(api_key_env="sk-123"),
    ],
)
def test_what_would_not_load_is_not_written(config_path: Path, mutate: Any) -> None:
    config_path.write_text(BEFORE)
    with pytest.raises(ConfigError):
        update_config(mutate)
    assert read(config_path) == BEFORE


def test_a_mutation_that_raises_leaves_the_file_alone(config_path: Path) -> None:
    def mutate(data: Any) -> None:
        data["provider"] = "work"
        raise UsageError("no")

    config_path.write_text(BEFORE)
    with pytest.raises(UsageError):
        update_config(mutate)
    assert read(config_path) == BEFORE


def test_a_wrong_value_can_be_mended_by_an_update(config_path: Path) -> None:
    config_path.write_text("provider: gone\n")
    assert update_config(use("offline")).config.provider == "offline"


@pytest.mark.skipif(sys.platform == "win32", reason="symlinks need a privilege there")
def test_a_symlink_stays_and_its_target_is_written(config_path: Path, tmp_path: Path) -> None:
    """As dotfile managers such as stow lay it out."""
    target = tmp_path / "dotfiles" / "neocode.yaml"
    target.parent.mkdir()
    target.write_text(BEFORE)
    config_path.symlink_to(target)
    update_config(use("work"))
    assert config_path.is_symlink()
    assert "provider:   work" in read(target)
    assert sorted(path.name for path in target.parent.iterdir()) == ["neocode.yaml"]


CHILD = """
import os, sys
from neocode.config.file import update_config
from neocode.errors import NeocodeError
name, times = sys.argv[1], int(sys.argv[2])
def mutate(data):
    data.setdefault("providers", {})[name] = {"base_url": "http://h/v1", "model": str(number)}
try:
    for number in range(times):
        update_config(mutate)
        print(number, flush=True)
except NeocodeError as error:
    print(error.one_line())
"""


def child(name: str, times: int, prologue: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", prologue + CHILD, name, str(times)], stdout=subprocess.PIPE, text=True
    )


def test_two_writers_at_once_lose_nothing(config_path: Path) -> None:
    writers = [child(name, 12) for name in ("one", "two")]
    seen: set[str] = set()
    while any(writer.poll() is None for writer in writers):
        seen |= set(load_config().config.providers)  # a reader never meets half a file
    for writer in writers:
        output, _ = writer.communicate(timeout=30)
        assert output.split() == [str(number) for number in range(12)]
    assert {name: entry.model for name, entry in load_config().config.providers.items()} == {"one": "11", "two": "11"}


@pytest.fixture
def killed(config_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A writer that hangs with half of the new file on the disk."""
    config_path.write_text(BEFORE)
    prologue = (
        "import os\n"
        "def hang(descriptor):\n"
        "    os.ftruncate(descriptor, 10)\n"
        "    print('writing', flush=True)\n"
        "    import threading; threading.Event().wait(50)\n"
        "os.fsync = hang\n"
    )
    process = child("x", 1, prologue)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_writer_killed_in_the_middle_leaves_the_old_file_and_no_lock(
    config_path: Path, killed: subprocess.Popen[str]
) -> None:
    assert killed.stdout is not None
    assert killed.stdout.readline() == "writing\n"
    assert read(config_path) == BEFORE
    assert len(list(config_path.parent.glob(".config.yaml.*"))) == 1
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=10)
    started = time.monotonic()
    update_config(use("work"))
    assert time.monotonic() - started < 4  # it did not wait for the dead one's lock
    assert "provider:   work" in read(config_path)
    assert list(config_path.parent.glob(".config.yaml.*")) == []


def test_a_writer_that_hangs_is_named_after_a_while(
    config_path: Path, killed: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neocode.filewrite.LOCK_WAIT_SEC", 0.2)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "writing\n"
    with pytest.raises(ConfigError, match="held by another neocode command"):
        update_config(use("work"))
    assert read(config_path) == BEFORE


@pytest.mark.skipif(sys.platform == "win32", reason="RLIMIT_FSIZE")
def test_a_full_disk_leaves_the_old_file(config_path: Path) -> None:
    config_path.write_text(BEFORE)
    prologue = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    output, _ = child("x", 1, prologue).communicate(timeout=30)
    assert output.startswith(f"cannot write {config_path}: file too large; nothing was changed")
    assert output.count("\n") == 1
    assert read(config_path) == BEFORE
    assert list(config_path.parent.glob(".config.yaml.*")) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux")
def test_no_space_left_is_one_line(config_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real ENOSPC, from the kernel's own full device."""
    config_path.write_text(BEFORE)
    opened = os.open("/dev/full", os.O_WRONLY)
    monkeypatch.setattr("neocode.filewrite.create_private", lambda path: opened)
    with pytest.raises(ConfigError, match="no space left on device"):
        update_config(use("work"))
    assert read(config_path) == BEFORE


def test_a_home_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        update_config(use("offline"), tmp_path / "file" / "config.yaml")
    assert "\n" not in caught.value.one_line()


keys = st.sampled_from(["a", "b", "c d", "5", "null", "x: y", "#", "é", "- z"])
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=8)
trees = st.dictionaries(
    keys,
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)


@given(trees, trees)
def test_an_edit_always_gives_exactly_the_wanted_mapping(before: dict[str, Any], wanted: dict[str, Any]) -> None:
    def mutate(data: Any) -> None:
        data.clear()
        data.update(wanted)

    text = "# top\n" + (dump(before) if before else "") + "# end\n"
    assert parse(edited(text, mutate, "x"), "x") == parse(dump(wanted) if wanted else "", "x")
