"""The child's pseudo console and the user's console on Windows: `unix.py`'s names, with reads and writes that block.

Invariants: the console's modes are saved before the child is started and put back on every way out; stdin and stdout
may lead anywhere else, as in a script, and then they are read and written as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol

from conpty.backend import Launch, PtyBackend
from conpty.console import Console, ConsoleApi
from conpty.console_events import ControlEvents, HandlerApi
from ptyproxy.platform.base import (
    DEFAULT_SIZE,
    EXIT_NOT_EXECUTABLE,
    EXIT_NOT_FOUND,
    ShellCommand,
    Size,
    SpawnError,
)

STDIN, STDOUT = 0, 1
READ_BYTES = 32 * 1024
KILLED = 15  # the exit code that os.kill gives (TerminateProcess)


class Api(ConsoleApi, HandlerApi, Protocol):
    """All that is called of the console."""


def _system_api() -> Api:
    if sys.platform == "win32":
        from conpty.console_api import Kernel32Console

        return Kernel32Console()
    raise OSError("this system has no such console")


def _own_environment() -> Mapping[str, str]:
    found: Mapping[str, str] = os.environ
    if sys.platform == "win32":
        from conpty.own_environment import own_environment

        found = own_environment()
    return found


def original_environment() -> dict[bytes, bytes]:
    """Our environment in bytes (UTF-8); names in capitals, so that one can be looked for. `spawn` spells them again."""
    return {os.fsencode(name.upper()): os.fsencode(value) for name, value in _own_environment().items()}


class WindowsPty:
    """A child on a pseudo console. `read`, `write` and `wait` block: each has a thread of its own.

    `note`: why it is not the way into ConPTY that is tried first, empty when it is.
    """

    def __init__(self, backend: PtyBackend, note: str = "") -> None:
        self.note = note
        self.pid = backend.pid
        self.read: Callable[[], bytes] = backend.read
        self.write: Callable[[bytes], None] = backend.write
        self.wait: Callable[[float | None], int | None] = backend.wait
        self.close: Callable[[], None] = backend.close
        self._resize = backend.resize

    def resize(self, size: Size) -> None:
        """Tell the child its size in cells."""
        self._resize(size.rows, size.cols)

    def in_foreground(self) -> bool | None:
        """A console has no such thing."""
        return None

    def has_children(self) -> bool:
        """Whether the child runs a program."""
        found = False
        if sys.platform == "win32":
            from conpty.processes import children

            found = bool(children(self.pid))
        return found

    def kill(self) -> None:
        """End the child at once; one that has ended is no error."""
        if self.wait(0) is None:
            try:
                os.kill(self.pid, KILLED)
            except OSError:
                pass


def check_program(path: str) -> None:
    """Raise SpawnError (127 or 126) when `path` cannot be run. CreateProcessW looks for a bare name here first."""
    if not os.path.isabs(path) or not os.path.exists(path):
        raise SpawnError(f"{path}: no such file", EXIT_NOT_FOUND)
    if os.path.isdir(path):
        raise SpawnError(f"{path}: cannot be executed", EXIT_NOT_EXECUTABLE)


def spawn(command: ShellCommand, size: Size, attributes: None, signals: ConsoleEvents | None = None) -> WindowsPty:
    """Start `command` on a new pseudo console of `size`. A console has no attributes to hand on.

    `signals`: the handlers that are already installed; the child does not get them.
    Raises:
        SpawnError: the program cannot be run.
    """
    from conpty.choose import open_backend
    from conpty.command_line import join
    from conpty.environment import respelled

    check_program(command.path)
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in command.environ.items()}
    environ = respelled(environ, _own_environment())
    try:
        launch = Launch(join((command.path, *command.argv[1:])), None, environ, size.rows, size.cols)
        return WindowsPty(*open_backend(launch, os.environ.get("NEOCODE_CONPTY", "")))
    except FileNotFoundError as error:
        raise SpawnError(f"{command.path}: {error.strerror or error}", EXIT_NOT_FOUND) from error
    except PermissionError as error:
        raise SpawnError(f"{command.path}: {error.strerror or error}", EXIT_NOT_EXECUTABLE) from error
    except ValueError as error:
        raise SpawnError(f"{command.path}: {error}", EXIT_NOT_EXECUTABLE) from error


class ConsoleEvents(ControlEvents):
    """Ctrl-C and the console's end, taken for the time of the block."""

    def __init__(self, api: HandlerApi | None = None) -> None:
        super().__init__(api or _system_api())

    def __enter__(self) -> ConsoleEvents:
        self.install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class EnterForLines:
    """A script's line ends, `\\n` or `\\r\\n`, become the Enter that a console knows, however they are cut."""

    def __init__(self) -> None:
        self._after_return = False

    def feed(self, data: bytes) -> bytes:
        """The bytes to type, none for the rest of a line end that was cut. `data` is not empty."""
        begin = 1 if self._after_return and data[:1] == b"\n" else 0
        self._after_return = data[-1:] == b"\r"
        return data[begin:].replace(b"\r\n", b"\r").replace(b"\n", b"\r")


