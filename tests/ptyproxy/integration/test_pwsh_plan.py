"""How PowerShell is started, and that its script is PowerShell: parsed here, run in test_pwsh.py where there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neocode.doctor.shell import Session as Seen
from neocode.doctor.shell import _integration, _status
from ptyproxy.integration.plan import plan, script
from ptyproxy.integration.pwsh import HOTKEY_CHORD, WIDGET_CHORD, quoted
from ptyproxy.session import REFUSED_FILE, Session, open_session

PWSH = "C:\\Program Files\\PowerShell\\7\\pwsh.exe"
POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session whose directory has every kind of quote in its name."""
    base = tmp_path / "O'Brien \u2019s"
    base.mkdir(mode=0o700)
    session = open_session(str(base))
    yield session
    session.close()


@pytest.fixture(scope="module")
def parse() -> Any:
    """Text -> the nodes at which it is no PowerShell."""
    tree_sitter = pytest.importorskip("tree_sitter")
    language = tree_sitter.Language(pytest.importorskip("tree_sitter_powershell").language())

    def wrong(node: Any) -> Iterator[str]:
        if node.type == "ERROR" or node.is_missing:
            yield f"{node.type} at {node.start_point}"
        for child in node.children:
            yield from wrong(child)

    return lambda text: list(wrong(tree_sitter.Parser(language).parse(text.encode()).root_node))


@pytest.mark.parametrize("path", [PWSH, POWERSHELL])
def test_the_script_comes_in_as_text_and_no_policy_is_touched(session: Session, path: str) -> None:
    """An execution policy governs script files only (microsoft/vscode#319252, PowerShell/PowerShell#24106)."""
    made = plan(path, ("-NoLogo",), {}, session, login=False)
    assert made.integrated
    assert (made.widget_key, made.hotkey_key) == (WIDGET_CHORD, HOTKEY_CHORD)
    name, *rest, command = made.command.argv
    assert rest == ["-NoLogo", "-NoExit", "-Command"]
    assert name == path.rpartition("\\")[2]
    assert "Invoke-Expression ([IO.File]::ReadAllText(" in command
    assert "executionpolicy" not in " ".join(made.command.argv).lower()
    assert Path(session.directory, "neocode.ps1").read_text() == script("pwsh")


def test_the_loader_is_quoted_for_every_path(session: Session, parse: Any) -> None:
    command = plan(PWSH, (), {}, session, login=False).command.argv[-1]
    assert '"' not in command  # Windows quotes the whole argument with them
    assert parse(command) == []
    inside = re.findall(r"'((?:[^'\u2019]|''|\u2019\u2019)*)'", command)
    assert f"{session.directory}/neocode.ps1" in [
        text.replace("''", "'").replace("\u2019" * 2, "\u2019") for text in inside
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C:\\x", "'C:\\x'"),
        ("it's", "'it''s'"),
        ("\u2018\u2019\u201a\u201b", "'" + "".join(q * 2 for q in "\u2018\u2019\u201a\u201b") + "'"),
    ],
)
def test_any_kind_of_single_quote_is_doubled(text: str, expected: str) -> None:
    assert quoted(text) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        ("-File", "x.ps1"),
        ("-c", "ls"),
        ("script.ps1",),
        ("/usr/x.ps1",),
        ("-Command", "1"),
        ("-EncodedCommand", "x"),
        ("-",),
    ],
)
def test_a_powershell_that_is_to_run_something_is_left_alone(session: Session, arguments: tuple[str, ...]) -> None:
    made = plan(PWSH, arguments, {}, session, login=False)
    assert (made.integrated, made.command.argv[1:]) == (False, arguments)
    assert made.reason


@pytest.mark.parametrize(
    "arguments",
    [
        ("-NoLogo", "-NoProfile"),
        ("/NoLogo",),
        ("-WorkingDirectory", "/x y"),
        ("-ExecutionPolicy", "RemoteSigned"),
        ("-STA",),
    ],
)
def test_harmless_arguments_are_kept_as_they_are(session: Session, arguments: tuple[str, ...]) -> None:
    made = plan(PWSH, arguments, {}, session, login=False)
    assert made.command.argv[1 : 1 + len(arguments)] == arguments


