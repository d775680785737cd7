"""The loop between the user's terminal and the child's pty, and nothing else.

Invariants: output is written before it is looked at, unchanged; neither direction ever blocks the other; what waits
is bounded (the side that cannot take more is simply not read); every drain of a descriptor is bounded; a tap that
fails is dropped and the shell goes on. Measured choices: 64 KiB reads, 16 KiB batches, one write per batch.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Protocol

from ptyproxy.platform.base import SIGNAL_EXIT_BASE
from ptyproxy.platform.unix_poller import READ, WRITE, Poller

if sys.platform != "win32":
    from ptyproxy.platform.unix import Terminal, UnixPty
    from ptyproxy.platform.unix_signals import SignalPipe
    from ptyproxy.platform.unix_writer import TerminalWriter

assert sys.platform != "win32"

READ_BYTES = 64 * 1024
BATCH_BYTES = 16 * 1024  # larger batches starve keys: 64 KiB cost +0.7 ms per key in a flood, 16 KiB +0.3
MORE_BYTES = 512  # a read this large promises more at once; a smaller one is somebody typing
PENDING_INPUT = 64 * 1024  # keys and pastes that the child does not read yet; then we stop reading them
DRAIN_SILENCE_SEC = 0.03  # after the shell's exit: this long without output is the end of it
DRAIN_LIMIT_SEC = 0.2  # a background job may write for ever
GRACE_SEC = 1.0  # from HUP to TERM, and from TERM to KILL, once the terminal is gone
REOPEN_SEC = 0.1  # nobody holds the slave: look again, a child may open it by name


class Tap(Protocol):
    """What looks at the bytes that pass. Called on the main thread; must be quick; may raise (then it is dropped)."""

    def divide(self, data: bytes) -> tuple[bytes, bytes, bytes] | None:
        """While an answer waits for a prompt: (before, our words, after) if its place is in `data`, else None."""
        ...

    def output(self, data: bytes) -> None:
        """Bytes of the child, after they were written."""
        ...

    def input(self, data: bytes) -> bytes:
        """Bytes of the user; what it returns goes to the child (normally `data`)."""
        ...

    def resized(self, rows: int, cols: int) -> None:
        """The terminal has a new size."""
        ...

    def tick(self) -> float | None:
        """Do what is due; seconds until the next call is wanted, None for not at all. Called at every wake-up."""
        ...


class Pump:
    """One child, one terminal. `run` returns the exit status; the caller restores the terminal."""

    def __init__(self, pty: UnixPty, terminal: Terminal, tap: Tap | None = None) -> None:
        self.pty = pty
        self.terminal = terminal
        self.tap = tap
        self.tap_error: Exception | None = None
        self._poller = Poller()
        self._signals = SignalPipe()
        self._out = TerminalWriter(terminal.out_fd, terminal.out_blocks)
        self._to_child = bytearray()
        self._stdin_open = True
        self._master_open = True
        self._hung_up = False
        self._fatal_signal = 0
        self._size = terminal.size()

    # -- for the rest of the proxy, on the main thread unless said otherwise

    def wake(self) -> None:
        """Make the loop call `tap.tick` soon. From any thread."""
        self._signals.wake()

    def show(self, data: bytes) -> None:
        """Queue our own words for the terminal, behind what the child has written."""
        self._out.write(data)

    def send(self, data: bytes) -> None:
        """Queue input of our own (the widget's key) for the child."""
        self._to_child += data
        self._flush_child()

    # -- the loop

    def run(self) -> int:
        """Move bytes until the shell ends or the terminal is gone; return the exit status."""
        self._signals.install()
        try:
            self._resize()  # a change between the spawn and our handler went unnoticed
            self._watch()
            while self.pty.poll() is None and not self._gone and not self._fatal_signal:
                self._turn()
            if self.pty.poll() is None:
                self._end_shell()
                return SIGNAL_EXIT_BASE + (self._fatal_signal or signal.SIGHUP)
            self._drain()
            status = self.pty.poll()
            assert status is not None
            return status
        finally:
            self._poller.close()
            self._signals.close()

    def _turn(self) -> None:
        """One wake-up: whatever is ready, once each, so that no side can starve another."""
        timeout = self._call_tick()
        if not self._master_open:
            timeout = REOPEN_SEC if timeout is None else min(timeout, REOPEN_SEC)
        ready = self._poller.wait(timeout)
        for fd, events in ready:
            if fd == self._signals.fd:
                self._take_signals()
            elif fd == self.terminal.in_fd and events & READ:
                self._read_input()
            if fd == self.pty.fd:
                if events & WRITE:
                    self._flush_child()
                if events & READ:
                    self._read_output()
            if fd == self.terminal.out_fd and events & WRITE:
                self._out.flush()
        if not self._master_open and not ready:
            self._master_open = True
        if self.pty.stopped:
            self._suspend()
        self._watch()

    def _watch(self) -> None:
        """Say what to wait for next, from what is pending where."""
        self._poller.watch(self._signals.fd, READ)
        reading = self._stdin_open and len(self._to_child) < PENDING_INPUT
        master = (READ if self._master_open and not self._out.pending else 0) | (WRITE if self._to_child else 0)
        if not self._master_open:
            master = 0
        out = WRITE if self._out.pending else 0
        if self.terminal.in_fd == self.terminal.out_fd:
            self._poller.watch(self.terminal.in_fd, (READ if reading else 0) | out)
        else:
            self._poller.watch(self.terminal.in_fd, READ if reading else 0)
            self._poller.watch(self.terminal.out_fd, out)
        self._poller.watch(self.pty.fd, master)

    # -- the child's output

    def _read_output(self) -> int:
        """Read one bounded batch and write it on; returns its length."""
        data = self.pty.read(READ_BYTES)
        if data is None:
            return 0
        if not data:
            self._master_open = False
            return 0
        if MORE_BYTES <= len(data) < BATCH_BYTES:
            data = self._read_more(data)
        self._forward(data)
        return len(data)

    def _read_more(self, first: bytes) -> bytes:
        parts, size = [first], len(first)
        while size < BATCH_BYTES:
            data = self.pty.read(READ_BYTES)
            if not data:
                break  # an end of file is seen again by the next read
            parts.append(data)
            size += len(data)
        return b"".join(parts)

    def _forward(self, data: bytes) -> None:
        """Write first, look afterwards; divided only while an answer waits for its prompt."""
        tap = self.tap
        if tap is None:
            self._out.write(data)
            return
        try:
            divided = tap.divide(data)
        except Exception as error:
            self._drop_tap(error)
            self._out.write(data)
            return
        self._out.write(data if divided is None else b"".join(divided))
        try:
            tap.output(data)
        except Exception as error:
            self._drop_tap(error)

    # -- the user's input

    def _read_input(self) -> None:
        try:
            data = os.read(self.terminal.in_fd, min(READ_BYTES, PENDING_INPUT - len(self._to_child)))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._input_ended()
            return
        if self.tap is not None:
            try:
                data = self.tap.input(data)
            except Exception as error:
                self._drop_tap(error)
        self._to_child += data
        self._flush_child()

    def _input_ended(self) -> None:
        """A terminal that ends is gone; a script's end is passed on as the end-of-file key, as script(1) does."""
        self._stdin_open = False
        if self.terminal.is_tty:
            self._hung_up = True
        else:
            self._to_child += self.terminal.end_of_file_key()
            self._flush_child()

    def _flush_child(self) -> None:
        if self._to_child and self._master_open:
            taken = self.pty.write(self._to_child)
            del self._to_child[:taken]

    # -- signals, sizes, the end

    @property
    def _gone(self) -> bool:
        """Whether the user's terminal is gone: it ended as input, or cannot be written."""
        return self._hung_up or self._out.gone

    def _take_signals(self) -> None:
        numbers = self._signals.read()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if number in numbers:
                self._fatal_signal = number
        if signal.SIGCONT in numbers:
            self.terminal.enter()
        if signal.SIGWINCH in numbers or signal.SIGCONT in numbers:
            self._resize()

    def _resize(self) -> None:
        size = self.terminal.size()
        if size != self._size:
            self._size = size
            self.pty.resize(size)
            if self.tap is not None:
                try:
                    self.tap.resized(size.rows, size.cols)
                except Exception as error:
                    self._drop_tap(error)

    def _suspend(self) -> None:
        """The shell stopped itself (`suspend`): so do we, with the terminal as it was, and go on with it."""
        self.terminal.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.terminal.enter()
        self.pty.resume()

    def _call_tick(self) -> float | None:
        if self.tap is None:
            return None
        try:
            return self.tap.tick()
        except Exception as error:
            self._drop_tap(error)
            return None

    def _drop_tap(self, error: Exception) -> None:
        """A fault of ours: from here on we are a plain pump. The caller says so once at the end."""
        self.tap = None
        self.tap_error = error

    def _drain(self) -> None:
        """The shell has ended: pass on what it and its children still had in the pty, then what waits here."""
        deadline = time.monotonic() + DRAIN_LIMIT_SEC
        while self._master_open and not self._gone:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._out.flush()
            if self._out.pending:
                if not self._wait_for(self.terminal.out_fd, WRITE, None):
                    return
                deadline = time.monotonic() + left  # the limit is on reading the pty, not on a slow terminal
            elif not self._wait_for(self.pty.fd, READ, min(left, DRAIN_SILENCE_SEC)):
                break
            else:
                self._read_output()
        while self._out.pending and not self._gone and self._wait_for(self.terminal.out_fd, WRITE, None):
            self._out.flush()

    def _wait_for(self, fd: int, events: int, timeout: float | None) -> bool:
        """Wait for one descriptor, and for the signals that end us; False: timed out or told to end."""
        for other in (self.terminal.in_fd, self.terminal.out_fd, self.pty.fd):
            self._poller.watch(other, events if other == fd else 0)
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            ready = self._poller.wait(None if end is None else max(0.0, end - time.monotonic()))
            if not ready:
                return False
            for found, _ in ready:
                if found == fd:
                    return True
            self._take_signals()
            if self._fatal_signal:
                return False

    def _end_shell(self) -> None:
        """The terminal is gone, or we are told to end: HUP, grace, TERM, grace, KILL, to the shell only."""
        for ask in (self.pty.hang_up, self._terminate, self._kill):
            ask()
            deadline = time.monotonic() + GRACE_SEC
            while self.pty.poll() is None and (left := deadline - time.monotonic()) > 0:
                if self._wait_for(self.pty.fd, READ if self._master_open else 0, min(left, 0.05)):
                    self._discard_output()
            if self.pty.poll() is not None:
                return

    def _discard_output(self) -> None:
        """A shell that blocks in a write to its terminal could not act on the signal."""
        if self.pty.read(READ_BYTES) == b"":
            self._master_open = False

    def _terminate(self) -> None:
        self.pty.signal(signal.SIGTERM)

    def _kill(self) -> None:
        self.pty.signal(signal.SIGKILL)
