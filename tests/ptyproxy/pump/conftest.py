"""Terminals for the pump: a real pty outside, the smallest proxy in it, a real program inside."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from outer import RUNNER, Outer

Start = Callable[..., Outer]

CLEAN = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", "PS1": "$ ", "HOME": "/nonexistent"}


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(PROGRAM, ARGV0, ..., options=[...])`: the program through the pump; ended after the test."""
    with ExitStack() as stack:

        def make(*command: str, options: tuple[str, ...] = (), plain: bool = False, **more: Any) -> Outer:
            line = [command[0], *command[2:]] if plain else [*RUNNER, *options, *command]
            more.setdefault("env", CLEAN)
            return stack.enter_context(Outer(line, **more))

        yield make
