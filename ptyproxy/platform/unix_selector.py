"""Waiting for descriptors where there is no epoll: kqueue or poll, whatever `selectors` finds best.

Invariant: the same as `unix_poller`'s. (macOS's poll(2) does not know terminals; its kqueue does, but for /dev/tty.)
"""

from __future__ import annotations

import selectors


class SelectorPoller:
    """Descriptors and what is awaited of each. READ and WRITE have the numbers of EVENT_READ and EVENT_WRITE."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
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
            self._selector.unregister(fd)
        elif before:
            self._selector.modify(fd, events)
        else:
            try:
                self._selector.register(fd, events)
            except OSError:  # a regular file, or a device that the system cannot wait for
                self._always[fd] = events

    def wait(self, timeout: float | None) -> list[tuple[int, int]]:
        """(fd, events) pairs of what is ready within `timeout` seconds (None: for ever)."""
        always = [(fd, events) for fd, events in self._always.items() if events]
        if always:
            timeout = 0.0
        found = self._selector.select(None if timeout is None else max(0.0, timeout))
        return [(key.fd, events) for key, events in found] + always

    def close(self) -> None:
        """Release the kernel's object."""
        self._selector.close()
