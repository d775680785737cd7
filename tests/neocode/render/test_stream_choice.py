"""Which of the two ways of showing is chosen, and whether with colour."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from neocode.render.markdown import MarkdownStream
from neocode.render.stream import PlainStream, open_stream, terminal_width, use_color, writer


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "terminal", "environ", "expected"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", True, {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("auto", True, {}, True),
        ("always", False, {"NO_COLOR": "1", "TERM": "dumb"}, True),
        ("never", True, {"TERM": "xterm"}, False),
    ],
)
def test_colour_follows_the_flag_then_the_environment(
    choice: str, terminal: bool, environ: dict[str, str], expected: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert use_color(choice, stream, environ) is expected  # type: ignore[arg-type]


def test_a_pipe_gets_the_markdown_as_it_is_delta_by_delta() -> None:
    pipe = io.StringIO()
    stream = open_stream(pipe, "auto", {})
    assert isinstance(stream, PlainStream)
    stream.feed("## Cau")
    assert pipe.getvalue() == "## Cau"
    stream.feed("se\n**b** \x1b[2J")
    stream.finish()
    assert pipe.getvalue() == "## Cause\n**b** \\x1b[2J\n"


def test_a_pipe_that_is_asked_for_colour_gets_it_rendered() -> None:
    pipe = io.StringIO()
    stream = open_stream(pipe, "always", {})
    stream.feed("# T")
    stream.finish()
    assert pipe.getvalue() == "\x1b[1mT\x1b[0m\n"


def test_a_terminal_without_colour_is_still_rendered() -> None:
    terminal = Terminal()
    stream = open_stream(terminal, "auto", {"TERM": "dumb"})
    assert isinstance(stream, MarkdownStream)
    stream.feed("# T **b**")
    stream.finish()
    assert terminal.getvalue() == "T b\n"


@pytest.mark.skipif(sys.platform == "win32", reason="has no pty")
class TestOnAPty:
    @pytest.fixture
    def pty(self) -> Iterator[tuple[int, int]]:
        master, slave = os.openpty()
        yield master, slave
        os.close(master)
        os.close(slave)

    @pytest.mark.parametrize(("columns", "width"), [(60, 59), (200, 100), (0, 80), (1, 80)])
    def test_the_width_is_the_terminals_up_to_what_reads_well(
        self, pty: tuple[int, int], columns: int, width: int
    ) -> None:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(pty[1], termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with open(pty[1], "w", closefd=False) as stream:
            assert terminal_width(stream) == width


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
def test_what_the_encoding_lacks_becomes_a_question_mark(encoding: str) -> None:
    raw = io.BytesIO()
    write = writer(io.TextIOWrapper(raw, encoding=encoding))
    write("a 🌍 b")
    assert raw.getvalue() == b"a ? b"


def test_importing_the_renderer_brings_nothing_heavy() -> None:
    heavy = ["markdown_it", "wcwidth", "ruamel", "asyncio", "prompt_toolkit", "openai", "difflib", "argparse"]
    code = (
        "import sys, neocode.render.answer, neocode.render.stream, neocode.render.summary, neocode.config.file\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"
