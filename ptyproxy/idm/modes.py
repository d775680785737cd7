"""The terminal modes around the `@ai` mode's own editor. Invariant: after `give_back` the terminal has every mode that
the shell had set, whatever our editor did in between.
"""

from __future__ import annotations

from ptyproxy.stream.modes import ModeTracker

# our editor (prompt_toolkit) switches these itself, as it likes
PASTE, _CURSOR_KEYS, _CURSOR = 2004, 1, 25
_WIN32_KEYS = 9001


def take(modes: ModeTracker) -> bytes:
    """Makes keys arrive in the plain encoding that our editor reads; `modes` is what the child has set."""
    out = []
    if modes.kitty_keyboard:
        out.append(b"\x1b[>0u")  # pushed: the shell's flags stay below
    if modes.other_keys:
        out.append(b"\x1b[>4m")
    if modes.is_set(_WIN32_KEYS):
        out.append(b"\x1b[?%dl" % _WIN32_KEYS)
    if modes.keypad:
        out.append(b"\x1b>")
    return b"".join(out)


def give_back(modes: ModeTracker) -> bytes:
    """The inverse of `take` and of what the editor did."""
    out = [b"\x1b[m"]
    for mode in (PASTE, _CURSOR_KEYS, _CURSOR):
        out.append(b"\x1b[?%d%s" % (mode, b"h" if modes.is_set(mode) else b"l"))
    if modes.kitty_keyboard:
        out.append(b"\x1b[<u")
    if modes.other_keys:
        out.append(b"\x1b[>4;%dm" % modes.other_keys)
    if modes.is_set(_WIN32_KEYS):
        out.append(b"\x1b[?%dh" % _WIN32_KEYS)
    if modes.keypad:
        out.append(b"\x1b=")
    return b"".join(out)
