"""What a pseudo console is to the rest of us: one child and its terminal, in bytes.

Invariants that every backend keeps (tests/windows/test_backend_conformance.py, the same for all): no byte of output
is lost before `read` says that there are no more, nothing waits without an end that `close` can bring about, and the
exit code is the one that Windows holds for the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

MIN_ROWS = 1
MIN_COLS = 2  # a wide character needs two cells; conhost and pyte fail on fewer
MAX_CELLS = 4096  # each way; a console holds every cell in memory, and COORD ends at 32767

# After the child's exit its last output may still be under way, and the end of file may never come
# (andfoy/pywinpty#565): it is over after this much silence, and after LATE_OUTPUT_LIMIT_SEC in any case.
QUIET_SEC = 0.3
LATE_OUTPUT_LIMIT_SEC = 6.0
# A program has 5 s to act on CTRL_CLOSE_EVENT (SetConsoleCtrlHandler); past that it is ended.
CLOSE_GRACE_SEC = 6.0
CLOSE_WAIT_SEC = 2.0  # how long `close` itself waits for what it set going; the rest happens behind it

ENDED_EXIT_CODE = 0xC000013A  # STATUS_CONTROL_C_EXIT, what Windows gives a child whose window was closed


class Launch(NamedTuple):
    """What to start: a command line that is quoted already (`command_line.join`), where, in what, on which size.

    `cwd` None: ours. `environ` is all that the child gets.
    """

    command_line: str
    cwd: str | None
    environ: Mapping[str, str]
    rows: int
    cols: int


class PtyBackend(Protocol):
    """A child on a pseudo console. One thread reads, one writes, any thread may do the rest.

    Constructing one starts the child. Raises FileNotFoundError, PermissionError or another OSError when it cannot.
    """

    @property
    def name(self) -> str:
        """`direct` or `winpty`: what NEOCODE_CONPTY calls it."""
        ...

    @property
    def pid(self) -> int:
        """The child's process id."""
        ...

    def read(self) -> bytes:
        """Block until there is output; `b""`: there will be none any more, now and at every further call."""
        ...

    def write(self, data: bytes) -> None:
        """Block until the console has taken all of `data`; OSError once there is nobody to take it."""
        ...

    def resize(self, rows: int, cols: int) -> None:
        """Set the size, clamped to what a console can be. Never raises."""
        ...

    def wait(self, timeout: float | None) -> int | None:
        """The exit code, unsigned in 32 bits, once the child has ended; None when `timeout` seconds pass first."""
        ...

    def close(self) -> None:
        """End the child as closing its window would, and let go of everything. Idempotent; unblocks read and write."""
        ...


class ChildProcess(Protocol):
    """A process by its handle, which this object owns."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    def wait(self) -> int:
        """Block until it has ended; its exit code, unsigned in 32 bits. STILL_ACTIVE (259) is a code like any."""
        ...

    def terminate(self, exit_code: int) -> None:
        """End it now. One that has ended is no error."""
        ...

    def release(self) -> None:
        """Close the handle. Not while another thread waits on it."""
        ...


def signed(code: int) -> int:
    """An unsigned exit code as `sys.exit` takes it: a signed number, of which Windows sees the same 32 bits."""
    return code - (1 << 32) if code >= 1 << 31 else code


def clamp_size(rows: int, cols: int) -> tuple[int, int]:
    """The nearest size that a console can have."""
    return min(max(rows, MIN_ROWS), MAX_CELLS), min(max(cols, MIN_COLS), MAX_CELLS)
