"""A writer's thread that ends, for whatever reason, tells those who wait for room."""

from __future__ import annotations

import threading

import pytest

from ptyproxy.platform.windows_threads import OUTLET_BYTES, Outlet

PATIENCE_SEC = 10.0


@pytest.mark.parametrize("error", [BrokenPipeError(32, "gone"), UnicodeError("a fault of ours"), MemoryError()])
def test_whatever_a_write_fails_with_it_is_told_and_there_is_room_to_drop_into(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda fault: None)
    go, woken = threading.Event(), threading.Event()

    def write(data: bytes) -> None:
        go.wait(PATIENCE_SEC)
        raise error

    outlet = Outlet(write, "test-outlet", woken.set)
    outlet.put(b"x" * OUTLET_BYTES)
    had_room = outlet.has_room
    go.set()
    assert woken.wait(PATIENCE_SEC)
    assert (had_room, outlet.gone, outlet.has_room) == (False, True, True)
    outlet.put(b"x" * OUTLET_BYTES)
    assert outlet.has_room
    assert outlet.flush(0)
    assert outlet.close(PATIENCE_SEC)
