"""Properties: nothing makes the renderer raise, no cut changes its output, nothing hostile gets through."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import groupby, pairwise
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neocode.render.answer import may_insert, parse_answer
from neocode.render.inline import Run, code_only, parse_inline
from neocode.render.markdown import MAX_LINE_CHARS, MarkdownStream
from neocode.render.stream import PlainStream
from neocode.render.summary import AnswerFacts, answer_json, closing_line
from ptyproxy.sanitize import sanitize

PIECES = [
    "## Cause\n", "## Fix\n", "**Check:** ", "# Confidence\n", "Fix: ", "```sh\n", "```", "~~~\n", "````md\n",
    "\n", "\n\n", "\r\n", "\r", "\t", " ", "    ", "- ", "1. ", "> ", "$ ", "PS C:\\> ", "|a|b|\n", "---\n",
    "===\n", "***", "**bold**", "*em*", "`code`", "``a`b``", "[text](http://x/y)", "![alt](http://x/i.png)",
    "<http://x/%1b[2J>", "&#27;[2J", "&#x9b;2J", "<b>", "<!--", "npm install \\\n", "cat <<EOF\n", "EOF\n",
    "for i in 1; do\n", "done\n", "'", '"', "(", "{", "}", "\\", "high", "medium", "low", "95%", "\x1b",
    "\x1b[31m", "\x1b]52;c;SGVsbG8=\x07", "\x1b]8;;http://x\x1b\\", "\x9b2J", "\x9d0;t\x9c", "\u202e", "\u200b",
    "\ufeff", "\x00", "\ud83d", "\ude00", "你好世界", "，", "e\u0301", "👩\u200d💻", "❤\ufe0f", "word ",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=40).map("".join)

SGR = re.compile(r"\x1b\[[0-9;]*m")


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the same text in pieces."""
    text = draw(texts)
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    return text, [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


def rendered(pieces: list[str], width: int, color: bool) -> str:
    out: list[str] = []
    stream = MarkdownStream(width, color, out.append)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return "".join(out)


@given(texts, st.booleans())
def test_any_answer_is_parsed_without_an_exception(text: str, cut: bool) -> None:
    found = parse_answer(text, cut=cut)
    for command in found.fix_commands + found.investigation_commands:
        assert may_insert(command)
    for words in (found.root_cause, found.explanation, *(item.text for item in found.flagged)):
        assert sanitize(words) == words
    assert "\n" not in found.root_cause
    if not found.well_formed:
        assert (found.root_cause, found.fix_commands, found.investigation_commands) == ("", (), ())
        assert found.confidence == "low"
    answer_json(found, AnswerFacts(provider=text, model=text))


@given(texts)
def test_no_flagged_command_is_also_offered(text: str) -> None:
    found = parse_answer("## Cause\nx\n## Fix\n```sh\n" + text)
    offered = set(found.fix_commands)
    assert not any(
        item.text in offered for item in found.flagged if item.section == "fix" and item.reason != "too long"
    )


@given(cut_texts(), st.integers(20, 60), st.booleans())
def test_the_rendering_does_not_depend_on_the_cuts(cut: tuple[str, list[str]], width: int, color: bool) -> None:
    text, pieces = cut
    whole = rendered([text], width, color)
    assert rendered(pieces, width, color) == whole
    assert rendered(list(text), width, color) == whole


@given(cut_texts())
def test_over_long_lines_and_blocks_are_parted_at_the_same_places(cut: tuple[str, list[str]]) -> None:
    text, pieces = cut
    with mock.patch.multiple("neocode.render.markdown", MAX_LINE_CHARS=11, MAX_BLOCK_CHARS=25):
        assert rendered(pieces, 30, False) == rendered([text], 30, False)


def test_memory_is_bounded_by_one_line() -> None:
    stream = MarkdownStream(80, False, lambda line: None)
    for _ in range(3000):
        stream.feed("x" * 100)
        assert len(stream._partial) <= MAX_LINE_CHARS


@given(cut_texts())
def test_the_plain_stream_does_not_depend_on_the_cuts(cut: tuple[str, list[str]]) -> None:
    text, pieces = cut
    out: list[str] = []
    stream = PlainStream(out.append)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    shown = sanitize(text)
    assert "".join(out) == (shown if not shown or shown.endswith("\n") else shown + "\n")


@given(texts, st.integers(20, 60))
def test_only_our_own_colours_reach_the_terminal(text: str, width: int) -> None:
    shown = rendered([text], width, True)
    for sequence in SGR.findall(shown):
        codes = sequence[2:-1].split(";")
        assert set(codes) <= {"0", "1", "2", "3", "4", "36"}
    rest = SGR.sub("", shown)
    assert "\x1b" not in rest
    assert not [c for c in rest if c not in "\n\t" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0)]
    for line in shown.split("\n"):
        assert line.count("\x1b[0m") * 2 == len(SGR.findall(line)), "a line leaves its colour on"


