"""A fence's lines joined into commands as a shell's reader would."""

from __future__ import annotations

import pytest

from neocode.render.logical import Logical, logical_lines


def commands(text: str, tag: str = "sh") -> list[str]:
    found = list(logical_lines(text.split("\n"), tag))
    assert not any(line.multi for line in found), found
    return [line.text for line in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n# why\nb", ["a", "b"]),
        ("docker run \\\n  -p 80:80 \\\n  nginx", ["docker run -p 80:80 nginx"]),
        ("ab\\\ncd", ["abcd"]),
        ('echo "a \\\n b"', ['echo "a  b"']),
        ("echo a\\\\\nb", ["echo a\\\\", "b"]),
        ("a |\n  b &&\n  c", ["a | b && c"]),
        ("cd C:\\Users\\me\\\ndir", ["cd C:\\Users\\me\\", "dir"]),
        ("for i in 1 2; do echo $i; done\nls", ["for i in 1 2; do echo $i; done", "ls"]),
        ("if true; then ls; fi", ["if true; then ls; fi"]),
        ("echo '#no comment' # a comment (with", ["echo '#no comment' # a comment (with"]),
        ("cat <<< word", ["cat <<< word"]),
        ("echo $((1<<3))", ["echo $((1<<3))"]),
        ("awk '{print $1}' file", ["awk '{print $1}' file"]),
        ("find . \\( -name x \\) -print", ["find . \\( -name x \\) -print"]),
        ("`npm ci`", ["npm ci"]),
        ("1. npm ci\n2. npm test", ["npm ci", "npm test"]),
        ("echo `date`", ["echo `date`"]),
    ],
)
def test_lines_are_joined_like_a_shell_joins_them(text: str, expected: list[str]) -> None:
    assert commands(text) == expected


@pytest.mark.parametrize(
    "line",
    [
        "$ npm ci",
        "  $ npm ci",
        "❯ npm ci",
        "➜ npm ci",
        "% npm ci",
        "> npm ci",
        "PS> npm ci",
        "PS C:\\Users\\me> npm ci",
        "C:\\Users\\me>npm ci",
        "C:\\Program Files\\x>npm ci",
        "me@host:~/src$ npm ci",
        "root@host:/# npm ci",
        "[me@host src]$ npm ci",
        "(venv) $ npm ci",
        "(venv) me@host:~$ npm ci",
    ],
)
def test_prompts_are_taken_off(line: str) -> None:
    assert commands(line) == ["npm ci"]


@pytest.mark.parametrize(
    "line", ["> /var/log/big.log", "> out.txt", "$HOME/bin/x", "$x = 1", "[ -f x ] && ls", "%USERPROFILE%\\x.cmd"]
)
def test_what_only_looks_like_a_prompt_stays(line: str) -> None:
    assert commands(line) == [line]


def test_the_output_in_a_transcript_is_no_command() -> None:
    assert commands("$ npm ci\nadded 3 packages\n$ docker run \\\n    nginx\nready", "console") == [
        "npm ci",
        "docker run nginx",
    ]


@pytest.mark.parametrize(
    ("tag", "text", "expected"),
    [
        ("powershell", "Get-Item `\n  -Path x", ["Get-Item -Path x"]),
        ("powershell", "cd C:\\temp\\\nls", ["cd C:\\temp\\", "ls"]),
        ("powershell", "Write-Output 'it''s'", ["Write-Output 'it''s'"]),
        ("cmd", "echo a ^\n  b\nREM why\n:: why\necho don't", ["echo a b", "echo don't"]),
        ("bat", "if exist x del x\ndir", ["if exist x del x", "dir"]),
        ("fish", "if true; ls; end\npwd", ["if true; ls; end", "pwd"]),
        ("", "if exist x del x\ndir", ["if exist x del x", "dir"]),
    ],
)
def test_windows_shells_have_their_own_rules(tag: str, text: str, expected: list[str]) -> None:
    assert commands(text, tag) == expected


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("sh", "cat > f <<EOF\nhello\nEOF"),
        ("sh", "cat <<-'END' | sh\n\thello\n\tEND"),
        ("", "cat <<EOF\nfirst # not a comment\n\nEOF"),
        ("sh", "for i in 1 2; do\n  echo $i\ndone"),
        ("", "for i in 1 2; do\n  echo $i\ndone"),
        ("sh", "for i in 1 2\ndo\n  echo $i\ndone"),
        ("bash", "if [ -f x ]; then\n  if true; then\n ls\n fi\nfi"),
        ("sh", "f() {\n  ls\n}"),
        ("sh", "echo 'one\ntwo'"),
        ("sh", 'git commit -m "one\n\ntwo"'),
        ("sh", "x=$(\n  ls\n)"),
        ("fish", "for x in a b\n    if true\n        echo $x\n    end\nend"),
        ("powershell", "foreach ($x in 1..3) {\n  $x\n}"),
        ("powershell", "$s = @'\nhello\n'@"),
        ("sh", "echo 'never closed"),
        ("sh", "echo a \\"),
        ("sh", "cat <<EOF\nnever ended"),
    ],
)
def test_what_needs_several_lines_stays_in_one_piece(tag: str, text: str) -> None:
    assert list(logical_lines(text.split("\n"), tag)) == [Logical(text, multi=True)]


def test_commands_go_on_after_a_construct_of_several_lines() -> None:
    found = list(logical_lines(["for i in 1; do", "  ls", "done", "cat <<A", "x", "A", "pwd"], "sh"))
    assert [line.multi for line in found] == [True, True, False]
    assert found[-1].text == "pwd"
