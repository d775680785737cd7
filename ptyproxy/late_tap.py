"""Stands in for the tap until the user's first prompt shows; then imports its modules, one by one between two bytes.

Invariants: the first prompt waits for none of them; later a byte waits for one at most; what passed before is looked
at afterwards, in order; a key that is typed before, or more output than is worth keeping, ends the wait at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module

from ptyproxy.tap_guard import Tap

PROMPT_END = b"\x1b]7781;neocode;B"
PATIENCE_SEC = 0.2  # a shell without marks never says that its prompt is there
MAX_HELD_BYTES = 256 * 1024  # a shell's start prints less; then there is no hurry left to spare

# what `wrapped` needs, those without needs of their own first, so that each step is one or two milliseconds
MODULES = (
    "ptyproxy.records",
    "ptyproxy.ports",
    "ptyproxy.messages",
    "ptyproxy.stream.osc",
    "ptyproxy.stream.foreign",
    "ptyproxy.stream.replies",
    "ptyproxy.stream.scan",
    "ptyproxy.stream.marks",
    "ptyproxy.stream.modes",
    "ptyproxy.stream.keys",
    "ptyproxy.running",
    "ptyproxy.commands",
    "ringbuffer.utf8",
    "ringbuffer.ring",
    "ringbuffer.head",
    "ptyproxy.capture",
    "ptyproxy.policy",
    "ptyproxy.notices",
    "ptyproxy.diagnosis",
    "ptyproxy.integration.hotkey",
    "ptyproxy.typed_line",
    "ptyproxy.typed_ahead",
    "ptyproxy.findings",
    "ptyproxy.prompt_situation",
    "ptyproxy.tap",
    "ptyproxy.control",
    "ptyproxy.wrapped",
)


class LateTap:
    """`make` gives the real tap, once everything is imported; it becomes the pump's tap by `make`'s doing."""

    def __init__(self, make: Callable[[], Tap], modules: tuple[str, ...] = MODULES) -> None:
        self._make = make
        self._steps: Iterator[str] = iter(modules)
        self._begin_at = time.monotonic() + PATIENCE_SEC
        self._held: list[bytes] = []
        self._size = 0
        self._tap: Tap | None = None

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """Nothing waits to be shown."""
        return None

    def output(self, data: bytes) -> None:
        """Hold what the child printed."""
        self._held.append(data)
        self._size += len(data)
        if PROMPT_END in data:
            self._begin_at = 0.0
        if self._size > MAX_HELD_BYTES:
            self._finish()

    def input(self, data: bytes) -> bytes:
        """Somebody types already."""
        return self._finish().input(data)

    def resized(self, rows: int, cols: int) -> None:
        """The real tap asks for the size when it needs it."""

    def tick(self) -> float | None:
        """When it is time, import one module; call again at once."""
        left = self._begin_at - time.monotonic()
        if left > 0:
            return left
        for name in self._steps:
            import_module(name)
            return 0.0
        return self._finish().tick()

    def close(self) -> None:
        """The shell ended before: what it printed is looked at now, if it may have left a mode of the terminal on."""
        if self._tap is None and any(b"\x1b" in data for data in self._held):
            self._finish()

    def _finish(self) -> Tap:
        if self._tap is None:
            self._tap = self._make()
            for data in self._held:
                self._tap.output(data)
            self._held.clear()
        return self._tap
