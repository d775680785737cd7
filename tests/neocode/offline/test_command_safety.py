"""Whatever a log says, a command holds the template's own words and the captured value as one word, or is not shown."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neocode.providers.base import AskContext
from neocode.providers.offline import types
from neocode.providers.offline.answer import fault
from neocode.providers.offline.load import rules as all_rules
from neocode.providers.offline.match import Hit
from neocode.providers.offline.quoting import quote
from neocode.providers.offline.select import KINDS
from neocode.providers.offline.template import PLACEHOLDER, Draft, Typed, render

HOSTILE = [
    "a; touch /tmp/x",
    "$(touch x)",
    "`touch x`",
    "a && b",
    "a | b",
    "a\nb",
    "a\rb",
    "a b",
    "-rf",
    "--upload-pack=x",
    "'",
    '"',
    "a'b",
    'a"b',
    "\\",
    "a\\",
    "%PATH%",
    "!x!",
    "^",
    "a&b",
    "<x>",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~root",
    "~/x",
    "=ls",
    "#x",
    "$HOME",
    "${IFS}",
    "\u2019; calc; \u2019",
    "\u202eabc",
    "a\u200bb",
    "\x1b[31m",
    "\x00",
    "@(calc)",
    "@x",
    "(x)",
    "\\\\evil\\share",
    "//evil/share",
    "[redacted:github-token]",
    "x [cut] y",
    "http://h/;x",
    "a:b",
    "1.2.3.4;x",
    "x" * 600,
    "é ü",
    "日本",
    "",
]
values = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=40), st.from_regex(r"[\w./:@=+, $'\"-]{1,30}", fullmatch=True)
)


@pytest.mark.parametrize("kind", ["bash", "zsh", "sh"])
@given(word=st.text(min_size=1, max_size=40))
def test_a_quoted_word_is_one_word_for_a_posix_shell(kind: str, word: str) -> None:
    quoted = quote(word, kind)
    if quoted is None:
        assert re.search(r"[\x00-\x1f\x7f]", word)
    else:
        assert shlex.split(quoted) == [word]


def _read_powershell(text: str) -> str:
    """The one argument that PowerShell reads from `text` (about_Quoting_Rules; five characters are single quotes)."""
    marks = "'\u2018\u2019\u201a\u201b"
    if text[0] not in marks:
        assert re.fullmatch(r"[A-Za-z0-9_./\\:+=-]+", text)
        return text
    out, index = "", 1
    while index < len(text) - 1:
        assert text[index] not in marks or text[index + 1] in marks
        out += text[index]
        index += 2 if text[index] in marks else 1
    assert index == len(text) - 1
    assert text[-1] in marks
    return out


@given(
    word=st.text(
        alphabet=st.one_of(st.characters(), st.sampled_from("'\u2018\u2019\u201a\u201b$`\"")), min_size=1, max_size=30
    )
)
def test_a_quoted_word_is_one_word_for_powershell(word: str) -> None:
    quoted = quote(word, "powershell")
    if quoted is not None:
        assert _read_powershell(quoted) == word


@given(word=st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\\'$ ")), min_size=1, max_size=30))
def test_a_quoted_word_is_one_word_for_fish(word: str) -> None:
    quoted = quote(word, "fish")
    if quoted is not None and quoted.startswith("'"):
        assert re.fullmatch(r"'(?:[^'\\]|\\['\\])*'", quoted, re.DOTALL)
        assert re.sub(r"\\(['\\])", r"\1", quoted[1:-1]) == word


@given(word=st.text(min_size=1, max_size=30))
def test_a_word_for_cmd_holds_nothing_that_cmd_would_read(word: str) -> None:
    quoted = quote(word, "cmd")
    if quoted is not None:
        bare = quoted.strip('"')
        assert bare == word
        assert not set(bare) & set('"%^!&|<>\r\n')
        assert quoted.startswith('"') or re.fullmatch(r"[A-Za-z0-9_./\\@:+~-]+", bare)


@pytest.mark.parametrize("name", sorted(types.TYPES))
@given(value=values)
def test_no_type_accepts_an_option_a_control_or_an_invisible_character(name: str, value: str) -> None:
    if types.valid(name, value):
        assert name == "flag" or not value.startswith("-")
        assert types.visible(value)
        assert "[redacted:" not in value
        assert len(value) <= types.MAX_VALUE


def _templates() -> Iterator[tuple[str, dict[str, str]]]:
    for rule in all_rules():
        for part in (rule.fix, rule.check):
            for commands in part.values():
                for command in commands:
                    if PLACEHOLDER.search(command):
                        yield command, rule.params


TEMPLATES = list(dict.fromkeys((command, tuple(params.items())) for command, params in _templates()))


@settings(max_examples=150)
@given(template=st.sampled_from(TEMPLATES), value=values, data=st.data())
def test_a_rendered_command_has_the_words_of_its_template(
    template: tuple[str, tuple[tuple[str, str], ...]], value: str, data: st.DataObject
) -> None:
    command, params = template
    filled = {name: Typed(kind, data.draw(values) if index else value) for index, (name, kind) in enumerate(params)}
    line = render(Draft(command, filled), "bash")
    if line is None:
        return
    used = [name for name in PLACEHOLDER.findall(command) if name in filled]
    assert all(types.valid(filled[name].type, filled[name].value) for name in used)
    words = _split(command)
    expected = [PLACEHOLDER.sub(lambda m: filled[m[1]].value if m[1] in filled else m[0], word) for word in words]
    assert _split(line) == expected


def _split(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


@settings(max_examples=60, deadline=None)
@given(
    value=values,
    kind=st.sampled_from(["path", "branch", "host", "py-package", "npm-package", "url", "image", "service"]),
)
@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_bash_reads_one_argument_and_runs_nothing_else(value: str, kind: str) -> None:
    line = render(Draft("printf '%s\\0' before {v} x{v}y after", {"v": Typed(kind, value)}), "bash")
    if line is None:
        return
    out = subprocess.run(["bash", "-c", line], capture_output=True, timeout=30, check=True).stdout
    assert out == "\0".join(["before", value, f"x{value}y", "after", ""]).encode()


@pytest.mark.parametrize("shell", ["zsh", "fish", "dash"])
def test_other_shells_read_hostile_paths_as_one_argument(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    kind = "sh" if shell == "dash" else shell
    for value in [v for v in HOSTILE if types.valid("path", v)]:
        line = render(Draft("printf '%s|' before {v} after", {"v": Typed("path", value)}), kind)
        assert line is not None
        run = subprocess.run(
            [shell, "-c", line],
            capture_output=True,
            timeout=30,
            check=True,
            env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
        )
        assert run.stdout.decode() == f"before|{value}|after|"


@settings(max_examples=100, deadline=None)
@given(rule=st.sampled_from([rule for rule in all_rules() if rule.params]), kind=st.sampled_from(KINDS), data=st.data())
def test_no_rule_shows_a_command_with_what_does_not_validate(rule: object, kind: str, data: st.DataObject) -> None:
    from neocode.providers.offline.rule import Rule

    assert isinstance(rule, Rule)
    groups = {name: data.draw(values) for name in rule.params}
    found = fault(Hit(rule, groups, 0, 0, 0), AskContext(shell=kind))
    bad = {value for name, value in groups.items() if not types.valid(rule.params[name], value) and len(value) > 3}
    good = {value for name, value in groups.items() if types.valid(rule.params[name], value)}
    for command in (*found.fix, *found.check):
        assert "\n" not in command
        for value in bad - good:
            assert value not in command or any(
                value in text for part in (rule.fix, rule.check) for texts in part.values() for text in texts
            )
    assert types.visible(found.cause)


def test_a_word_with_a_redaction_mark_never_reaches_a_command() -> None:
    assert render(Draft("cat {p}", {"p": Typed("path", "/x/[redacted:github-token]/y")}), "bash") is None


SYSTEMS_OWN = """
/ // /* * .. ./.. ../../../etc/passwd a/../../b .git/../../etc/x.lock /etc /etc/passwd /usr/bin/env /usr/local /home
/var/lib/dpkg/lock /dev/sda C:\\ C:\\Windows\\x c:/users
"""
PERSONS_OWN = """
x ./run.sh ../repo /app /home/me/x /root/.ssh/id /usr/local/Cellar /var/www/site /tmp/a /Users/me/x /opt/homebrew/bin
C:\\Users\\me\\x D:\\work
"""


@pytest.mark.parametrize("path", SYSTEMS_OWN.split())
def test_what_is_not_a_persons_own_is_not_to_be_changed(path: str) -> None:
    assert not types.valid("own-path", path)


@pytest.mark.parametrize("path", PERSONS_OWN.split())
def test_what_is_a_persons_own_may_be_changed(path: str) -> None:
    assert types.valid("own-path", path)


@pytest.mark.parametrize(
    "log",
    [
        "Error: The following directories are not writable by your user:\n/etc",
        "fatal: Unable to create '/etc/passwd.lock': File exists.",
        "fatal: Unable to create '/home/me/x/yarn.lock': File exists.",
        "fatal: detected dubious ownership in repository at '*'",
        "rm: cannot remove '/': Is a directory",
        "bash: /etc/shadow: Permission denied",
        "Permissions 0644 for '/etc/passwd' are too open.\nLoad key \"/etc/passwd\": bad permissions",
    ],
)
def test_a_log_makes_nobody_change_what_the_system_owns(log: str, rules: Any) -> None:
    assert [line for fault in rules.log(log) for line in fault.fix] == []


def test_a_share_of_another_machine_is_no_path() -> None:
    assert not types.valid("path", "\\\\evil\\share")
    assert not types.valid("path", "//evil/share")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bash", "cat '/a b'\"'\"'c'"),
        ("fish", "cat '/a b\\'c'"),
        ("powershell", "cat '/a b''c'"),
        ("cmd", 'cat "/a b\'c"'),
    ],
)
def test_each_shell_kind_has_its_own_quotes(kind: str, expected: str) -> None:
    assert render(Draft("cat {p}", {"p": Typed("path", "/a b'c")}), kind) == expected


def test_an_assignment_keeps_its_name_bare() -> None:
    assert render(Draft("X={p} make", {"p": Typed("path", "a b")}), "bash") == "X='a b' make"


def test_powershell_quotes_after_an_equals_sign() -> None:
    assert render(Draft("$env:X = {p}", {"p": Typed("path", "abc")}), "pwsh") == "$env:X = 'abc'"


def test_a_percent_sign_has_no_safe_spelling_in_cmd() -> None:
    assert render(Draft("type {p}", {"p": Typed("path", "a%PATH%b")}), "cmd") is None
