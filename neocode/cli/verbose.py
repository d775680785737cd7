"""What `--verbose` adds to an error's one line: where it was raised and what it was raised from, one line each.

Invariant: places and messages only, no traceback and no local; all of it sanitised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from neocode.errors import NeocodeError

MAX_CAUSES = 8  # of a chain; a longer one repeats itself
MAX_LINE_CHARS = 400

Run = Callable[[argparse.Namespace], int]


def explained(run: Run) -> Run:
    """`run`, with the details of an error on stderr before the error goes on to whoever reports it."""

    def run_explained(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except NeocodeError as error:
            for line in details(error):
                print(f"neocode: {line}", file=sys.stderr)
            raise

    return run_explained


def details(error: BaseException) -> Iterator[str]:
    """A line for `error` and for each exception that led to it: its kind, its words, the function that raised it."""
    from ptyproxy.sanitize import sanitize_line

    at: BaseException | None = error
    for _ in range(MAX_CAUSES):
        if at is None:
            return
        yield sanitize_line(f"{_place(at)}{type(at).__name__}: {at}", MAX_LINE_CHARS)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}: "
