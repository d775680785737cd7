"""Typos put right, packages by table, exit codes, and which list of commands a shell gets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.providers.base import AskContext
from neocode.providers.offline import exitcodes, types
from neocode.providers.offline.compute import Situation, header_package, nearest_command, python_package
from neocode.providers.offline.load import table
from neocode.providers.offline.logtext import MAX_LINE, MAX_LOG, clean
from neocode.providers.offline.select import select, shell_kind
from neocode.providers.offline.template import render


def _command(name: str, **facts: Any) -> list[str | None]:
    computed = nearest_command(Situation({"name": name}, AskContext(**facts), ""))
    return [render(draft, "bash") for draft in computed.fix]


def test_the_users_own_line_is_put_right() -> None:
    assert _command("gti", near_commands=("git",), command="gti commit -m x") == ["git commit -m x"]
    assert _command("dokcer", near_commands=("docker",), command="sudo dokcer ps -a") == ["sudo docker ps -a"]


@pytest.mark.parametrize(("name", "near"), [("tsc", "tac"), ("php", "pip"), ("rsync", "sync")])
def test_a_program_that_is_known_is_not_taken_for_a_typo_of_another(name: str, near: str, rules: Any) -> None:
    found = rules.log(f"sh: 1: {name}: not found", near_commands=(near,))[0]
    assert found.fix
    assert near not in found.fix


def test_a_line_with_shell_characters_is_not_repeated() -> None:
    assert _command("gti", near_commands=("git",), command="gti log | head; rm x") == ["git"]
    assert _command("gti", near_commands=("git",), command="gti push [redacted:github-token]") == ["git"]


def test_a_name_on_the_path_that_is_no_command_name_gives_no_fix() -> None:
    assert _command("gti", near_commands=("gt;i",)) == ["git"] or _command("gti", near_commands=("gt;i",)) == [None]


def _python(module: str, **facts: Any) -> tuple[list[str | None], str | None]:
    computed = python_package(Situation({"module": module}, AskContext(**facts), ""))
    return [render(draft, "bash") for draft in computed.fix], computed.confidence


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("cv2", "opencv-python"),
        ("yaml", "PyYAML"),
        ("PIL", "Pillow"),
        ("sklearn", "scikit-learn"),
        ("bs4", "beautifulsoup4"),
        ("dotenv", "python-dotenv"),
    ],
)
def test_an_import_name_leads_to_its_package(module: str, package: str) -> None:
    assert _python(module) == ([f"python3 -m pip install {package}"], "high")


@pytest.mark.parametrize("module", ["reqeusts", "my_helpers", "nunpy", "utils"])
def test_an_unknown_module_is_never_installed(module: str) -> None:
    assert _python(module) == ([], "low")


def test_the_interpreter_of_the_failed_command_is_used() -> None:
    assert _python("yaml", command="/opt/x/python3.12 app.py")[0] == ["python3.12 -m pip install PyYAML"]
    assert _python("yaml", shell="powershell")[0] == ["python -m pip install PyYAML"]


@pytest.mark.parametrize(
    ("os", "expected"),
    [
        ("linux Ubuntu 24.04", ["sudo apt install libssl-dev"]),
        ("linux Fedora 40", ["sudo dnf install openssl-devel"]),
        ("darwin 15", ["brew install openssl@3"]),
        (
            "linux",
            ["# Debian, Ubuntu", "sudo apt install libssl-dev", "# Fedora, RHEL", "sudo dnf install openssl-devel"],
        ),
        ("linux Arch", []),
        ("windows 11", []),
    ],
)
def test_a_header_leads_to_the_package_of_the_system(os: str, expected: list[str]) -> None:
    computed = header_package(Situation({"header": "openssl/ssl.h"}, AskContext(os=os), ""))
    assert [render(draft, "bash") for draft in computed.fix] == expected


@pytest.mark.parametrize("name", ["imports", "commands", "headers", "libraries"])
def test_every_package_of_a_table_has_a_valid_name(name: str) -> None:
    kinds = {"apt": "apt-package", "dnf": "package", "brew": "brew-formula", "winget": "package"}
    for key, entry in table(name).items():
        for column, value in entry.items():
            if name == "imports":
                assert types.valid("py-package", value), key
            elif column in kinds:
                assert all(types.valid(kinds[column], package) for package in value.split()), (key, value)
            else:
                assert column in ("any", "note"), (key, column)


def test_the_import_table_is_large() -> None:
    differing = [
        key for key, entry in table("imports").items() if key.lower().replace("_", "-") != entry["any"].lower()
    ]
    assert len(table("imports")) > 300
    assert len(differing) > 100


@pytest.mark.parametrize(
    ("code", "kind", "system", "word"),
    [
        (126, "bash", "linux", "could not be run"),
        (127, "bash", "linux", "did not find"),
        (130, "zsh", "darwin", "SIGINT"),
        (137, "bash", "linux", "SIGKILL"),
        (139, "bash", "linux", "SIGSEGV"),
        (141, "bash", "linux", "SIGPIPE"),
        (143, "fish", "linux", "SIGTERM"),
        (135, "bash", "linux", "SIGBUS"),
        (138, "bash", "darwin", "SIGBUS"),
        (-9, "bash", "linux", "SIGKILL"),
        (124, "bash", "linux", "timeout"),
        (78, "bash", "linux", "EX_CONFIG"),
        (0xC0000005, "cmd", "windows", "ACCESS_VIOLATION"),
        (-1073741510, "powershell", "windows", "Ctrl-C"),
        (0xC0000135, "pwsh", "windows", "DLL"),
        (9009, "cmd", "windows", "did not find"),
        (3, "bash", "linux", "its meaning is the program's own"),
    ],
)
def test_an_exit_code_has_a_meaning(code: int, kind: str, system: str, word: str) -> None:
    assert word in exitcodes.meaning(code, kind, system)


def test_success_and_unknown_have_no_meaning() -> None:
    assert exitcodes.meaning(0, "bash", "linux") == exitcodes.meaning(None, "bash", "linux") == ""


LISTS = {"any": ("a",), "posix": ("p",), "windows": ("w",), "powershell": ("ps",), "linux": ("l",), "fish": ("f",)}


@pytest.mark.parametrize(
    ("kind", "system", "expected"),
    [
        ("bash", "linux", "l"),
        ("bash", "darwin", "p"),
        ("fish", "linux", "f"),
        ("pwsh", "windows", "ps"),
        ("powershell", "windows", "ps"),
        ("cmd", "windows", "w"),
        ("bash", "windows", "p"),
        ("pwsh", "linux", "l"),
    ],
)
def test_the_most_exact_list_counts(kind: str, system: str, expected: str) -> None:
    assert select(LISTS, kind, system) == (expected,)


def test_powershell_on_linux_gets_no_posix_syntax() -> None:
    assert select({"posix": ("export X=$(y)",), "any": ("z",)}, "pwsh", "linux") == ("z",)


@pytest.mark.parametrize(
    ("shell", "os", "kind"),
    [
        ("/bin/zsh", "", "zsh"),
        ("-bash", "", "bash"),
        ("C:\\Windows\\System32\\cmd.exe", "", "cmd"),
        ("dash", "", "sh"),
        ("", "windows", "powershell"),
        ("nu", "linux", "bash"),
        ("pwsh 7.4", "", "pwsh"),
    ],
)
def test_a_shell_is_known_by_path_and_version(shell: str, os: str, kind: str) -> None:
    assert shell_kind(shell, os) == kind


def test_a_log_is_bounded_in_lines_and_in_all() -> None:
    text = clean("x" * 5000 + "\n" + "line\n" * 100_000 + "the end").text
    assert len(text) <= MAX_LOG + MAX_LINE
    assert max(map(len, text.split("\n"))) <= MAX_LINE
    assert text.endswith("the end")


@pytest.mark.parametrize(
    "prefix",
    ["2026-11-29T10:00:00.1234567Z ", "web-1  | ", "[10:00:00] ", "#12 3.456 "],
)
def test_a_prefix_before_each_line_is_dropped(prefix: str, rules: Any) -> None:
    log = "".join(
        prefix + line + "\n"
        for line in ["$ git status", "fatal: not a git repository (or any of the parent directories): .git"]
    )
    assert [found.rule_id for found in rules.log(log)] == ["git-not-a-repository"]


@given(log=st.text(max_size=300))
def test_cleaning_twice_changes_nothing_more_that_matters(log: str) -> None:
    text = clean(log).text
    assert "\r" not in text
    assert "\x1b" not in text
