"""What an exit code means by itself: shell conventions (POSIX 2.8.2, bash), signals, sysexits, Windows NTSTATUS."""

from __future__ import annotations

from neocode.providers.offline.select import WINDOWS_KINDS

# Numbers of Linux; macOS differs only in those marked (signal(7), <sys/signal.h>).
_SIGNALS = {
    1: "SIGHUP: its terminal was closed",
    2: "SIGINT: interrupted, as Ctrl-C does",
    3: "SIGQUIT: quit, as Ctrl-\\ does",
    4: "SIGILL: an illegal instruction, often a binary built for a newer processor",
    5: "SIGTRAP: a trap or a failed assertion",
    6: "SIGABRT: the program aborted itself (assertion, uncaught exception, corrupted heap)",
    8: "SIGFPE: an arithmetic error, such as a division by zero",
    9: "SIGKILL: killed from outside; often the kernel because memory ran out, or a container's memory limit",
    11: "SIGSEGV: it touched memory that is not its own",
    13: "SIGPIPE: the reader of its output had gone away",
    14: "SIGALRM: its own timer ran out",
    15: "SIGTERM: asked to end, by a person, a supervisor or a time limit",
    24: "SIGXCPU: it used up its CPU time limit",
    25: "SIGXFSZ: it wrote a file larger than its limit",
    31: "SIGSYS: a system call was refused, often by a sandbox",
}
_LINUX_SIGNALS = {7: "SIGBUS: bad memory access, often a truncated mapped file or a full /dev/shm"}
_DARWIN_SIGNALS = {10: "SIGBUS: bad memory access, often a truncated mapped file"}
_SHELL = {
    124: "124 is what `timeout` returns when the time limit was reached",
    125: "125 is the tool's own failure before the command ran (`docker run`, `timeout`, `git bisect` skip)",
    126: "126 means that the command was found but could not be run: no permission, a directory, or a wrong format",
    127: "127 means that the shell did not find the command",
    128: "128 is how git reports a fatal error; in a shell also an invalid argument of `exit`",
    255: "255 is ssh's own failure, or a program that returned -1",
}
_SYSEXITS = {
    64: "64 (EX_USAGE) means that the command was used wrongly",
    65: "65 (EX_DATAERR) means that the input data was wrong",
    66: "66 (EX_NOINPUT) means that an input file could not be read",
    69: "69 (EX_UNAVAILABLE) means that a service was not available",
    70: "70 (EX_SOFTWARE) means an internal software error",
    73: "73 (EX_CANTCREAT) means that an output file could not be made",
    74: "74 (EX_IOERR) means an input/output error",
    75: "75 (EX_TEMPFAIL) means a temporary failure: try again later",
    77: "77 (EX_NOPERM) means that a permission is missing",
    78: "78 (EX_CONFIG) means that the configuration is wrong",
}
# ntstatus.h; what GetExitCodeProcess shows for a process ended by an exception.
_NTSTATUS = {
    0xC0000005: "STATUS_ACCESS_VIOLATION: it touched memory that is not its own",
    0xC000001D: "STATUS_ILLEGAL_INSTRUCTION: often a binary built for a newer processor",
    0xC0000017: "STATUS_NO_MEMORY: not enough memory",
    0xC0000022: "STATUS_ACCESS_DENIED: a needed file may not be read",
    0xC000007B: "STATUS_INVALID_IMAGE_FORMAT: a 32-bit and a 64-bit binary were mixed",
    0xC0000094: "STATUS_INTEGER_DIVIDE_BY_ZERO: a division by zero",
    0xC00000FD: "STATUS_STACK_OVERFLOW: endless or too deep recursion",
    0xC0000135: "STATUS_DLL_NOT_FOUND: a DLL that it needs is missing",
    0xC0000138: "STATUS_ORDINAL_NOT_FOUND: a DLL has the wrong version",
    0xC0000139: "STATUS_ENTRYPOINT_NOT_FOUND: a DLL has the wrong version",
    0xC000013A: "STATUS_CONTROL_C_EXIT: interrupted by Ctrl-C, or its window was closed",
    0xC0000142: "STATUS_DLL_INIT_FAILED: a DLL could not start",
    0xC0000374: "STATUS_HEAP_CORRUPTION: the program damaged its own heap",
    0xC0000409: "STATUS_STACK_BUFFER_OVERRUN: the program ended itself (fail-fast, abort)",
    0xC0000602: "STATUS_FAIL_FAST_EXCEPTION: the program ended itself",
    0x80000003: "STATUS_BREAKPOINT: a breakpoint or a failed assertion",
    0xE0434352: "an unhandled .NET exception",
    0xE06D7363: "an unhandled C++ exception",
    0x40010004: "DBG_TERMINATE_PROCESS: ended at logoff or by a debugger",
}
_WIN32 = {
    2: "2 is often ERROR_FILE_NOT_FOUND",
    3: "3 is often ERROR_PATH_NOT_FOUND",
    5: "5 is often ERROR_ACCESS_DENIED",
    9009: "9009 means that cmd did not find the command",
    259: "259 (STILL_ACTIVE) says nothing about the failure",
    1223: "1223 (ERROR_CANCELLED) means that the user refused, for example the elevation prompt",
}


def meaning(code: int | None, kind: str, system: str) -> str:
    """A sentence on exit code `code` for shell kind `kind` and system (select.SYSTEMS); "" when there is none."""
    if code is None or code == 0:
        return ""
    windows = kind in WINDOWS_KINDS or system == "windows"
    text = _windows(code) if windows else _unix(code, system)
    return (
        f"{text}." if text else f"Exit code {code} says only that the program failed; its meaning is the program's own."
    )


def _windows(code: int) -> str:
    unsigned = code & 0xFFFFFFFF
    if unsigned in _NTSTATUS:
        return f"Exit code {code} is 0x{unsigned:08X}, {_NTSTATUS[unsigned]}"
    if code in _WIN32:
        return f"Exit code {_WIN32[code]}"
    return f"Exit code {code} is 0x{unsigned:08X}, an NTSTATUS error" if unsigned >= 0xC0000000 else ""


def _unix(code: int, system: str) -> str:
    signals = {**_SIGNALS, **(_DARWIN_SIGNALS if system == "darwin" else _LINUX_SIGNALS)}
    number = -code if code < 0 else code - 128
    if number in signals:
        how = f"-{number}" if code < 0 else f"128+{number}"
        return f"Exit code {code} is {how}: ended by {signals[number]}"
    known = {**_SHELL, **_SYSEXITS}
    return f"Exit code {known[code]}" if code in known else ""
