"""Command lines, environment blocks and version numbers for CreateProcessW, judged by how Windows reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows_argv import split_command_line

from conpty.command_line import join, split_program
from conpty.environment import environment_block, respelled, split_entry
from conpty.version import FIRST_BUILD, unsupported, windows_build

# andfoy/pywinpty#519 and #531: words that were split, or whose quotes were lost
WORDS = [
    *("", "a", "a b", 'say "hi"', "C:\\dir\\", "C:\\a b\\", '\\"', "\\\\", 'x\\\\" y'),
    *("%PATH%", "^&|<>", "\t", "\u4f60 \U0001f600", "-x=1;2", "!"),
]
words = st.one_of(st.sampled_from(WORDS), st.text(st.sampled_from(' "\\ab\t%^'), max_size=8))
programs = st.sampled_from(["C:\\Program Files\\PowerShell\\7\\pwsh.exe", "pwsh", "C:\\x.exe", "D:\\\u4f60 x\\a.exe"])


@given(programs, st.lists(words, max_size=5))
def test_a_program_reads_the_argv_that_was_meant(program: str, arguments: list[str]) -> None:
    line = join([program, *arguments])
    assert split_command_line(line) == [program, *arguments]
    assert split_program(line)[0] == program
    assert split_command_line(f'"x" {split_program(line)[1]}')[1:] == arguments


def test_the_reader_that_judges_reads_as_microsoft_documents_it() -> None:
    """The table of learn.microsoft.com, "Parsing C++ command-line arguments"."""
    for line, expected in (
        ('x "abc" d e', ["abc", "d", "e"]),
        (r'x a\\\b d"e f"g h', [r"a\\\b", "de fg", "h"]),
        (r"x a\\\"b c d", [r"a\"b", "c", "d"]),
        (r'x a\\\\"b c" d e', [r"a\\b c", "d", "e"]),
        ('x a"b"" c d', ['ab" c d']),
    ):
        assert split_command_line(line)[1:] == expected


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["C:\\Windows\\System32\\cmd.exe"], '"C:\\Windows\\System32\\cmd.exe"'),
        (["cmd", "/k", "prompt $g & ver"], '"cmd" /s /k "prompt $g & ver"'),
        (["CMD.EXE", "/S", "/C", '"a b" "c d"'], '"CMD.EXE" /S /C ""a b" "c d""'),
        (["cmd.exe", "/d", "/c", "type", "a b.txt", "%x%", "plain"], '"cmd.exe" /d /s /c "type "a b.txt" "%x%" plain"'),
        (["cmd.exe", "/c"], '"cmd.exe" /s /c'),
        (["cmd.exe", "/v:on"], '"cmd.exe" /v:on'),
    ],
)
def test_cmd_gets_its_command_as_it_stands(argv: list[str], line: str) -> None:
    assert join(argv) == line


@pytest.mark.parametrize("argv", [[], [""], ['a"b.exe'], ["x", "a\0b"], ["\0"]])
def test_what_no_line_can_carry_is_refused(argv: list[str]) -> None:
    with pytest.raises(ValueError, match="command line"):
        join(argv)


def test_the_program_of_any_line_can_be_told() -> None:
    assert split_program("") == ("", "")
    assert split_program("  ") == ("", "")
    assert split_program('"C:\\a b\\x.exe"y z') == ("C:\\a b\\x.exe", "y z")
    assert split_program("x.exe\ty  z") == ("x.exe", "y  z")
    assert split_program('"unclosed') == ("unclosed", "")


def test_a_block_holds_sorted_entries_and_the_last_of_names_that_windows_takes_for_one() -> None:
    environ = {"b": "2", "Path": "old", "A": "\u4f60=x", "PATH": "new", "=C:": "C:\\x"}
    assert environment_block(environ) == "=C:=C:\\x\0A=\u4f60=x\0b=2\0PATH=new\0"
    assert environment_block({}) == ""


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=6))
def test_no_value_can_add_or_end_an_entry(environ: dict[str, str]) -> None:
    block = environment_block(environ)
    entries = block.split("\0")[:-1]
    assert len(entries) <= len(environ)
    assert "" not in entries
    assert all(entry[1:].partition("=")[1] and entry in {f"{n}={v}" for n, v in environ.items()} for entry in entries)


def test_a_windows_without_pseudo_consoles_is_told_with_its_build_and_what_to_do() -> None:
    message = unsupported(17134)
    assert message is not None
    assert "17134" in message
    assert str(FIRST_BUILD) in message
    assert "neocode diag --error-log" in message
    assert "\n" not in message
    assert unsupported(FIRST_BUILD) is None
    assert unsupported(26100) is None
    assert windows_build() >= 0


def test_entries_of_a_block_are_split_behind_the_sign_that_begins_a_drives() -> None:
    for entry, name, value in [
        ("Path=C:\\a=b", "Path", "C:\\a=b"),
        ("=C:=C:\\x", "=C:", "C:\\x"),
        ("=ExitCode=00000001", "=ExitCode", "00000001"),
        ("A=", "A", ""),
    ]:
        assert split_entry(entry) == (name, value)


def test_names_are_spelled_as_they_were_and_new_ones_stay_as_they_are() -> None:
    environ = {"PATH": "C:\\a", "NEOCODE_SHELL_SESSION": "1", "=C:": "C:\\x"}
    names = ["Path", "=C:", "Removed"]
    assert respelled(environ, names) == {"Path": "C:\\a", "NEOCODE_SHELL_SESSION": "1", "=C:": "C:\\x"}
