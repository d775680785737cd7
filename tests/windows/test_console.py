"""The console is left as it was found, and carries every character in both directions."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_console import COOKED, IN, OUT, PAGES, PLAIN, FakeConsole, key, typed
from hypothesis import given
from hypothesis import strategies as st

from conpty.console import FAREWELL, Console, ResizeRecord, Typed
from conpty.console_events import CTRL_BREAK, CTRL_C, CTRL_CLOSE, ControlEvents

SUPPORT = Path(__file__).parent.parent / "support"


def changed(api: FakeConsole) -> Console:
    """A console in raw mode whose code pages somebody has changed."""
    console = Console(api)
    console.enter()
    api.pages = (65001, 65001)
    assert (api.modes[IN], api.modes[OUT]) != (COOKED, PLAIN)
    return console


def as_found(api: FakeConsole) -> bool:
    return (api.modes[IN], api.modes[OUT], api.pages) == (COOKED, PLAIN, PAGES)


def test_everything_is_saved_before_anything_is_changed() -> None:
    api = FakeConsole()
    changed(api)
    first_change = next(at for at, call in enumerate(api.log) if call.startswith("set_"))
    assert {f"mode {IN}", f"mode {OUT}", "code_pages"} <= set(api.log[:first_change])


def test_raw_mode_leaves_selecting_with_the_mouse_to_the_user() -> None:
    api = FakeConsole()
    changed(api)
    assert api.modes[IN] == COOKED & ~0x7 | 0x208  # no processed, line, echo; window events, VT sequences
    assert api.modes[OUT] == PLAIN | 0xD


def test_a_host_that_does_not_know_a_flag_of_the_output_mode_gets_it_without() -> None:
    api = FakeConsole(refused=0x8)
    changed(api)
    assert api.modes[OUT] == PLAIN | 0x5


@pytest.mark.parametrize("way", ["leave", "restore", "close"])
def test_every_way_out_puts_modes_and_code_pages_back(way: str) -> None:
    api = FakeConsole()
    console = changed(api)
    getattr(console, way)()
    assert as_found(api)
    getattr(console, way)()
    assert as_found(api)


def test_what_was_changed_without_raw_mode_is_put_back_too() -> None:
    """pywinpty leaves VT processing on (andfoy/pywinpty: PTY's constructor sets the mode of CONOUT$)."""
    api = FakeConsole()
    console = Console(api)
    api.modes[OUT] |= 4
    console.close()
    assert as_found(api)


def test_an_exception_that_nobody_catches_leaves_the_console_as_it_was() -> None:
    program = f"""if True:
        import atexit, sys
        sys.path.append({str(SUPPORT)!r})
        from fake_console import FakeConsole
        from conpty.console import Console
        api = FakeConsole()
        atexit.register(lambda: print(api.modes, api.pages))
        Console(api).enter()
        api.pages = (65001, 65001)
        raise SystemExit(3)
    """
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (3, f"{ {IN: COOKED, OUT: PLAIN} } {PAGES}\n".encode())


def test_conptys_own_modes_are_switched_off_while_the_screen_still_understands_it() -> None:
    api = FakeConsole()
    console = changed(api)
    api.log.clear()
    console.leave()
    assert api.screen == FAREWELL == "\x1b[?9001l\x1b[?1004l"
    assert api.log.index("write") < next(at for at, call in enumerate(api.log) if call.startswith("set_mode"))


def test_closing_the_window_gives_us_time_and_then_restores() -> None:
    api = FakeConsole()
    console = changed(api)
    events = ControlEvents(api, close_sec=0.2)
    told = threading.Event()
    events.notify, events.restore = told.set, console.restore
    events.install()
    assert api.log[-1] == "allow_interrupts"
    assert api.handler is not None
    since = time.monotonic()
    assert api.handler(CTRL_CLOSE)
    assert time.monotonic() - since >= 0.2
    assert told.is_set()
    assert events.closed
    assert as_found(api)


@pytest.mark.parametrize("kind", [CTRL_C, CTRL_BREAK])
def test_an_interrupt_is_told_and_ends_nothing(kind: int) -> None:
    api = FakeConsole()
    events = ControlEvents(api)
    events.install()
    assert api.handler is not None
    assert api.handler(kind)
    assert events.interrupted
    assert not events.closed
    assert not api.handler(77)
    events.close()
    assert api.handler is None


def test_without_a_console_there_is_none_to_open() -> None:
    api = FakeConsole()
    api.gone = True
    with pytest.raises(OSError, match="no console"):
        Console(api)


def test_keys_and_sizes_come_in_order_and_stop_ends_the_wait() -> None:
    api = FakeConsole()
    console = Console(api)
    api.put(key(0, virtual_key=0x10), *typed("a😀"), ResizeRecord())
    assert console.read() == Typed("a😀".encode(), True)
    api.put(ResizeRecord())
    assert console.read() == Typed(b"", True)
    got: list[Typed | None] = []
    reader = threading.Thread(target=lambda: got.append(console.read()))
    reader.start()
    api.put(key(0, virtual_key=0x10))  # nothing that anybody wants to know
    console.stop()
    reader.join(10)
    assert got == [None]
    assert console.read() is None


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=60), st.lists(st.integers(0, 200)))
def test_utf8_may_be_cut_anywhere_on_its_way_to_the_screen(text: str, cuts: list[int]) -> None:
    api = FakeConsole()
    api.takes = 3
    console = Console(api)
    data, at = text.encode(), 0
    for cut in [*sorted(cuts), len(data)]:
        console.write(data[at:cut] if cut > at else b"")
        at = max(at, cut)
    console.close()
    assert api.screen == text


