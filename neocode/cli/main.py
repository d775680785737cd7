"""`neocode`: picks the command's module and turns every way of failing into one line and an exit code.

Invariants: only the chosen command's module is imported, and for `neocode shell` not even argparse; nothing prints a
traceback (with NEOCODE_DEBUG=1 it does).
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import NoReturn

from neocode.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, NeocodeError

STDIN_FD, STDOUT_FD, STDERR_FD = 0, 1, 2
EXIT_READER_GONE = 141  # 128 + SIGPIPE, what a C program dies of when `| head` has had enough

# what a write to stdout can fail with: disk full, quota, size limit, device error, closed
OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main(argv: list[str]) -> int:
    """Run one command line (without the program's name); return its exit code."""
    if argv[:1] == ["shell"]:  # a first prompt waits for this: no argparse
        from neocode.cli import shell_cmd

        known = shell_cmd.read_arguments(argv[1:])
        if known is not None:
            return shell_cmd.start(known)
    if sys.platform == "win32":
        from neocode.cli.windows_console import prepare_output

        prepare_output()
    from neocode.cli.parser import parse

    run, args = parse(argv)
    if run is None:
        return EXIT_OK if not argv else EXIT_USAGE
    return run(args)


def report(error: NeocodeError) -> None:
    """The one line for an error of ours, made safe to show: its parts may come from a server or a file."""
    from ptyproxy.sanitize import sanitize

    say(sanitize(error.one_line()))


def say(text: str) -> None:
    """One line on stderr; when that cannot be written there is nobody to tell, and the exit code stays."""
    try:
        print(f"neocode: {text}", file=sys.stderr, flush=True)
    except OSError:
        silence(STDERR_FD)


def guarded(argv: list[str]) -> int:
    """`main`, with every exception turned into one line and an exit code."""
    try:
        return main(argv)
    except NeocodeError as error:
        report(error)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except SystemExit as end:  # argparse: help, version, usage
        return end.code if isinstance(end.code, int) else EXIT_OK
    except BrokenPipeError:
        silence(STDOUT_FD)
        return EXIT_READER_GONE
    except OSError as error:
        if is_reader_gone(error):
            silence(STDOUT_FD)
            return EXIT_READER_GONE
        if error.errno not in OUTPUT_ERRORS or error.filename is not None:
            return report_fault(error)
        return report_lost_output(error)
    except Exception as error:  # the last line of defence: a fault of ours must not print a traceback
        return report_fault(error)


def is_reader_gone(error: OSError) -> bool:
    """Windows' C library says EINVAL where others say EPIPE (python/cpython#79935); errors of the system have a number
    of Windows' own besides."""
    return sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None and not error.winerror


def report_fault(error: Exception) -> int:
    """One line for what should not have happened."""
    if os.environ.get("NEOCODE_DEBUG"):
        raise error
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    say(f"internal error ({detail}); set NEOCODE_DEBUG=1 to see where")
    return EXIT_FAILED


def report_lost_output(error: OSError) -> int:
    """One line for an output that cannot be written; nothing more is tried on it."""
    silence(STDOUT_FD)
    say(f"cannot write the output: {error.strerror}")
    return EXIT_FAILED


def silence(fd: int) -> None:
    """Point a standard descriptor at the null device, so that the interpreter's own flush at exit cannot fail again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, fd)
    os.close(null)


def open_missing_streams() -> None:
    """Put the null device on standard descriptors that are closed (`<&- >&- 2>&-`).

    Otherwise a file or socket of ours gets their number, and print() to a stderr of None goes to stdout. Output to a
    closed stdout still fails, and is reported: it would be lost.
    """
    for fd, flags in ((STDIN_FD, os.O_RDONLY), (STDOUT_FD, os.O_RDONLY), (STDERR_FD, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            null = os.open(os.devnull, flags)
            if null != fd:
                os.dup2(null, fd)
                os.close(null)
    if sys.stdout is None:
        sys.stdout = open(STDOUT_FD, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(STDERR_FD, "w", encoding="utf-8", closefd=False)


def entry() -> NoReturn:
    """What `__main__` calls once we are imported; Ctrl-C raises KeyboardInterrupt from here on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    open_missing_streams()
    code = guarded(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(STDOUT_FD)
        code = EXIT_READER_GONE
    except OSError as error:
        if is_reader_gone(error):
            silence(STDOUT_FD)
            code = EXIT_READER_GONE
        else:
            code = report_lost_output(error)
    sys.exit(code)
