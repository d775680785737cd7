"""What a configuration file may hold, and the one line that says what is wrong with it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neocode.config import Config, LoadedConfig, ProviderConfig
from neocode.config.file import MAX_CONFIG_BYTES, load_config
from neocode.errors import ConfigError

GOOD = """\
provider: work
providers:
  work:
    base_url: http://127.0.0.1:11434/v1
    model: qwen3
    api_key_env: WORK_KEY
    idle_timeout_sec: 45
gateway:
  idle_timeout_sec: 0
ask:
context:
  ask:
    retain_turns: 7
redact:
  patterns: ['internal-\\d+']
"""


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return path


def line_of(path: Path) -> str:
    """The error's line, without the path."""
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    line = caught.value.one_line()
    assert str(path) in line
    return line.replace(str(path), "FILE")


def test_no_file_means_defaults(config_path: Path) -> None:
    assert load_config() == LoadedConfig(Config())


def test_a_good_file(config_path: Path) -> None:
    loaded = load_config(written(config_path, GOOD))
    assert loaded.warnings == ()
    assert loaded.config.provider == "work"
    assert loaded.config.providers["work"] == ProviderConfig(
        base_url="http://127.0.0.1:11434/v1", model="qwen3", api_key_env="WORK_KEY", idle_timeout_sec=45.0
    )
    assert loaded.config.gateway.idle_timeout_sec == 0
    assert loaded.config.context.ask.retain_turns == 7
    assert loaded.config.redact.patterns == ("internal-\\d+",)
    assert load_config() == loaded


