"""When the `@ai` mode may take the keyboard and the screen. Invariant: only from an idle prompt with nothing typed."""

from __future__ import annotations

from collections.abc import Callable

from ptyproxy.capture import Capture
from ptyproxy.idm.ports import Surroundings

SILENCE_SEC = 0.3  # a shell without marks: its prompt is there when nothing has come for so long
# Keys that come before the command has begun are kept so long: the shell's editor, which still has its terminal, would
# take a carriage return for itself or leave it to the command as it is. A line that is not complete begins nothing.
START_SEC = 0.3


def readiness(
    capture: Capture,
    tap: Surroundings,
    prompt_new: bool,
    in_foreground: Callable[[], bool | None],
    quiet_in: float,
) -> float | None:
    """0.0 when they may be taken; else seconds until it is worth asking again, None: something must happen first.

    `prompt_new`: a prompt was drawn since the child got the keyboard. `in_foreground`: whether the shell itself has its
    terminal, None: unknown. `quiet_in`: seconds until the child has been silent for `SILENCE_SEC`.
    """
    if capture.authenticated:
        return 0.0 if prompt_new and tap.prompt_is_idle and not tap.words_on_their_way else None
    if capture.modes.alternate or not tap.nothing_typed:
        return None
    if quiet_in > 0:
        return quiet_in
    return 0.0 if in_foreground() is not False else SILENCE_SEC
