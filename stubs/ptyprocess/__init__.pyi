# What we use of ptyprocess 0.7, which ships no types.
import io
from collections.abc import Callable, Sequence

class PtyProcess:
    pid: int
    fd: int
    closed: bool
    fileobj: io.BufferedRWPair
    @classmethod
    def spawn(
        cls,
        argv: Sequence[str],
        cwd: str | None = ...,
        env: dict[str, str] | None = ...,
        echo: bool = ...,
        preexec_fn: Callable[[], None] | None = ...,
        dimensions: tuple[int, int] = ...,
        pass_fds: Sequence[int] = ...,
    ) -> PtyProcess: ...
    def setwinsize(self, rows: int, cols: int) -> None: ...