@pytest.mark.parametrize(
    "text", ["", "\n", "# only a comment\n", "---\n", "null\n", "{}\n", "providers:\n  # none yet\n"]
)
def test_a_file_without_settings_means_defaults(config_path: Path, text: str) -> None:
    assert load_config(written(config_path, text)) == LoadedConfig(Config())


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    ],
    ids=["crlf", "utf-8 bom", "utf-16", "utf-16-be"],
)
def test_what_windows_editors_save_is_read(config_path: Path, encode: object) -> None:
    assert load_config(written(config_path, encode(GOOD))).config.provider == "work"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("colour: blue\n", "unknown key colour"),
        ("ask:\n  max_log_byte: 5\n", "unknown key ask.max_log_byte; did you mean max_log_bytes?"),
        ("context:\n  ask:\n    turns: 5\n", "unknown key context.ask.turns"),
        (GOOD + "1: x\n", "unknown key 1"),
        (
            GOOD.replace("api_key_env", "api_key").replace("WORK_KEY", "sk-1234"),
            "unknown key providers.work.api_key; a key is never read from here: use api_key_env or api_key_file",
        ),
    ],
)
def test_an_unknown_key_is_a_warning_that_names_it(config_path: Path, text: str, warning: str) -> None:
    warnings = load_config(written(config_path, text)).warnings
    assert [line.replace(str(config_path), "FILE") for line in warnings] == [f"FILE: {warning}"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("provider: [\n", "FILE, line 2: not valid YAML: "),
        ("a: b: c\n", "FILE, line 1: not valid YAML: mapping values are not allowed"),
        ("provider: x\n\tprovider: y\n", "FILE, line 2: not valid YAML: "),
        ("provider: a\nproviders:\nprovider: b\n", 'FILE, line 3: not valid YAML: found duplicate key "provider"'),
        ("a: *nobody\n", "FILE, line 1: not valid YAML: found undefined alias"),
        (
            "a: !!python/object/apply:os.system [id]\n",
            "FILE, line 1: not valid YAML: could not determine a constructor",
        ),
        ("--- a\n--- b\n", "FILE, line 2: not valid YAML: but found another document"),
        ("%YAML 9.x\n---\na: b\n", "FILE, line 1: not valid YAML: "),
        ("a: 2024-99-99\n", "FILE: not valid YAML: ValueError"),
        ("- a\n- b\n", "FILE: expected keys and values, got list"),
        ("just words\n", "FILE: expected keys and values, got str"),
        ("[" * 20_000, "FILE: nested too deeply"),
        ("provider: \x07\n", "FILE: not valid YAML: "),
        (b"a: \xff\xfe\n", "FILE, line 1: not UTF-8 text"),
        (b"a: 1\n\x89PNG\r\n\x1a\n", "FILE, line 2: not UTF-8 text"),
        (b"a: 1\nb: \x00\n", "FILE, line 2: holds a NUL character"),
        (b"a: " + b"x" * MAX_CONFIG_BYTES, "FILE is bigger than 64 KiB"),
    ],
)
def test_what_is_no_yaml_is_named_with_file_and_line(config_path: Path, text: str | bytes, line: str) -> None:
    assert line_of(written(config_path, text)).startswith(line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ask: 5\n", "ask: expected keys and values, got int"),
        ("ask:\n  max_log_bytes: much\n", "ask.max_log_bytes: expected int, got str"),
        ("ask:\n  max_log_bytes: '5000'\n", "ask.max_log_bytes: expected int, got str"),
        ("ask:\n  max_concurrent: true\n", "ask.max_concurrent: expected int, got bool"),
        ("ask:\n  max_concurrent: 0\n", "ask.max_concurrent: expected int >= 1"),
        ("ask:\n  max_log_bytes: 10000000\n", "ask.max_log_bytes: expected int <= 524288"),
        ("ask:\n  max_age_days: 0\n", "ask.max_age_days: expected float > 0.0"),
        ("context:\n  ask:\n    retain_turns: 0\n", "context.ask.retain_turns: expected int >= 1"),
        ("gateway:\n  idle_timeout_sec: -1\n", "gateway.idle_timeout_sec: expected float >= 0.0"),
        ("gateway:\n  idle_timeout_sec: .nan\n", "gateway.idle_timeout_sec: expected float >= 0.0"),
        ("gateway:\n  idle_timeout_sec: .inf\n", "gateway.idle_timeout_sec: expected float <= "),
        ("provider: 5\n", "provider: expected str, got int"),
        ("provider: nobody\n", "provider: no provider is named 'nobody'; known: offline"),
        ("providers: []\n", "providers: expected keys and values, got list"),
        ("providers:\n  work: x\n", "providers.work: expected keys and values, got str"),
        ("providers:\n  work:\n", "providers.work.base_url: missing"),
        ("providers:\n  work:\n    base_url: http://h/v1\n", "providers.work.model: missing"),
        (
            GOOD.replace("kind", "x").replace("    model", "    kind: grpc\n    model"),
            "providers.work.kind: invalid enum value",
        ),
        (GOOD.replace("45", "0"), "providers.work.idle_timeout_sec: expected float > 0.0"),
        (GOOD.replace("http:", "ftp:"), "providers.work.base_url: expected http://HOST... or https://HOST..."),
        (GOOD.replace("http://127", "http://u:p@127"), "providers.work.base_url: holds credentials"),
        (GOOD.replace("/v1", "/v1?key=abc"), "providers.work.base_url: ends before ? and #"),
        (GOOD.replace("/v1", "/v1?api-version=2024-10-21&key=abc"), "providers.work.base_url: ends before ? and #"),
        (GOOD.replace("127.0.0.1", "h\\x"), "providers.work.base_url: a URL holds no spaces, backslashes"),
        (GOOD.replace(":11434", ":99999"), "providers.work.base_url: not a URL"),
        (GOOD.replace("WORK_KEY", "WORK KEY"), "providers.work.api_key_env: not the name of an environment variable"),
        (GOOD.replace("  work:", "  offline:"), "providers.offline: the name offline is reserved"),
        (GOOD.replace("  work:", "  'a b':"), "providers.a b: a provider's name is"),
        ("redact:\n  patterns: x\n", "redact.patterns: expected array, got str"),
        ("redact:\n  patterns: ['a', '(']\n", "redact.patterns: number 2 is no regular expression"),
    ],
)
def test_a_wrong_value_is_named_by_its_dotted_key(config_path: Path, text: str, line: str) -> None:
    assert line_of(written(config_path, text)).startswith(f"FILE: {line}")


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcDEF123456",
        "sk_live_51HxyzABCDEFGHIJKLMN",
        "gsk_abcdEFGH1234567890abcdEFGH",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "ghp_1234567890abcdefghijABCDEFGHIJ123456",
        "3f2a9c0d8e7b6a5f4e3d2c1b0a9f8e7d",
        "hf_abcdefghijklmnop1234",
    ],
)
def test_a_key_in_place_of_a_variables_name_is_refused_and_not_repeated(config_path: Path, key: str) -> None:
    line = line_of(written(config_path, GOOD.replace("WORK_KEY", key)))
    assert key not in line
    assert "--api-key-env NAME" in line
    assert "--api-key-file PATH" in line


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "OPENAI_API_KEY_2", "openai_key", "K", "MY_VERY_LONG_ORGANISATION_OPENAI_KEY_2024"]
)
def test_ordinary_variable_names_are_not_taken_for_keys(config_path: Path, name: str) -> None:
    assert (
        load_config(written(config_path, GOOD.replace("WORK_KEY", name))).config.providers["work"].api_key_env == name
    )


@pytest.mark.parametrize("file", ["/home/me/.keys/openai-2024-production-key", "~/key", "openai-production-key-2024"])
def test_ordinary_file_names_are_not_taken_for_keys(config_path: Path, file: str) -> None:
    text = GOOD.replace("api_key_env: WORK_KEY", f"api_key_file: {file}")
    assert load_config(written(config_path, text)).config.providers["work"].api_key_file == file


