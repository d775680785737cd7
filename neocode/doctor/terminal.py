"""The terminal we run on: is it one, which one, how large, which colours, which character set."""

from __future__ import annotations

import locale
import os
import sys
from collections.abc import Iterator, Mapping

from neocode.doctor.check import Check, Situation

NARROW_COLS = 40  # answers are wrapped to the width; below this they are hard to read


def terminal(situation: Situation) -> Iterator[Check]:
    """Type and size, colours, character set."""
    yield _kind(os.environ)
    yield _size()
    yield _colours(os.environ)
    yield _encoding()


def _kind(environ: Mapping[str, str]) -> Check:
    if not any(os.isatty(fd) for fd in (0, 1, 2)):
        return Check("terminal", "ok", "this is no terminal (a script, a pipe); the shell is passed through there")
    name = environ.get("TERM", "")
    if sys.platform != "win32" and name in ("", "dumb"):
        what = "TERM is not set" if not name else "TERM is dumb"
        return Check("terminal", "warn", f"{what}: no integration", "set TERM to your terminal's type")
    if "INSIDE_EMACS" in environ:
        return Check("terminal", "warn", "inside Emacs there is no integration", "use vterm or eat, or a terminal")
    inside = "".join(f", inside {program}" for key, program in (("TMUX", "tmux"), ("STY", "screen")) if key in environ)
    program = environ.get("TERM_PROGRAM", "")
    return Check("terminal", "ok", f"{name or 'the console'}{f' ({program})' if program else ''}{inside}")


def _size() -> Check:
    for fd in (1, 0, 2):
        try:
            cols, rows = os.get_terminal_size(fd)
        except OSError:
            continue
        if cols == 0 or rows == 0:
            return Check("size", "warn", f"the terminal says {cols} x {rows}; 80 x 24 is used", "stty cols 80 rows 24")
        if cols < NARROW_COLS:
            return Check("size", "warn", f"{cols} x {rows} is narrow for an answer", "make the window wider")
        return Check("size", "ok", f"{cols} x {rows}")
    return Check("size", "ok", "no terminal, so 80 x 24 is used")


def _colours(environ: Mapping[str, str]) -> Check:
    if environ.get("NO_COLOR"):
        return Check("colours", "ok", "none: NO_COLOR is set")
    if environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return Check("colours", "ok", "16 million")
    return Check("colours", "ok", "256" if "256color" in environ.get("TERM", "") else "16")


if sys.platform == "win32":

    def _encoding() -> Check:
        """Windows programs write UTF-16 to a console; what their pipes carry is told with the system."""
        return Check("locale", "ok", locale.getlocale()[0] or "not known")

else:

    def _encoding() -> Check:
        """What the user's programs see; Python's UTF-8 mode would hide it."""
        try:
            locale.setlocale(locale.LC_CTYPE, "")
        except locale.Error:
            return Check(
                "locale", "warn", "LANG or LC_ALL names a locale that this system does not have", "see `locale -a`"
            )
        name = locale.nl_langinfo(locale.CODESET)
        if name.lower().replace("-", "") != "utf8":
            return Check("locale", "warn", f"the character set is {name}, not UTF-8", "set LANG to a UTF-8 locale")
        return Check("locale", "ok", "UTF-8")
