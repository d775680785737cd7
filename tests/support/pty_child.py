"""The child of the backend tests: `pty_child.py MODE [ARGUMENTS]`, the same on every system.

What it says is ASCII and short, so that a console that redraws cannot change it. `end` takes any 32-bit code: where the
system has 8 bits for it, the fake that stands for Windows reads it from the file named in $TEST_EXIT_FILE.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

WINDOWS = sys.platform == "win32"


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def end(code: int) -> None:
    """End with a 32-bit exit code."""
    if path := os.environ.get("TEST_EXIT_FILE"):
        with open(path, "w", encoding="ascii") as handle:
            handle.write(str(code))
    sys.stdout.flush()
    os._exit(code - 2**32 if WINDOWS and code >= 2**31 else code if WINDOWS else code & 0xFF)


def tell_where(*names: str) -> None:
    """The folder, and the named variables."""
    say(f"cwd={os.getcwd()!a}.")
    for name in names:
        say(f"{name}={os.environ.get(name)!a}.")


def tell_arguments(*arguments: str) -> None:
    """What arrived as argv."""
    say(f"argv={list(arguments)!a}.")


def echo() -> None:
    """Answer every line with what arrived; `end N` ends."""
    say("ready.")
    for line in sys.stdin:
        text = line.rstrip("\r\n")
        if text.startswith("end "):
            end(int(text.split()[1]))
        say(f"got={text!a}.")


def sizes() -> None:
    """Answer every line with the size of the terminal."""
    say("ready.")
    for _ in sys.stdin:
        size = os.get_terminal_size(1)
        say(f"size={size.columns}x{size.lines}.")


def count(lines: str) -> None:
    """Read that many lines and tell how many characters they had."""
    say("ready.")
    total = sum(len(sys.stdin.readline().rstrip("\r\n")) for _ in range(int(lines)))
    say(f"total={total}.")


def flood(lines: str, done_file: str = "") -> None:
    """Numbered lines with wide characters; then a word in a file, if one is named."""
    for number in range(int(lines)):
        sys.stdout.write(f"<{number}>\u4f60\u597d\u4e16\u754c\u4f60\u597d\u4e16\u754c\n")
    sys.stdout.flush()
    if done_file:
        with open(done_file, "w", encoding="ascii") as handle:
            handle.write("done")


def wait() -> None:
    """Say so, and sleep."""
    say("ready.")
    time.sleep(60)


def stubborn() -> None:
    """Ignore that the window is closed."""
    if sys.platform == "win32":
        import ctypes

        @ctypes.WINFUNCTYPE(ctypes.c_int, ctypes.c_uint)
        def ignore(event: int) -> int:
            time.sleep(60)
            return 1

        ctypes.windll.kernel32.SetConsoleCtrlHandler(ignore, True)
    else:
        import signal

        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    wait()


def until_interrupted() -> None:
    """Ctrl-C makes it say so and end with 5."""
    try:
        wait()
    except KeyboardInterrupt:
        say("interrupted.")
        end(5)


def leave_behind(mode: str, folder: str) -> None:
    """End with 3 and leave a process in the terminal that speaks `late` or goes on `chatter`ing."""
    subprocess.Popen([sys.executable, __file__, mode, folder], close_fds=True)
    while not os.path.exists(os.path.join(folder, "started")):
        time.sleep(0.01)
    say("leaving.")
    touch(folder, "left")
    end(3)


def late(folder: str) -> None:
    """Speak just after the parent has ended, then hold the terminal open in silence."""
    touch(folder, "started")
    while not os.path.exists(os.path.join(folder, "left")):
        time.sleep(0.01)
    time.sleep(0.1)
    say("late words.")
    time.sleep(20)


def chatter(folder: str) -> None:
    """Never be silent for a moment, and never end by itself, for 20 s."""
    touch(folder, "started")
    end_at = time.monotonic() + 20
    while time.monotonic() < end_at:
        say("chatter.")


def touch(folder: str, name: str) -> None:
    """A sign for the other process."""
    with open(os.path.join(folder, name), "w", encoding="ascii"):
        pass


MODES: dict[str, Callable[..., None]] = {
    mode.__name__: mode
    for mode in (
        tell_where,
        tell_arguments,
        echo,
        sizes,
        count,
        flood,
        wait,
        stubborn,
        until_interrupted,
        leave_behind,
        late,
        chatter,
    )
} | {"end": lambda code: end(int(code))}


def main() -> None:
    """Take the terminal as ours, speak UTF-8, and do as told."""
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    if sys.platform != "win32":
        import signal

        if os.getsid(0) == os.getpid():
            os.open(os.ttyname(0), os.O_RDWR)  # a session leader without one gets it as its controlling terminal
        ignored = os.environ.get("TEST_CTRL_C") == "ignored"
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
        if sys.argv[1] in ("late", "chatter"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a console that loses its first process ends no other
    MODES[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