def test_azures_api_version_may_stand_in_the_base_url(config_path: Path) -> None:
    url = "https://me.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21"
    text = GOOD.replace("http://127.0.0.1:11434/v1", url)
    assert load_config(written(config_path, text)).config.providers["work"].base_url == url


def test_shared_settings_by_anchor_are_allowed(config_path: Path) -> None:
    text = "providers:\n  a: &a\n    model: m\n    base_url: http://h/v1\n  b:\n    <<: *a\n    model: n\n"
    assert load_config(written(config_path, text)).config.providers["b"] == ProviderConfig(
        base_url="http://h/v1", model="n"
    )


@pytest.mark.parametrize("merge", [False, True])
def test_an_alias_bomb_is_refused_at_once(config_path: Path, merge: bool) -> None:
    lines = ["a0: &a0 {k: v}"]
    for level in range(1, 12):
        names = ", ".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + (f"{{<<: [{names}]}}" if merge else f"[{names}]"))
    assert line_of(written(config_path, "\n".join(lines))) == "FILE: more than 20 aliases (*name); write the values out"


def test_an_alias_that_holds_itself_ends_in_a_line(config_path: Path) -> None:
    assert load_config(written(config_path, "x: &x [*x]\n")).warnings != ()
    assert line_of(written(config_path, "providers: &x\n  a: *x\n")).startswith("FILE: ")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and owners")
class TestOnUnix:
    def test_what_its_group_can_change_is_a_warning(self, config_path: Path) -> None:
        written(config_path, GOOD).chmod(0o664)
        assert load_config().warnings == (f"{config_path} can be changed by its group; run `chmod 600 {config_path}`",)

    def test_what_everybody_can_change_is_refused(self, config_path: Path) -> None:
        written(config_path, GOOD).chmod(0o666)
        assert line_of(config_path) == "FILE can be changed by every user; run `chmod 600 FILE`"

    def test_a_file_of_another_user_is_refused(self, config_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        written(config_path, GOOD)
        if os.geteuid() == 0:
            os.chown(config_path, 4242, -1)
        else:
            other = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: other)
        assert line_of(config_path).startswith("FILE belongs to another user")

    def test_a_directory_a_pipe_and_a_device_are_refused(self, config_path: Path) -> None:
        config_path.mkdir()
        assert line_of(config_path).startswith("FILE is a directory")
        config_path.rmdir()
        os.mkfifo(config_path, 0o600)
        assert line_of(config_path).startswith("FILE is not a regular file")
        config_path.unlink()
        config_path.symlink_to("/dev/zero")
        assert line_of(config_path).startswith("FILE is not a regular file")

    def test_a_symlink_is_followed_and_a_dangling_one_is_a_warning(self, config_path: Path, tmp_path: Path) -> None:
        target = tmp_path / "dotfiles.yaml"
        config_path.symlink_to(target)
        assert load_config().warnings == (f"{config_path} is a symlink to a file that does not exist; using defaults",)
        written(target, GOOD)
        assert load_config().config.provider == "work"

    def test_a_loop_of_symlinks_is_one_line(self, config_path: Path) -> None:
        config_path.symlink_to(config_path)
        assert line_of(config_path).startswith("cannot read FILE: ")

    @pytest.fixture
    def reachable(self) -> Iterator[Path]:
        """A directory that another user can enter too."""
        with tempfile.TemporaryDirectory(prefix="neo") as path:
            Path(path).chmod(stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
            yield Path(path)

    def test_an_unreadable_file_is_one_line(self, reachable: Path) -> None:
        path = written(reachable / "config.yaml", GOOD)
        path.chmod(0)
        code = (
            "import os, sys, pathlib\n"
            "from neocode.errors import ConfigError\n"
            "from neocode.config.file import load_config\n"
            "os.geteuid() or os.setuid(65534)\n"
            "try:\n    load_config(pathlib.Path(sys.argv[1]))\n"
            "except ConfigError as error:\n    print(error.one_line())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=30
        )
        assert done.stdout == f"cannot read {path}: Permission denied; check its owner and mode\n"


TOKENS = [
    "provider", "providers", "ask", ": ", "\n", "  ", "- ", "[", "]", "{", "}", "&a ", "*a", "<<", "'", '"', "|",
    ">", "!!int ", "!x ", "%YAML 1.1\n", "---", "...", "? ", "#", "5", ".nan", "~", "\t", "null", "2024-01-01",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200) | st.lists(st.sampled_from(TOKENS), max_size=30).map(lambda parts: "".join(parts).encode())
)
def test_any_bytes_end_in_a_configuration_or_a_line(config_path: Path, data: bytes) -> None:
    written(config_path, data)
    line = ""
    try:
        loaded = load_config()
    except ConfigError as error:
        line = error.one_line()
    else:
        assert isinstance(loaded.config, Config)
    assert "\n" not in line
