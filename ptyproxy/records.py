"""What is known of a command, and the events that the capture tells of. All of them are values: safe to hand on."""

from __future__ import annotations

from typing import Literal, NamedTuple

# who said where the command began and ended: our integration with its nonce, another's marks, or only the Enter key
Source = Literal["neocode", "foreign", "enter"]


class CommandRecord(NamedTuple):
    """One command. Offsets are absolute in the stream, times are the injected clock's seconds.

    `command` is None when nobody said it; `exact` when it is the very line the shell ran. `exit_code` None: unknown.
    The output is `start` to `end`; `end` None: still running. `approximate`: the span is what followed an Enter.
    `input_span`: where the line stands on the screen, when the prompt's end was marked. `head`: the first bytes of the
    output, kept apart from the ring. `truncated`: at its end the beginning had already left the ring.
    """

    number: int
    command: str | None
    exact: bool
    cwd: str | None
    exit_code: int | None
    started: float
    ended: float | None
    start: int
    end: int | None
    source: Source
    approximate: bool = False
    alternate_screen: bool = False
    input_span: tuple[int, int] | None = None
    head: bytes = b""
    truncated: bool = False


class Output(NamedTuple):
    """A command's output: `head`, then `skipped` bytes that are lost, then `tail`. Whole: no head, nothing skipped."""

    head: bytes
    skipped: int
    tail: bytes


class CommandStarted(NamedTuple):
    """A command began to run; its command line is complete."""

    record: CommandRecord


class CommandEnded(NamedTuple):
    """A command ended. `amended`: it was told before, and its exit code has become known since."""

    record: CommandRecord
    amended: bool = False


class PromptBegan(NamedTuple):
    """A prompt's mark at `start` to `end`. `new`: the first after a command ended; else the same prompt drawn again."""

    new: bool
    start: int
    end: int


class PromptEnded(NamedTuple):
    """The prompt is drawn, input begins."""

    start: int
    end: int


class HotkeyPressed(NamedTuple):
    """The shell's line editor says that the hotkey was pressed; `fields` as its mark had them, decoded."""

    fields: dict[str, str]
    start: int
    end: int


class ScreenSwitched(NamedTuple):
    """The alternate screen was entered or left."""

    alternate: bool
    start: int
    end: int


Event = CommandStarted | CommandEnded | PromptBegan | PromptEnded | HotkeyPressed | ScreenSwitched