def test_much_text_goes_out_in_pieces_that_every_host_takes() -> None:
    api = FakeConsole()
    text = "x" + "😀" * 9000
    Console(api).write(text.encode())
    assert api.screen == text
    assert max(api.writes) <= 8192
    assert sum(api.writes) == 18001


def test_a_console_that_is_gone_is_an_error_and_leaving_it_is_none() -> None:
    api = FakeConsole()
    console = changed(api)
    api.gone = True
    with pytest.raises(OSError, match="invalid"):
        console.write(b"x")
    with pytest.raises(OSError, match="invalid"):
        console.read()
    console.close()


class Screen(FakeConsole):
    """One that knows where its cursor is, since the test says so."""

    at: tuple[int, int] | None = (0, 0)

    def cursor(self, handle: int) -> tuple[int, int] | None:
        return self.at


@pytest.mark.parametrize(
    ("left", "now", "brought_back"),
    [
        ((5, 0), (5, 0), ""),  # it has not moved: nothing, not even to the same place, which would end a pending wrap
        ((5, 0), (9, 0), "\x1b[24;1H\n\n\n\n\x1b[6;1H"),
        ((5, 7), (9, 2), "\x1b[24;1H\n\n\n\n\n\x1b[6;8H"),  # the row that we wrote in goes up as well
        ((5, 7), (9, 7), "\x1b[24;1H\n\n\n\n\x1b[6;8H"),  # but for its own line, drawn again
        ((23, 4), (23, 0), "\x1b[24;5H"),  # the screen is full
        ((9, 4), (2, 0), "\x1b[10;5H"),  # we cleared the screen
        (None, (2, 0), ""),
        ((9, 4), None, ""),  # scrolled out of sight
    ],
)
def test_the_child_finds_the_cursor_where_it_left_it(
    left: tuple[int, int] | None, now: tuple[int, int] | None, brought_back: str
) -> None:
    api = Screen()
    console = changed(api)
    console.write(b"child")
    api.at = left
    console.show(b"ours")
    console.show(b" and more")
    api.at = now
    console.write(b"again")
    console.write(b".")
    assert api.screen == f"childours and more{brought_back}again."


def test_a_child_begins_on_an_empty_screen() -> None:
    api = Screen()
    api.at = (3, 2)
    console = changed(api)
    console.write(b"\xc3")
    console.write(b"\xa9")
    assert api.screen == "\x1b[24;1H\n\n\n\n\x1b[1;1H\x1b[J\xe9"


def test_our_words_may_come_between_two_parts_of_a_character() -> None:
    api = FakeConsole()
    console = changed(api)
    console.write(b"\xc3")
    console.show("\u4f60".encode()[:1])
    console.show("\u4f60".encode()[1:])
    console.write(b"\xa9")
    assert api.screen == "\u4f60\xe9"


def test_a_console_that_takes_no_sequences_gets_none() -> None:
    api = Screen(refused=0x4)
    api.at = (3, 2)
    console = changed(api)
    console.write(b"child")
    console.show(b"ours")
    api.at = (5, 5)
    console.write(b"again")
    assert api.screen == "childoursagain"
