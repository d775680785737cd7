"""The `@ai` mode's editor between two queues: prompt_toolkit's input and output without a descriptor of their own.

Invariants: only whole keys and whole pastes reach the editor, never a sequence it does not know (it would insert it as
text); once the editor has ended, not one more key is taken, so that the rest can go to the child.
"""

from __future__ import annotations

import asyncio
import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.base import Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.vt100 import Vt100_Output

from ptyproxy.idm.keyboard import Keyboard
from ptyproxy.stream.keys import Input as Piece

ENDING_KEYS = "\x03\x04"  # after one of them the editor may have ended


class KeyInput(Input):
    """Gives the editor the keyboard's pieces, one at a time."""

    def __init__(self, keyboard: Keyboard) -> None:
        self._keyboard = keyboard
        self._keys: list[KeyPress] = []
        self._parser = Vt100Parser(self._keys.append)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._callback: Callable[[], None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Take no more keys until the input is attached again."""
        self._stopped = True

    def read_keys(self) -> list[KeyPress]:
        """The keys of the next piece; calls for the next round if there is more."""
        if self._stopped:
            return []
        piece = self._keyboard.get()
        if piece is None:
            return []
        self._keys.clear()
        self._take(piece)
        if self._keyboard.ready:
            asyncio.get_running_loop().call_soon(self._ready)
        return list(self._keys)

    def _take(self, piece: Piece) -> None:
        if piece.kind == "text":
            self._text(piece)
        elif piece.kind == "paste":
            text = self._decoder.decode(piece.data).replace("\r\n", "\n").replace("\r", "\n")
            self._keys.append(KeyPress(Keys.BracketedPaste, text))
        else:
            self._decoder.reset()
            text = "\r" if piece.kind == "enter" else piece.data.decode("utf-8", "replace")
            # ESC and one character is Alt with it; a longer one must be known
            if len(text) <= 2 or text in ANSI_SEQUENCES:
                self._parser.feed_and_flush(text)

    def _text(self, piece: Piece) -> None:
        data = piece.data
        ends = [at for at in (data.find(key.encode()) for key in ENDING_KEYS) if at >= 0]
        if ends and len(data) > min(ends) + 1:
            self._keyboard.unget(piece._replace(data=data[min(ends) + 1 :]))
            data = data[: min(ends) + 1]
        self._parser.feed_and_flush(self._decoder.decode(data))

    def _ready(self) -> None:
        if self._callback is not None:
            self._callback()

    @contextmanager
    def _attached(self, callback: Callable[[], None]) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        self._stopped, self._callback = False, callback
        self._keyboard.listen(lambda: loop.call_soon_threadsafe(self._ready))
        try:
            yield
        finally:
            self._keyboard.listen(None)
            self._callback = None

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        """See `Input.attach`."""
        return self._attached(input_ready_callback)

    @contextmanager
    def detach(self) -> Iterator[None]:
        """See `Input.detach`; nothing of ours runs beside the editor."""
        yield

    @contextmanager
    def raw_mode(self) -> Iterator[None]:
        """The terminal is raw already."""
        yield

    @contextmanager
    def cooked_mode(self) -> Iterator[None]:
        """Nothing of ours needs it."""
        yield

    @property
    def closed(self) -> bool:
        """Never: the mode ends by messages."""
        return False

    def fileno(self) -> int:
        """There is none."""
        raise io.UnsupportedOperation("no descriptor")

    def typeahead_hash(self) -> str:
        """Names this input."""
        return f"neocode-{id(self)}"


class ModeOutput(Vt100_Output):
    """What the editor draws goes to `show` with each flush. It never asks the terminal anything."""

    def __init__(self, show: Callable[[bytes], None], size: Callable[[], tuple[int, int]], term: str) -> None:
        """`size`: rows and columns now."""
        super().__init__(io.StringIO(), lambda: Size(*size()), term=term, enable_cpr=False)
        self._show = show

    def flush(self) -> None:
        """Hand over what was drawn."""
        data = "".join(self._buffer)
        self._buffer.clear()
        if data:
            self._show(data.encode("utf-8", "replace"))

    def show_cursor(self) -> None:
        """Without the blinking that prompt_toolkit switches off on the way and nobody on again."""
        if self._cursor_visible in (False, None):
            self._cursor_visible = True
            self.write_raw("\x1b[?25h")

    def encoding(self) -> str:
        """Always UTF-8."""
        return "utf-8"
