"""Logs as Windows programs and shells write them: what of them is sent is what the program said."""

from __future__ import annotations

import codecs
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli import NEOCODE, neo_home
from hypothesis import given
from hypothesis import strategies as st

from neocode.logs import make_redactor, prepare
from neocode.logs.powershell import lost_characters, unwrap_records

REDACTOR = make_redactor(())
TEXT = "Fehler: Prüfung von K\u00fcche.txt fehlgeschlagen\r\nzweite Zeile\r\n"

# Windows PowerShell 5.1, `npm install 2>&1`, in a German and in an English Windows, at 80 columns
GERMAN = """\
npm.cmd : npm ERR! code ECONNREFUSED
In Zeile:1 Zeichen:1
+ npm install 2>&1 | neocode diag
+ ~~~~~~~~~~~~~~~~
    + CategoryInfo          : NotSpecified: (npm ERR! code ECONNREFUSED:String) [], RemoteExcept\x20
   ion
    + FullyQualifiedErrorId : NativeCommandError
\x20
npm ERR! connect ECONNREFUSED 127.0.0.1:4873
"""
WRAPPED = """\
before
python.exe : error: the file that was named on the command line, build.log, cannot be opened: no
such file
At C:\\work\\build.ps1:12 char:1
+ & python.exe tool.py build.log 2>&1
+ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
    + CategoryInfo          : NotSpecified: (error: the file...:String) [], RemoteException
    + FullyQualifiedErrorId : NativeCommandErrorMessage
after
"""
OF_POWERSHELL = """\
gti : The term 'gti' is not recognized as the name of a cmdlet, function, script file, or operable program.
At line:1 char:1
+ gti status
+ ~~~
    + CategoryInfo          : ObjectNotFound: (gti:String) [], CommandNotFoundException
    + FullyQualifiedErrorId : CommandNotFoundException
"""


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),  # 5.1's `>`
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        codecs.BOM_UTF8 + TEXT.encode(),  # 5.1 with $OutputEncoding set, Notepad
        TEXT.encode(),  # PowerShell 7
        TEXT.encode("utf-16-le"),
    ],
    ids=["utf-16-le-bom", "utf-16-be-bom", "utf-8-bom", "utf-8", "utf-16-le"],
)
@pytest.mark.parametrize("legacy", ["", "cp850"])
def test_unicode_in_every_form_is_itself_whatever_the_code_page(data: bytes, legacy: str) -> None:
    assert prepare(data, REDACTOR, legacy=legacy).text == TEXT.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("cp850", "Datei nicht gefunden: Küche, Größe, é à ñ"),
        ("cp437", "├───src\n│   └───Prüfung"),  # `tree`; by its bytes alone it would pass for Chinese
        ("cp866", "Системе не удается найти указанный путь."),
        ("gbk", "系统找不到指定的路径。"),
        ("cp932", "指定されたパスが見つかりません。"),
    ],
)
def test_a_log_in_the_consoles_code_page_is_read_in_it(page: str, text: str) -> None:
    prepared = prepare(text.encode(page), REDACTOR, legacy=page)
    assert (prepared.text.rstrip("\n"), prepared.encoding) == (text, page)


def test_bytes_that_the_code_page_lacks_do_no_harm() -> None:
    assert "error" in prepare(b"error \x81\x00\x9d \xff\n", REDACTOR, legacy="cp932").text


def test_a_secret_in_utf_16_is_masked() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    prepared = prepare(codecs.BOM_UTF16_LE + f"id {key}\r\n".encode("utf-16-le"), REDACTOR)
    assert key not in prepared.text
    assert prepared.masked == 1


def test_a_programs_words_come_out_of_the_error_record_around_them() -> None:
    for text in (GERMAN, GERMAN.replace("\n", "\r\n")):
        prepared = prepare(codecs.BOM_UTF16_LE + text.encode("utf-16-le"), REDACTOR)
        assert prepared.text == "npm ERR! code ECONNREFUSED\nnpm ERR! connect ECONNREFUSED 127.0.0.1:4873\n"


def test_a_wrapped_message_stays_whole_and_its_surroundings_too() -> None:
    assert unwrap_records(WRAPPED.encode()).decode().splitlines() == [
        "before",
        "error: the file that was named on the command line, build.log, cannot be opened: no",
        "such file",
        "after",
    ]


def test_a_record_of_powershells_own_is_left_alone() -> None:
    assert unwrap_records(OF_POWERSHELL.encode()).decode() == OF_POWERSHELL


@given(
    st.lists(st.sampled_from([*GERMAN.splitlines(), *WRAPPED.splitlines(), *OF_POWERSHELL.splitlines()]), max_size=30)
)
def test_no_order_of_such_lines_raises_or_loses_a_line_of_its_own(lines: list[str]) -> None:
    """What is dropped are lines of a record; everything else keeps its order."""
    mine = [f"own line {number}" for number in range(3)]
    text = "\n".join([mine[0], *lines, mine[1], *lines, mine[2]])
    kept = unwrap_records(text.encode()).decode().split("\n")
    assert [line for line in kept if line in mine] == mine


def test_unwrapping_twice_changes_nothing_more() -> None:
    once = unwrap_records((GERMAN + WRAPPED).encode())
    assert unwrap_records(once) == once


@pytest.mark.parametrize(
    "text", ["Pr?fung fehlgeschlagen", "mkdir: K?che.txt", "?bung 3: Fehler", 'mkdir "????????"', "(Gr??e: 3)"]
)
def test_question_marks_in_place_of_letters_are_seen(text: str) -> None:
    assert lost_characters(text)


@pytest.mark.parametrize(
    "text",
    [
        "Prüfung? nein",  # its pipe carried the others
        "Continue? [y/N]",
        "https://example.org/a?b=c",
        "?? untracked.txt",
        "a ?? b; c?.d",
        "What??? no",
        "no question",
    ],
)
def test_question_marks_that_mean_a_question_are_not(text: str) -> None:
    assert not lost_characters(text)


@pytest.mark.skipif(sys.platform == "win32", reason="there it is tried with the real one")
def test_windows_powershell_is_named_once_when_its_pipe_has_lost_characters(tmp_path: Path) -> None:
    powershell = shutil.copy("/bin/bash", tmp_path / "powershell")  # what the process is called is what is looked at
    program = " ".join(NEOCODE)
    with neo_home() as home:
        for log, words in (("Pr?fung failed: K?che.txt", 1), ("Continue? failed", 0)):
            done = subprocess.run(
                [powershell, "-c", f"printf '{log}\n' | {program} diag; true"],
                env=home.env,
                capture_output=True,
                timeout=60,
                check=True,
            )
            assert b"## Cause" in done.stdout
            assert done.stderr.count(b"$OutputEncoding") == done.stderr.count(b"\n") == words
