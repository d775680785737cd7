"""`neocode provider|use|model|config` as processes in a home of their own, without a gateway."""

from __future__ import annotations

import io
import json
import sys

import pytest
from cli import NeoHome

from neocode.cli.settings import show

WORK = "providers:\n  work:\n    base_url: http://127.0.0.1:11434/v1\n    model: qwen3\n"
ADD = ("provider", "add", "work", "--base-url", "http://127.0.0.1:11434/v1", "--model", "qwen3")


def ok(home: NeoHome, *arguments: str, env: dict[str, str] | None = None) -> tuple[str, str]:
    """Standard output and error of a command that succeeds."""
    done = home.run(*arguments, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def refused(home: NeoHome, *arguments: str) -> str:
    """The one line on stderr of a command that ends with exit code 2."""
    done = home.run(*arguments)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("neocode: ").rstrip("\n").replace(str(home.dir), "HOME")


def with_work(home: NeoHome) -> None:
    """What `ADD` does, without the process."""
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text(WORK)


def config(home: NeoHome) -> str:
    return (home.dir / "config.yaml").read_text()


def no_gateway(home: NeoHome) -> bool:
    return not (home.dir / "run" / "gateway.sock").exists()


def test_a_provider_is_added_used_and_removed(home: NeoHome) -> None:
    assert ok(home, *ADD) == (
        "added work: qwen3 at http://127.0.0.1:11434/v1\nnext: neocode use work; neocode provider test work\n",
        "",
    )
    assert ok(home, "use", "work")[0] == "using work: qwen3 at http://127.0.0.1:11434/v1\n"
    assert ok(home, "config", "get", "provider")[0] == "work\n"
    assert ok(home, "provider", "list")[0] == (
        "  offline  offline  rules  -                          no key\n"
        "* work     openai   qwen3  http://127.0.0.1:11434/v1  no key\n"
    )
    assert ok(home, "model", "use", "llama3")[0] == "work answers with llama3\n"
    assert ok(home, "config", "get", "providers.work.model")[0] == "llama3\n"
    assert ok(home, "provider", "remove", "work")[0] == ("removed work; it was in use, now the offline rules answer\n")
    assert ok(home, "provider", "list")[0] == "* offline  offline  rules  -  no key\n"
    assert config(home).splitlines()[1:] == ["provider: offline"]
    assert no_gateway(home)


def test_where_the_key_comes_from_is_shown_and_the_key_is_not(home: NeoHome) -> None:
    key_file = home.path / "key"
    key_file.write_text("sk-very-secret-0123456789\n")
    key_file.chmod(0o600)
    env = {"WORK_KEY": "sk-very-secret-0123456789"}
    ok(home, *ADD, "--api-key-env", "WORK_KEY", env=env)
    ok(home, "provider", "add", "file", "--base-url", "https://h/v1", "--model", "m", "--api-key-file", str(key_file))
    listed = ok(home, "provider", "list", env=env)[0]
    assert "env WORK_KEY (set)" in listed
    assert f"file {key_file} (set)" in listed
    assert "env WORK_KEY (missing)" in ok(home, "provider", "list")[0]
    rows = json.loads(ok(home, "provider", "list", "--json", env=env)[0])
    assert rows[1] == {
        "name": "work",
        "kind": "openai",
        "model": "qwen3",
        "base_url": "http://127.0.0.1:11434/v1",
        "key_source": "env",
        "key_name": "WORK_KEY",
        "key_found": True,
        "in_use": False,
    }
    assert "secret" not in listed + json.dumps(rows) + config(home)


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (
            ("--base-url", "http://127.0.0.1:1"),
            "hint: the address of such an endpoint mostly ends in /v1: http://127.0.0.1:1/v1",
        ),
        (("--base-url", "http://10.0.0.9/v1", "--api-key-env", "HOME"), "warning: plain http to another machine"),
        (("--base-url", "http://a.localhost/v1", "--api-key-env", "HOME"), "warning: plain http to another machine"),
        (("--base-url", "https://h/v1", "--api-key-env", "NOT_SET"), "warning: the variable NOT_SET is not set here"),
        (
            ("--base-url", "https://h/v1", "--api-key-file", "/no/such"),
            "warning: cannot read the key file /no/such: No such",
        ),
    ],
)
def test_what_will_probably_not_work_is_one_line_beside_the_output(
    home: NeoHome, arguments: tuple[str, ...], warning: str
) -> None:
    output, errors = ok(home, "provider", "add", "work", "--model", "m", *arguments)
    assert output.startswith("added work: m at ")
    assert errors.startswith(f"neocode: {warning}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("url", ["http://localhost:1/v1", "http://127.0.0.2/v1", "http://[::1]:1/v1", "https://h/v1"])
def test_a_key_for_this_machine_or_over_tls_is_no_cause_for_a_warning(home: NeoHome, url: str) -> None:
    assert ok(home, "provider", "add", "w", "--base-url", url, "--model", "m", "--api-key-env", "HOME")[1] == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("provider", "add", "offline", "--base-url", "http://h/v1", "--model", "m"), "the name offline is reserved"),
        (("provider", "add", "a b", "--base-url", "http://h/v1", "--model", "m"), "a provider's name is 1 to 64"),
        (("provider", "add", "x", "--base-url", "h/v1", "--model", "m"), "x.base_url: expected http://HOST..."),
        (("provider", "add", "x", "--base-url", "http://u:p@h/v1", "--model", "m"), "x.base_url: holds credentials"),
        (("provider", "add", "x", "--base-url", "http://h/v1", "--model", ""), "x.model: missing"),
        (ADD, "there is a provider work already; --force replaces it"),
        (("use", "wrok"), "no provider is named 'wrok'; did you mean work?"),
        (("use", "xyz"), "no provider is named 'xyz'; known: offline, work; add one with neocode provider add"),
        (("provider", "remove", "xyz"), "no provider is named 'xyz'; known: offline, work"),
        (("provider", "remove", "offline"), "offline is built in and cannot be removed"),
        (("model", "use", "m"), "the offline rules have no model to choose"),
        (("config", "get", "retain_turns"), "unknown key 'retain_turns'; did you mean context.ask.retain_turns?"),
        (("config", "get", "ask.max_log_byte"), "unknown key 'ask.max_log_byte'; did you mean ask.max_log_bytes"),
        (("config", "get", "zzz"), "unknown key 'zzz'; neocode config get shows all keys"),
        (("config", "get", "providers.work.colour"), "unknown key 'providers.work.colour'; a provider has kind, "),
        (
            ("config", "set", "providers.xyz.model", "m"),
            "no provider of that name in 'providers.xyz.model'; known: work",
        ),
        (("config", "set", "context.ask", "5"), "context.ask holds further keys; set one of context.ask.max_input"),
        (("config", "set", "context.ask.retain_turns", "five"), "context.ask.retain_turns: expected int, got str"),
        (("config", "set", "context.ask.retain_turns", "0"), "context.ask.retain_turns: expected int >= 1"),
        (("config", "set", "provider", "xyz"), "HOME/config.yaml: provider: no provider is named 'xyz'; known:"),
        (("config", "set", "redact.patterns", "["), "redact.patterns: "),
        (("config", "set", "redact.patterns", "("), "HOME/config.yaml: redact.patterns: number 1 is no regular"),
        (("provider",), "the following arguments are required: ACTION"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(home: NeoHome, arguments: tuple[str, ...], line: str) -> None:
    with_work(home)
    assert refused(home, *arguments).startswith(line)
    assert config(home) == WORK


@pytest.mark.parametrize(
    "arguments",
    [
        ("--api-key", "sk-secret-123"),
        ("--api-key=sk-secret-123",),
        ("--api-key-env", "sk-secret-123"),
        ("--api-key-env=3f2a9c0d8e7b6a5f4e3d2c1b0a9f8e7d",),
        ("--api-key-file", "sk-secret-123"),
    ],
)
def test_a_pasted_key_is_refused_and_repeated_nowhere(home: NeoHome, arguments: tuple[str, ...]) -> None:
    line = refused(home, *ADD, *arguments)
    assert "--api-key-env NAME" in line
    assert "--api-key-file PATH" in line
    assert "secret" not in line
    assert "3f2a" not in line
    assert not (home.dir / "config.yaml").exists()


def test_force_replaces_endpoint_and_key_but_keeps_what_else_was_set(home: NeoHome) -> None:
    ok(home, *ADD, "--api-key-env", "A_KEY")
    ok(home, "config", "set", "providers.work.idle_timeout_sec", "99")
    ok(home, "provider", "add", "work", "--base-url", "https://h/v1/", "--model", "n", "--force")
    assert ok(home, "config", "get", "providers.work")[0].splitlines()[:4] == [
        "kind: openai",
        "base_url: https://h/v1",
        "model: n",
        "api_key_env: ''",
    ]
    assert ok(home, "config", "get", "providers.work.idle_timeout_sec")[0] == "99.0\n"


def test_a_relative_key_file_is_written_absolute(home: NeoHome) -> None:
    ok(home, *ADD, "--api-key-file", "~/key")
    assert ok(home, "config", "get", "providers.work.api_key_file")[0] == f"{home.path}/key\n"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("context.ask.retain_turns", "7", "7"),
        ("gateway.idle_timeout_sec", "0", "0.0"),
        ("gateway.idle_timeout_sec", "12.5", "12.5"),
        ("redact.patterns", "a\\d+", "- a\\d+"),
        ("redact.patterns", '["a", "b: c"]', "- a\n- 'b: c'"),
        ("prompts.system", "/a b.txt", "/a b.txt"),
        ("providers.work.model", "8000", "8000"),
        ("providers.work.model", "yes: #no", "yes: #no"),
    ],
)
def test_a_setting_is_written_as_its_type_and_read_back(home: NeoHome, key: str, value: str, shown: str) -> None:
    with_work(home)
    ok(home, "config", "set", key, value)
    assert ok(home, "config", "get", key)[0] == shown + "\n"