def test_login_comes_first_and_once(session: Session) -> None:
    environ = {b"TERM": b"xterm"}
    assert plan("/usr/bin/pwsh", ("-NoLogo",), environ, session, login=True).command.argv[1:3] == ("-Login", "-NoLogo")
    assert plan("/usr/bin/pwsh", ("-l",), environ, session, login=True).command.argv[1:3] == ("-l", "-NoExit")


@pytest.mark.parametrize("environ", [{b"TERM": b"dumb"}, {}, {b"TERM": b"xterm", b"INSIDE_EMACS": b"t"}])
def test_on_unix_a_terminal_that_takes_no_sequences_gets_none(session: Session, environ: dict[bytes, bytes]) -> None:
    assert not plan("/usr/bin/pwsh", (), environ, session, login=False).integrated


def whole(text: str) -> str:
    """The script, and what it makes functions of itself."""
    bodies = [body.replace("INDEX", "0") for body in re.findall(r"(?ms)@'$\n(.*?)^'@", text)]
    return text + "".join(f"\nfunction x {{\n{body}\n}}\n" for body in bodies)


def test_the_script_is_powershell(parse: Any) -> None:
    assert parse(whole(script("pwsh"))) == []
    assert whole(script("pwsh")).count("function x {") == 2
    assert script("powershell") == script("pwsh")


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("if ($state.Asked) { return 0 }", "if ($state.Asked { return 0 }"),
        ("foreach ($map in $maps) {", "foreach ($map of $maps) {"),
        ("param($key, $arg) __Neocode-Enter", "param($key $arg) __Neocode-Enter"),
        ("$__neocodeText = & $__neocodeTheirs", "$__neocodeText = & "),
    ],
)
def test_the_parser_would_see_a_mistake(parse: Any, good: str, bad: str) -> None:
    text = script("pwsh")
    assert good in text
    assert parse(whole(text.replace(good, bad, 1))) != []


def test_nothing_in_it_is_newer_than_powershell_5_1() -> None:
    """No ternary, `??`, `?.`, `&&`, `||`, "`e" or `-Parallel`: 5.1 would not parse or know them."""
    code = re.sub(r"(?m)#.*$|'[^'\n]*'", "", script("pwsh"))
    assert script("pwsh").isascii()
    assert not re.search(r"\?\?|\?\.|&&|\|\||`e|\s\?\s|-Parallel", code)


def test_every_function_and_variable_of_its_own_is_out_of_the_users_way() -> None:
    text = script("pwsh")
    assert all(name.startswith("Global:__Neocode-") for name in re.findall(r"(?m)^\s*function (\S+)", text))
    assert set(re.findall(r"\$Global:(\w+)", text)) == {"__NeocodeState", "Error"}
    # what may be called is defined
    assert set(re.findall(r"__Neocode-(\w+)", text)) == set(re.findall(r"function Global:__Neocode-(\w+)", text))


def test_strict_mode_and_error_preference_of_the_session_are_not_ours_to_meet() -> None:
    """What the user's prompt, reader and keys call first switches them off for itself."""
    text = script("pwsh")
    for name in ("Begin", "Shown", "Reading", "Accepted", "Widget", "Hotkey", "Enter"):
        body = text.partition(f"function Global:__Neocode-{name}")[2]
        first, second = [line.strip() for line in body.splitlines()[1:3]]
        assert first == "Microsoft.PowerShell.Core\\Set-StrictMode -Off"
        assert second == "$ErrorActionPreference = 'SilentlyContinue'"


def test_a_language_mode_that_forbids_the_script_is_named_by_the_doctor(session: Session) -> None:
    """No error at the start (microsoft/vscode#158548, PowerShell/PowerShell#17900)."""
    command = plan(POWERSHELL, (), {}, session, login=False).command.argv[-1]
    otherwise = command.partition("else {")[2]
    assert "[" not in otherwise  # a constrained language has no types
    assert REFUSED_FILE in otherwise
    assert "nonce" in otherwise
    session.write(REFUSED_FILE, b"PowerShell runs in ConstrainedLanguage here\r\n")
    (check,) = _integration(Seen(session.id, _status(session.directory), True))
    assert (check.status, "ConstrainedLanguage" in check.what) == ("warn", True)