@given(texts, st.integers(20, 60))
def test_without_colour_there_is_no_escape_at_all(text: str, width: int) -> None:
    assert "\x1b" not in rendered([text], width, False)


@given(
    st.lists(
        st.sampled_from(["word", "a", "你好", "世界，", "`x y`", "**b c**", "[t](http://u.v/w)", "e\u0301"]),
        max_size=60,
    )
)
def test_flowing_text_never_exceeds_the_width(words: list[str]) -> None:
    from wcwidth import wcswidth

    for line in rendered([" ".join(words)], 30, False).split("\n"):
        assert wcswidth(line) <= 30


SPANS = ["`", "`a b`", "` x `", "`_y*`", "word", " ", "\n", "你", "&#27;", "\\", "\\`", "#", "-", "]", ">"]


@given(st.lists(st.sampled_from(SPANS), max_size=12))
def test_text_with_nothing_but_code_spans_is_read_as_the_parser_reads_it(parts: list[str]) -> None:
    text = "".join(parts)
    quick = code_only(text, ())
    if quick is not None:
        with mock.patch("neocode.render.inline.code_only", return_value=None):
            assert merged(quick) == merged(parse_inline(text))


def merged(runs: list[Run]) -> list[tuple[str, tuple[str, ...]]]:
    """Neighbours of one style as one."""
    return [("".join(run.text for run in group), style) for style, group in groupby(runs, lambda run: run.style)]


def test_an_answer_of_the_offline_rules_is_shown_without_the_parser() -> None:
    code = (
        "import sys; from neocode.render.markdown import MarkdownStream\n"
        "stream = MarkdownStream(80, True, sys.stdout.write)\n"
        "stream.feed('## Cause\\nNo command `gti`.\\n## Fix\\n```sh\\ngit status\\n```\\n'); stream.finish()\n"
        "print([name for name in ('markdown_it', 'wcwidth') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.splitlines()[-1] == "[]"


@given(texts)
def test_the_closing_line_is_one_clean_line(text: str) -> None:
    line = closing_line(AnswerFacts(provider=text, model=text), color=False)
    assert "\n" not in line
    assert sanitize(line) == line


@pytest.mark.no_cover  # what is timed is not traced
@pytest.mark.parametrize(
    "text",
    [
        "`" * 200_000,
        "[" * 200_000,
        "*a" * 100_000,
        "```" + " " * 200_000 + "`",
        "## Fix\n" + "- `" * 60_000,
        "## Fix\n```\n" + "'\n" * 100_000,
        "## Fix\n```\n" + "cat <<A\n" * 30_000,
        "## Fix\n```\n" + "x\\\n" * 100_000,
        "> " * 100_000,
        "- " * 100_000,
        "![" * 100_000,
        "<" * 200_000,
        "a_" * 100_000,
        "word " * 100_000,
    ],
)
def test_hostile_answers_take_linear_time(text: str) -> None:
    """Each takes about a second; a step that is quadratic in the whole text would meet the time-out."""
    parse_answer(text)
    rendered([text], 80, True)