class Terminal:
    """The user's console, or whatever stdin and stdout are in a script.

    `read` and `write` block and belong to one thread each. `answers`: somebody reads our output who answers queries,
    and the answers come to our input.
    """

    attributes = None

    def __init__(self, api: ConsoleApi | None = None) -> None:
        api = api or _system_api()
        self.is_tty = api.is_console(STDIN)
        self._out_is_console = api.is_console(STDOUT)
        self.gone = False  # nobody reads what we print: `leave` says nothing
        self.answers = self.is_tty and self._out_is_console
        try:
            self._console: Console | None = Console(api)
        except OSError:  # detached
            self._console = None
        self._lines = EnterForLines()
        self.resized: Callable[[], None] = lambda: None  # called by the thread that reads

    @property
    def has_console(self) -> bool:
        """Whether there is somebody to ask for a size."""
        return self._console is not None

    def name(self) -> str:
        """A console has no name."""
        return ""

    def size(self) -> Size:
        """The size to lay text out for: never zero, 24x80 when nobody says."""
        return self.exact_size()

    def exact_size(self) -> Size:
        """The size to give the child."""
        found = None if self._console is None else self._console.size()
        return Size(*found) if found is not None and min(found) > 0 else DEFAULT_SIZE

    def enter(self) -> None:
        """Raw mode where input and output are the console; keys typed before are kept."""
        if self._console is not None:
            self._console.enter(keys=self.is_tty, screen=self._out_is_console)

    def leave(self) -> None:
        """The modes of before. Idempotent."""
        if self.gone:
            self.restore()
        elif self._console is not None:
            self._console.leave()

    def restore(self) -> None:
        """`leave` without a word to a terminal that is gone. From any thread."""
        if self._console is not None:
            self._console.restore()

    def read(self) -> bytes:
        """What was typed, UTF-8; `b""` when there will be no more. Calls `resized`."""
        try:
            if not self.is_tty or self._console is None:
                while data := os.read(STDIN, READ_BYTES):
                    if keys := self._lines.feed(data):
                        return keys
                return b""
            while (typed := self._console.read()) is not None:
                if typed.resized:
                    self.resized()
                if typed.data:
                    return typed.data
        except OSError:
            pass  # closed, or the console is gone
        return b""

    def stop(self) -> None:
        """End a `read` of the console; one of a script's input is left to its end. From any thread."""
        if self._console is not None:
            self._console.stop()

    def write(self, data: bytes) -> None:
        """Print what the child says. Raises OSError when nobody takes it any more."""
        if self._out_is_console and self._console is not None:
            self._console.write(data)
        else:
            while data:
                data = data[os.write(STDOUT, data) :]

    def show(self, data: bytes) -> None:
        """Print words of our own; the child's rows stay where it has them. Raises OSError likewise."""
        if self._out_is_console and self._console is not None:
            self._console.show(data)
        else:
            self.write(data)

    def close(self) -> None:
        """Leave, and close our own handles; nobody may be in `read` or `write`. Idempotent."""
        self.leave()
        if self._console is not None:
            self._console.close()