def test_names_with_dots_are_found(home: NeoHome) -> None:
    ok(home, "provider", "add", "gpt-4.1", "--base-url", "http://h/v1", "--model", "m")
    assert ok(home, "config", "get", "providers.gpt-4.1.model")[0] == "m\n"
    assert "model: m" in ok(home, "config", "get", "providers.gpt-4.1")[0]


def test_the_effective_configuration_is_yaml_that_can_be_used_as_a_file(home: NeoHome) -> None:
    ok(home, *ADD)
    shown = ok(home, "config", "get")[0]
    assert "  idle_timeout_sec: 300.0\n" in shown
    (home.dir / "config.yaml").write_text(shown)
    assert ok(home, "config", "get") == (shown, "")


def test_the_path_is_printed_although_there_is_no_file(home: NeoHome) -> None:
    assert ok(home, "config", "path")[0] == f"{home.dir}/config.yaml\n"
    assert not home.dir.exists()


def test_comments_and_unknown_keys_survive_every_command(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    file = home.dir / "config.yaml"
    file.write_text("# mine\nfuture: {x: 1}   # keep\nask:\n    # why 2\n    max_concurrent:  2\n")
    file.chmod(0o600)
    _, errors = ok(home, *ADD)
    assert errors == f"neocode: warning: {file}: unknown key future\n"
    ok(home, "use", "work")
    ok(home, "config", "set", "ask.max_concurrent", "3")
    ok(home, "provider", "remove", "work")
    assert file.read_text() == (
        "# mine\nfuture: {x: 1}   # keep\nask:\n    # why 2\n    max_concurrent:  3\nprovider: offline\n"
    )


def test_a_broken_file_is_named_with_its_line_and_left_alone(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text("provider: offline\nask: [\n")
    for arguments in (("provider", "list"), ("use", "offline"), ("config", "get"), ADD):
        assert refused(home, *arguments).startswith("HOME/config.yaml, line 3: not valid YAML: ")
    assert config(home) == "provider: offline\nask: [\n"


def test_a_wrong_value_can_be_mended_from_the_command_line(home: NeoHome) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text("provider: gone\nask:\n  max_concurrent: 0\n")
    assert refused(home, "provider", "list").startswith("HOME/config.yaml: ask.max_concurrent: expected int >= 1")
    refused(home, "config", "set", "ask.max_concurrent", "4")  # the provider is still wrong
    (home.dir / "config.yaml").write_text("ask:\n  max_concurrent: 0\n")
    ok(home, "config", "set", "ask.max_concurrent", "4")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ask: 5\n", "ask in the file holds 5, not keys and values; correct it by hand"),
        ("own: &a [*a]\n", "HOME/config.yaml holds an alias to itself; edit it by hand"),
    ],
)
def test_a_file_that_cannot_take_a_setting_is_one_line_and_left_alone(home: NeoHome, text: str, line: str) -> None:
    home.dir.mkdir(mode=0o700)
    (home.dir / "config.yaml").write_text(text)
    assert refused(home, "config", "set", "ask.max_log_bytes", "4096") == line
    assert config(home) == text


@pytest.mark.parametrize("arguments", [("provider", "test", "wrk"), ("model", "list", "--provider", "wrk")])
def test_an_unknown_provider_is_a_usage_error_everywhere(home: NeoHome, arguments: tuple[str, ...]) -> None:
    ok(home, *ADD)
    assert refused(home, *arguments) == "no provider is named 'wrk'; did you mean work?"


def test_what_the_terminals_encoding_lacks_is_shown_as_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    show("/tmp/提示.txt \x1b[2J")
    assert raw.getvalue() == b"/tmp/??.txt \\x1b[2J\n"


def test_no_home_is_one_line(home: NeoHome) -> None:
    done = home.run("config", "path", env={"HOME": "relative"})
    assert done.returncode == 2
    assert done.stderr == "neocode: the home directory 'relative' is not an absolute path; set HOME or NEOCODE_HOME\n"
