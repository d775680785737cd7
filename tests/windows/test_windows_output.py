"""Output in a console's code page, and a console's colours: what can be tried without Windows."""

from __future__ import annotations

import atexit
import io
import json
from collections.abc import Callable

import pytest

from neocode.cli.diag_direct import for_any_code_page
from neocode.cli.windows_console import VT_PROCESSING, encoding_of, recode, switch_on_sequences

HANDLE = 7


class FakeModes:
    """A console whose modes can be set, or not."""

    def __init__(self, mode: int | None, settable: bool = True) -> None:
        self.current = mode
        self.settable = settable

    def mode(self, handle: int) -> int | None:
        assert handle == HANDLE
        return self.current

    def set_mode(self, handle: int, mode: int) -> bool:
        if self.settable:
            self.current = mode
        return self.settable


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    registered: list[Callable[[], object]] = []

    def register(function: Callable[..., object], *arguments: object) -> None:
        registered.append(lambda: function(*arguments))

    monkeypatch.setattr(atexit, "register", register)
    return registered


def test_colours_are_switched_on_and_the_mode_is_given_back(at_exit: list[Callable[[], object]]) -> None:
    console = FakeModes(3)
    switch_on_sequences(console, HANDLE)
    assert console.current == 3 | VT_PROCESSING
    for function in at_exit:
        function()
    assert console.current == 3


@pytest.mark.parametrize("console", [FakeModes(None), FakeModes(3 | VT_PROCESSING), FakeModes(3, settable=False)])
def test_what_is_no_console_or_has_them_or_cannot_is_left_alone(
    console: FakeModes, at_exit: list[Callable[[], object]]
) -> None:
    before = console.current
    switch_on_sequences(console, HANDLE)
    assert console.current == before
    assert at_exit == []


@pytest.mark.parametrize(
    ("page", "name"),
    [(437, "cp437"), (850, "cp850"), (936, "gbk"), (932, "cp932"), (65001, "utf-8"), (0, "utf-8"), (20, "utf-8")],
)
def test_code_pages_have_pythons_names(page: int, name: str) -> None:
    assert encoding_of(page) == name


def test_what_the_code_page_lacks_becomes_a_question_mark() -> None:
    """JanDeDobbeleer/oh-my-posh#7776: an output that raises, or is mojibake, in code page 437."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="cp1252")
    recode(stream, "cp437")
    print("Küche · 测试 ─", file=stream, end="")
    stream.flush()
    assert raw.getvalue().decode("cp437") == "Küche · ?? ─"


def test_json_can_be_read_in_every_code_page() -> None:
    answer = '{"root_cause":"Küche 测试 😀","fix":[]}'.encode()
    escaped = for_any_code_page(answer, "cp437")
    assert escaped.isascii()
    assert json.loads(escaped) == json.loads(answer)
    assert list(json.loads(escaped)) == ["root_cause", "fix"]
    assert for_any_code_page(answer, "utf-8") == answer
    assert for_any_code_page(b'{"a":1}', "cp437") == b'{"a":1}'
